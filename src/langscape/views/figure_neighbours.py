"""Lines from a chosen item to its neighbours, drawn with matplotlib: kept, missing and false."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from langscape.views.colours import CATEGORIES
from langscape.views.paper import INK

Fates = Mapping[str, Sequence[int]]
"""Rows of kept, missing and false neighbours."""

NO_LINES: Fates = {"kept": (), "missing": (), "false": ()}
"""Of a picture in which no item is chosen."""

_ACCENT = CATEGORIES[0]
_LOOKS = {
    "false": {"color": INK, "linewidth": 0.9, "alpha": 0.45},
    "missing": {"color": INK, "linewidth": 1.1, "alpha": 0.85, "linestyle": (0, (4, 3))},
    "kept": {"color": _ACCENT, "linewidth": 1.5, "alpha": 0.95},
}
_NAMES = {
    "kept": "kept: true, and near",
    "missing": "missing: true, but far",
    "false": "false: near, not true",
}


def draw_neighbours(axes: Axes, plane: np.ndarray, focus: int, fates: Fates) -> None:
    """Solid lines to true neighbours that are near, dashed to those that are far, crossed to false ones."""
    for fate, look in _LOOKS.items():
        for row in fates[fate]:
            axes.plot(*plane[[focus, row]].T, zorder=3, gid=f"{fate} {row}", **look)
            if fate == "false":
                cross = plane[focus] + 2 * (plane[row] - plane[focus]) / 3
                axes.plot(*cross, marker="x", markersize=4.5, color=INK, markeredgewidth=1.1, zorder=3.5)
    ends = sorted({row for rows in fates.values() for row in rows})
    ring = {"facecolors": "none", "linewidths": 0.8, "zorder": 3.6}
    axes.scatter(*plane[ends].T, s=26, edgecolors=INK, **ring)
    axes.scatter(*plane[focus], s=70, edgecolors=_ACCENT, **{**ring, "linewidths": 1.8})


def neighbour_handles(fates: Fates) -> list[Line2D]:
    """What the lines mean, for a legend: those that are drawn."""
    return [
        Line2D([], [], label=text, **{**_LOOKS[fate], "marker": "x" if fate == "false" else ""}, markersize=5)
        for fate, text in _NAMES.items()
        if fates[fate]
    ]


def counts_text(fates: Fates) -> str:
    """How many were kept, are false and are missing."""
    return ", ".join(f"{len(fates[fate])} {fate}" for fate in ("kept", "false", "missing"))


def line_ends(focus: int, fates: Fates) -> list[int]:
    """The rows that lines meet, whose labels are wanted first."""
    return [focus, *(row for fate in ("kept", "missing", "false") for row in fates[fate])]
