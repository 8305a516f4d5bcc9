"""The effects view drawn with matplotlib: what heads attend to and do, and the first thirty parts."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from langscape.data import View
from langscape.views.colours import CATEGORIES
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches, short

_WIDTH, _UP, _LEFT, _BELOW, _FIRST = 12.0, 5.4, 0.75, 0.5, 30
_NAMED = 12
"""Points of the scatter that are named."""

_COLOURS = {"exact": CATEGORIES[0], "estimate": CATEGORIES[1], "share": CATEGORIES[2]}


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 12 inches wide; without heads, the list alone."""
    properties = view.properties
    caption = Caption(properties, _WIDTH, more=3)
    figure = Figure(figsize=(_WIDTH, caption.height + _UP + _BELOW + MARGIN), facecolor="white")
    heads = bool(np.isfinite(view.arrays["interest"]).any())
    bottom = MARGIN + _BELOW
    names = 1.9
    left = MARGIN + names
    if heads:
        across = _WIDTH - 2 * MARGIN - _LEFT if properties["scatter"] else 5.4
        _scatter(figure.add_axes(inches(figure, MARGIN + _LEFT, bottom, across, _UP)), view)
        left += _LEFT + across + 0.2
    if not (heads and properties["scatter"]):
        kinds = np.array(properties["parts"])[view.arrays["order"]]
        groups, parts = (view.arrays["order"][kinds == "group"], view.arrays["order"][kinds != "group"])
        up, wide = _UP, _WIDTH - MARGIN - left
        if len(groups):  # they do more than single parts, on a scale of their own
            high = min(0.2 * len(groups) + 0.2, _UP / 2)
            _list(figure.add_axes(inches(figure, left, bottom + _UP - high, wide, high)), view, groups)
            up -= high + 0.45
        _list(figure.add_axes(inches(figure, left, bottom, wide, up)), view, parts)
    lines = [properties["subtitle"]]
    if properties["agreement"] is not None:
        lines.append(
            f"rank correlation of what heads attend to and what they do: {properties['agreement']:.2f}"
        )
    lines.append("lines: 95 % interval of the mean over texts" if properties["texts"] > 1 else "")
    caption.write(figure, *(line for line in lines if line))
    return figure


def _scatter(axes: Axes, view: View) -> None:
    arrays, properties = view.arrays, view.properties
    x, y = arrays["interest"], arrays["matters"]
    shown = np.isfinite(x) & np.isfinite(y)
    floor = max(float(y[shown].max()) * 1e-5, 1e-9)
    for source, colour in _COLOURS.items():
        mine = shown & (np.array(properties["source"]) == source)
        if mine.any():
            axes.scatter(
                x[mine], np.maximum(y[mine], floor), s=16, color=colour, alpha=0.75, linewidth=0, label=source
            )
    axes.set_yscale("log")
    low, high = max(float(y[shown].min()), floor), float(y[shown].max())
    axes.set_ylim(low * (low / high) ** 0.1, high * (high / low) ** 0.1)  # room for words above and below
    for each in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        each(FuncFormatter(lambda value, place: f"{value:g}"))
    if high / low > 30:  # every power of ten has its number, and those between need none
        axes.yaxis.set_minor_formatter(NullFormatter())
    middle = float(np.median(y[shown]))
    named = list(arrays["order"][np.isfinite(x[arrays["order"]])][: _NAMED - 4])
    idle = [i for i in np.argsort(-np.where(shown & (y < middle), x, -np.inf)) if shown[i] and y[i] < middle][
        :4
    ]
    across, up = np.ptp(x[shown]) or 1.0, np.log(high / low) or 1.0
    written: list[int] = []
    for at in [*named, *idle]:
        near = [
            other
            for other in written
            if abs(x[at] - x[other]) < 0.06 * across
            and abs(np.log(max(y[at], floor) / max(y[other], floor))) < 0.025 * up
        ]
        if near:
            continue  # its name would lie on another
        written.append(at)
        axes.annotate(
            properties["labels"][at], (x[at], max(y[at], floor)), xytext=(4, 3), textcoords="offset points",
            size=7.5, color=INK, **PLAIN,
        )  # fmt: skip
    words = {"size": 8.5, "color": SOFT, **PLAIN}
    axes.set_xlabel("focused attention: how far it looks at chosen tokens", **words)
    axes.set_ylabel(
        f"matters: {'share of the stream' if properties['how'] == 'share' else 'effect'}", **words
    )
    axes.text(
        0.99, 0.015, "looks at much, does little", transform=axes.transAxes, ha="right", va="bottom", **words
    )
    axes.text(
        0.01, 0.985, "looks at little, does much", transform=axes.transAxes, ha="left", va="top", **words
    )
    axes.legend(
        frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0.1
    )
    _dress(axes)


def _list(axes: Axes, view: View, every: np.ndarray) -> None:
    """The first of these parts, or of these groups with the most that random ones do."""
    arrays, properties = view.arrays, view.properties
    order = every[:_FIRST]
    rows = np.arange(len(order))
    values = arrays["matters"][order]
    colours = [_COLOURS[properties["source"][at]] for at in order]
    axes.hlines(rows, 0, values, color=colours, linewidth=4, alpha=0.35)
    axes.scatter(values, rows, s=16, color=colours, zorder=3, linewidth=0)
    known = np.isfinite(arrays["matters_low"][order])
    axes.hlines(
        rows[known], arrays["matters_low"][order][known], arrays["matters_high"][order][known], color=SOFT,
        linewidth=1.2, zorder=2,
    )  # fmt: skip
    most = arrays["others_most"][order]
    axes.scatter(most, rows, s=70, marker="|", color=INK, zorder=4, linewidth=1.4)
    names = [
        short(properties["labels"][at], 30)
        if properties["parts"][at] == "group"
        else f"{short(properties['tags'][at], 22)}  {properties['labels'][at]}".strip()
        for at in order
    ]
    axes.set_yticks(rows, names)
    for text in axes.get_yticklabels():
        text.set(size=7.5, color=INK, **PLAIN)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    told = f"the first {len(order)} of {len(every)}" if len(every) > len(order) else "all parts"
    if properties["parts"][order[0]] == "group":
        told = "groups; black: the most of random ones"
    axes.set_xlabel(told, size=8.5, color=SOFT, **PLAIN)
    _dress(axes)
    axes.tick_params(axis="y", length=0)


def _dress(axes: Axes) -> None:
    axes.grid(color="#e3e6ea", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", labelsize=7.5, length=2, colors=SOFT)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("bottom", "left"))
        spine.set_color("#c9ced6")
