"""The ellipse view drawn with matplotlib: outlines below the points of a scatter."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.colours import CATEGORIES, NEUTRAL, RAMP, category_mark
from langscape.views.figure_scatter import colour_column, drawn

NOTED = 1.03
"""A second outline is drawn where it is so many times as wide as the first."""


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, all ellipses inside."""
    long, short, angle = axes_of(view.arrays["outlines"])
    along = np.hypot(long * np.cos(angle), short * np.sin(angle))
    up = np.hypot(long * np.sin(angle), short * np.cos(angle))
    outer = view.arrays.get("outer", np.full(len(long), np.nan)).astype(np.float64)
    doubtful = view.arrays.get("doubtful", np.zeros(len(long)))
    reach = np.nan_to_num(np.column_stack([along, up])) * np.fmax(outer, 1.0)[:, None]

    def outlines(axes: Axes, plane: np.ndarray) -> None:
        rows = np.flatnonzero(long > 0)
        rows = rows[np.argsort(-(long * short)[rows], kind="stable")]  # small ones over large ones
        colours = row_colours(view)[rows]
        # many ellipses would fill the page with colour
        filled, edged = colours.copy(), colours.copy()
        filled[:, 3] = 0.10 if len(rows) <= 150 else 0.04
        edged[:, 3] = 0.8 if len(rows) <= 150 else 0.4
        axes.add_collection(
            EllipseCollection(
                2 * long[rows],
                2 * short[rows],
                np.degrees(angle[rows]),
                units="xy",
                offsets=plane[rows],
                offset_transform=axes.transData,
                facecolors=filled,
                edgecolors=edged,
                linewidths=0.8 if len(rows) <= 150 else 0.5,
                linestyles=[(0, (4, 3)) if doubtful[row] else "solid" for row in rows],
                zorder=1.5,
            ),
            autolim=False,
        )
        wide = rows[outer[rows] > NOTED]
        if not len(wide):
            return
        faint = row_colours(view)[wide]
        faint[:, 3] = 0.35 if len(rows) <= 150 else 0.15
        axes.add_collection(
            EllipseCollection(
                2 * (outer * long)[wide],
                2 * (outer * short)[wide],
                np.degrees(angle[wide]),
                units="xy",
                offsets=plane[wide],
                offset_transform=axes.transData,
                facecolors="none",
                edgecolors=faint,
                linewidths=0.5,
                zorder=1.4,
            ),
            autolim=False,
        )

    return drawn(view, reach=reach, under=outlines)


def axes_of(outlines: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Semi-axes and angle of each outline, rows (xx, xy, yy); NaN where there is none."""
    xx, xy, yy = (outlines[:, i].astype(np.float64) for i in range(3))
    middle, away = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    return np.sqrt(middle + away), np.sqrt(np.maximum(middle - away, 0.0)), np.arctan2(2 * xy, xx - yy) / 2


def row_colours(view: View) -> np.ndarray:
    """(n, 4) the colour of each item's point."""
    column = colour_column(view.properties)
    n = len(view.arrays["outlines"])
    if column is None:
        return np.tile(to_rgba(CATEGORIES[0]), (n, 1))
    values = view.arrays[column["array"]]
    if column["type"] == "category":
        return np.array([to_rgba(category_mark(int(code))[0]) for code in values]).reshape(n, 4)
    known = np.isfinite(values)
    out = np.tile(to_rgba(NEUTRAL), (n, 1))
    if known.any():
        low, high = float(values[known].min()), float(values[known].max())
        share = (values[known] - low) / (high - low) if high > low else np.full(known.sum(), 0.5)
        out[known] = LinearSegmentedColormap.from_list("langscape", RAMP)(share)
    return out
