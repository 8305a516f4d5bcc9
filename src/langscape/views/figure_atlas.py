"""The atlas drawn with matplotlib: layers down, heads across, every head a small map coloured by position."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.colours import RAMP
from langscape.views.paper import MARGIN, PLAIN, SOFT, Caption, inches, number_heads

_WIDTH, _GAP, _SIDE = 12.0, 0.12, 0.35


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 12 inches wide; one square per head."""
    properties, xy = view.properties, view.arrays["xy"]
    keys = [tuple(key) for key in properties["heads"]]
    layers = sorted({layer for layer, _ in keys})
    heads = sorted({head for _, head in keys})
    caption = Caption(properties, _WIDTH)
    cell = min((_WIDTH - 2 * MARGIN - _SIDE) / len(heads), 2.4)
    up = len(layers) * (cell + 0.14)
    figure = Figure(figsize=(_WIDTH, caption.height + up + MARGIN + _SIDE), facecolor="white")
    axes = figure.add_axes(inches(figure, MARGIN + _SIDE, MARGIN, cell * len(heads), up))
    axes.set(xlim=(0, len(heads)), ylim=(len(layers), 0))
    axes.set_axis_off()
    ramp = LinearSegmentedColormap.from_list("langscape", RAMP)
    at = view.arrays["positions"] / max(len(properties["tokens"]) - 1, 1)
    size = float(np.clip(260 * cell**2 / max(xy.shape[1], 1), 0.5, 12))
    kls = _kls(view)
    for row, (layer, head) in enumerate(keys):
        corner = np.array([heads.index(head), layers.index(layer)])
        there = np.isfinite(xy[row, :, 0])
        places = corner + _GAP / 2 + (1 - _GAP) * _unit(xy[row, there])
        drawn: PathCollection = axes.scatter(
            places[:, 0], places[:, 1], c=at[there], cmap=ramp, s=size, vmin=0, vmax=1
        )
        drawn.set_linewidth(0)
        if kls is not None:
            said = f"{kls[row]:.2f}"
            axes.text(
                corner[0] + 0.97,
                corner[1] + 0.99,
                said,
                size=5.5,
                color=SOFT,
                ha="right",
                va="bottom",
                **PLAIN,
            )
    number_heads(axes, layers, heads)
    said = [
        properties.get("subtitle", ""),
        f"{len(keys)} heads, {xy.shape[1]} tokens, light first and dark last",
    ]
    if kls is not None:
        said.append("small figures: KL of the map")
    caption.write(figure, " · ".join(part for part in said if part))
    return figure


def _kls(view: View) -> np.ndarray | None:
    column = next(
        (c for c in view.properties["columns"] if c["name"] == "kl" and c["type"] == "number"), None
    )
    return None if column is None else view.arrays[column["array"]]


def _unit(plane: np.ndarray) -> np.ndarray:
    """The map moved and scaled into the unit square, y downward; its proportions are kept."""
    if not len(plane):
        return plane
    low, high = plane.min(axis=0), plane.max(axis=0)
    extent = float((high - low).max()) or 1.0
    return 0.5 + (plane - (low + high) / 2) / extent * [1, -1]
