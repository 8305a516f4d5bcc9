"""The probe view drawn with matplotlib: a panel for every question, accuracy by layer beside its nulls."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.colours import CATEGORIES
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches, short

# the control task asks something else, and stands in the table
_WIDTH, _ACROSS, _UP, _LEFT, _BELOW = 12.0, 3, 2.1, 0.5, 0.78
_NULLS = {
    "majority": ("commonest answer", ":", SOFT),
    "word": ("from the word alone", "--", SOFT),
    "untrained": ("untrained network", "-", INK),
}


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 12 inches wide."""
    properties = view.properties
    caption = Caption(properties, _WIDTH, more=2)
    rows = -(-len(properties["questions"]) // _ACROSS)
    tall = _UP + _BELOW
    figure = Figure(figsize=(_WIDTH, caption.height + 0.3 + rows * tall + MARGIN), facecolor="white")
    wide = (_WIDTH - 2 * MARGIN) / _ACROSS
    top = figure.get_size_inches()[1] - caption.height - 0.3
    for at, name in enumerate(properties["questions"]):
        row, column = divmod(at, _ACROSS)
        left = MARGIN + column * wide + _LEFT
        axes = figure.add_axes(
            inches(figure, left, top - (row + 1) * tall + _BELOW - 0.1, wide - _LEFT - 0.15, _UP - 0.2)
        )
        _panel(axes, view, at, name)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="upper left", ncols=len(names), frameon=False, fontsize=8.5, borderaxespad=0,
        bbox_to_anchor=(MARGIN / _WIDTH, (top + 0.26) / figure.get_size_inches()[1]), columnspacing=1.4,
    )  # fmt: skip
    caption.write(figure, properties["subtitle"], "band: 95 % interval over texts")
    return figure


def _panel(axes: Axes, view: View, at: int, name: str) -> None:
    layers = view.properties["layers"]
    rows = slice(at * len(layers), (at + 1) * len(layers))
    x = np.arange(len(layers))
    arrays = {key: array[rows] for key, array in view.arrays.items() if key not in ("ago", "ago_null")}
    axes.fill_between(x, arrays["low"], arrays["high"], color=CATEGORIES[0], alpha=0.2, linewidth=0)
    axes.plot(
        x, arrays["accuracy"], color=CATEGORIES[0], linewidth=1.8, marker="o", markersize=3, label="probe"
    )
    for key, (label, style, colour) in _NULLS.items():
        if np.isfinite(arrays[key]).any():
            axes.plot(x, arrays[key], style, color=colour, linewidth=1, label=label)
    few = x if len(x) <= 8 else x[:: -(-len(x) // 8)]
    axes.set_xticks(few, [layers[one].removeprefix("layer ") for one in few])
    axes.set_ylim(0, 1.02)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7.5, colors=SOFT)
    verdict = view.properties["verdicts"][at * len(layers) + int(np.argmax(arrays["accuracy"][1:])) + 1]
    axes.set_title(f"{short(name, 30)}: {verdict}", size=9, color=INK, loc="left", **PLAIN)
    axes.set_xlabel("layer", size=8, color=SOFT, **PLAIN)
