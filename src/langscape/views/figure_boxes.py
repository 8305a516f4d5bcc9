"""The boxes view drawn with matplotlib: boxes above, standard deviations as bars below."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.colours import CATEGORIES
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches, short

_LEAST, _MOST, _UP, _BARS, _GAP, _LEFT = 7.0, 14.0, 4.2, 1.3, 0.28, 0.75
_SLOT = 0.32
"""Inches for one box and the space beside it."""


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 7 to 14 inches wide."""
    properties, numbers = view.properties, view.arrays["numbers"]
    groups, series = properties["groups"], properties["series"]
    wanted = len(groups) * (len(series) + 0.8) * _SLOT + _LEFT + 2 * MARGIN
    width = float(np.clip(wanted, _LEAST, _MOST))
    caption = Caption(properties, width, more=3)
    bottom = MARGIN + 0.4
    figure = Figure(figsize=(width, caption.height + _UP + _GAP + _BARS + bottom), facecolor="white")
    across = width - _LEFT - 2 * MARGIN
    above = figure.add_axes(inches(figure, MARGIN + _LEFT, bottom + _BARS + _GAP, across, _UP))
    below = figure.add_axes(inches(figure, MARGIN + _LEFT, bottom, across, _BARS))
    offsets, wide = _places(len(series))
    for at, name in enumerate(series):
        colour = CATEGORIES[properties["hues"][at] % len(CATEGORIES)]
        ground = f"{colour}{'b0' if properties['full'][at] else '38'}"
        _boxes(above, view, at, offsets[at], wide, colour, ground)
        places, look = np.arange(len(groups)) + offsets[at], {"edgecolor": colour, "linewidth": 1.0}
        below.bar(places, numbers[:, at, 7], 0.86 * wide, color=ground, label=name, **look)
    for axes in (above, below):
        _dress(axes, len(groups))
    above.tick_params(bottom=False, labelbottom=False)
    below.set_ylim(bottom=0)
    words = {"size": 8.5, "color": SOFT, **PLAIN}
    above.set_ylabel(properties["y"], **words)
    below.set_ylabel("standard\ndeviation", **words)
    below.set_xlabel(properties["x"], **words)
    below.set_xticks(np.arange(len(groups)), [short(name, 16) for name in groups])
    for text in below.get_xticklabels():
        text.set_parse_math(False)
    handles, names = below.get_legend_handles_labels()
    figure.legend(
        handles, [short(name, 40) for name in names], loc="upper left", ncols=len(names), frameon=False,
        fontsize=8.5, borderaxespad=0, columnspacing=1.4,
        bbox_to_anchor=(MARGIN / width, 1 - (caption.height - 0.26) / figure.get_size_inches()[1]),
    )  # fmt: skip
    caption.write(
        figure,
        *(part for part in (properties.get("subtitle", ""),) if part),
        "box: middle half · line: median · dot: mean · whiskers: last value within 1.5 boxes",
    )
    return figure


def _boxes(axes: Axes, view: View, series: int, offset: float, wide: float, colour: str, ground: str) -> None:
    numbers, count = view.arrays["numbers"][:, series], len(view.properties["series"])
    there = np.flatnonzero(numbers[:, 0] > 0)
    stats = []
    for group in there:
        _, low, q1, median, q3, high, mean, _ = (float(value) for value in numbers[group])
        beyond = view.arrays["outliers"][view.arrays["outlier_of"] == group * count + series]
        stats.append(
            {"med": median, "q1": q1, "q3": q3, "whislo": low, "whishi": high, "mean": mean, "fliers": beyond}
        )
    if not stats:
        return
    line = {"color": colour, "linewidth": 1.0}
    dot = {"marker": "o", "markersize": 3, "markerfacecolor": INK, "markeredgecolor": "white"}
    far = {"marker": "o", "markersize": 2, "markerfacecolor": colour, "markeredgewidth": 0, "alpha": 0.5}
    axes.bxp(
        stats, there + offset, widths=0.86 * wide, manage_ticks=False, patch_artist=True, showmeans=True,
        boxprops={"facecolor": ground, "edgecolor": colour, "linewidth": 1.0},
        medianprops={"color": INK, "linewidth": 1.4}, whiskerprops=line, capprops=line,
        meanprops={**dot, "markeredgewidth": 0.5}, flierprops=far,
    )  # fmt: skip


def _places(series: int) -> tuple[np.ndarray, float]:
    """Where the boxes of a group stand around its tick, and how wide one may be."""
    wide = 0.8 / series
    return (np.arange(series) - (series - 1) / 2) * wide, wide


def _dress(axes: Axes, groups: int) -> None:
    axes.set_xlim(-0.6, groups - 0.4)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, length=2, colors=SOFT)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color("#c9ced6")
