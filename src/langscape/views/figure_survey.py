"""The survey view drawn with matplotlib: the tree of heads, and beside each head its roles and two scores."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.colours import NEUTRAL, category_mark
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches

_WIDTH, _ROW, _MOST = 11.0, 0.155, 36.0
_TREE, _LABELS, _BARS, _ABOVE, _BELOW = 3.2, 0.55, 1.35, 1.05, 0.3
_LINE = "#eceef1"


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 11 inches wide and a row high for each head."""
    properties, arrays = view.properties, view.arrays
    order = arrays["order"]
    count = len(order)
    caption = Caption(properties, _WIDTH, more=3)
    up = min(count * _ROW, _MOST)
    figure = Figure(figsize=(_WIDTH, caption.height + _ABOVE + up + _BELOW + MARGIN), facecolor="white")
    bottom = MARGIN + _BELOW
    rows = np.arange(count)
    letters = float(np.clip(72 * 0.8 * up / count, 3.0, 7.5))
    tree = figure.add_axes(inches(figure, MARGIN, bottom, _TREE, up))
    _tree(tree, view)
    left = MARGIN + _TREE + _LABELS
    across = _WIDTH - MARGIN - left - 2 * (_BARS + 0.15)
    dots = figure.add_axes(inches(figure, left, bottom, across, up))
    _roles(dots, view, letters)
    shown = {one["name"]: row for row, one in enumerate(properties["scores"])}
    for at, name in enumerate(("interest", "parked")):
        if name in shown:
            box = inches(figure, left + across + 0.15 + at * (_BARS + 0.15), bottom, _BARS, up)
            _interval(figure.add_axes(box), view, shown[name], properties["scores"][shown[name]]["label"])
    for axes in figure.axes:
        axes.set_ylim(count - 0.5, -0.5)
    dots.set_yticks(rows, [".".join(map(str, properties["heads"][head])) for head in order])
    groups = _groups(view)
    for text, head in zip(dots.get_yticklabels(), order, strict=True):
        text.set(size=letters, color=_colour(groups[head]), **PLAIN)
    caption.write(
        figure,
        properties["subtitle"],
        "tree: heads that attend alike, coloured by group · full dot: the role is given · ring: sometimes, "
        "the larger the more texts",
        "lines: the mean over texts with its 95 % interval",
    )
    return figure


def _tree(axes: Axes, view: View) -> None:
    for left, right, low, other, height, group in view.arrays["branches"].tolist():
        colour = _colour(int(group))
        axes.plot([low, height, height, other], [left, left, right, right], color=colour, linewidth=0.8)
    axes.invert_xaxis()
    axes.set_yticks([])
    axes.tick_params(labelsize=6.5, length=2, colors=SOFT)
    axes.set_xlabel("distance", size=7, color=SOFT, **PLAIN)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color("#c9ced6")


def _roles(axes: Axes, view: View, letters: float) -> None:
    arrays, order = view.arrays, view.arrays["order"]
    names = [role["name"] for role in view.properties["roles"]]
    groups, size = _groups(view), (1.1 * letters) ** 2
    axes.hlines(np.arange(len(order)), -0.5, len(names) - 0.5, color=_LINE, linewidth=0.5, zorder=0)
    for column in range(len(names)):
        state = arrays["state"][column][order]
        given, some = np.flatnonzero(state == 2), np.flatnonzero(state == 1)
        colours = [_colour(groups[order[row]]) for row in given]
        axes.scatter(np.full(len(given), column), given, s=size, c=colours or None, linewidth=0, zorder=2)
        share = np.nan_to_num(arrays["share"][column][order[some]], nan=0.5)
        ring = {"facecolor": "white", "edgecolor": SOFT, "linewidth": 0.8, "zorder": 2}
        axes.scatter(np.full(len(some), column), some, s=size * (0.25 + 0.75 * share), **ring)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(names)), names, rotation=50, ha="left", size=7, color=INK, **PLAIN)
    axes.tick_params(length=0, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _interval(axes: Axes, view: View, row: int, label: str) -> None:
    arrays, order = view.arrays, view.arrays["order"]
    rows = np.arange(len(order))
    low, high, mean = (arrays[name][row][order] for name in ("low", "high", "mean"))
    axes.hlines(rows, 0, 1, color=_LINE, linewidth=0.5, zorder=0)
    axes.hlines(rows, low, high, color=SOFT, linewidth=1.6)
    axes.scatter(mean, rows, s=5, color=INK, zorder=2, linewidth=0)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_yticks([])
    axes.set_title(label, size=7.5, color=INK, pad=4, **PLAIN)
    axes.tick_params(labelsize=6.5, length=2, colors=SOFT)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color("#c9ced6")


def _groups(view: View) -> list[int]:
    """The group of every head; a head that is alone attends like no other and has none."""
    groups = view.arrays["group"]
    _, place, size = np.unique(groups, return_inverse=True, return_counts=True)
    return np.where(size[place] > 1, groups, -1).tolist()


def _colour(group: int) -> str:
    return NEUTRAL if group < 0 else category_mark(group)[0]
