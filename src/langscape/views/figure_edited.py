"""The edited view drawn with matplotlib: the text in lines, a bar over every token."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.colours import CATEGORIES
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches, short

_WIDTH, _UP, _BELOW, _LETTERS = 12.0, 0.75, 0.42, 9
_ACROSS = 16
"""Tokens in a line."""


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 12 inches wide."""
    properties = view.properties
    effect, others = view.arrays["effect"], view.arrays.get("others_most")
    lines = textwrap.wrap(properties["subtitle"], int(13.5 * _WIDTH))
    key = f"bar: {properties['measure']}"
    if others is not None:
        key += f" · line: the most of {properties['others_name']} here, cut at the top · blue: beyond them"
    caption = Caption(properties, _WIDTH, more=len(lines) + 1)
    rows = -(-len(effect) // _ACROSS)
    tall = _UP + _BELOW
    figure = Figure(figsize=(_WIDTH, caption.height + rows * tall + MARGIN), facecolor="white")
    most = 1.1 * float(effect.max()) or 1.0  # lines far above all bars are cut at the top
    for row in range(rows):
        at = np.arange(row * _ACROSS, min((row + 1) * _ACROSS, len(effect)))
        place = (MARGIN, MARGIN + (rows - 1 - row) * tall + _BELOW, _WIDTH - 2 * MARGIN, _UP)
        axes = figure.add_axes(inches(figure, *place))
        beyond = effect[at] > (others[at] if others is not None else np.inf)
        axes.bar(at, effect[at], 0.72, color=np.where(beyond, CATEGORIES[0], "#a9b3c4"))
        if others is not None:
            axes.hlines(np.minimum(others[at], most), at - 0.42, at + 0.42, color=INK, linewidth=1)
        axes.set_xlim(row * _ACROSS - 0.5, (row + 1) * _ACROSS - 0.5)
        axes.set_ylim(0, 1.02 * most)
        axes.set_xticks(at, [short(properties["labels"][one], _LETTERS) for one in at])
        axes.set_yticks([])
        axes.tick_params(length=0, labelsize=8, labelcolor=INK)
        for label in axes.get_xticklabels():
            label.set(**PLAIN)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(SOFT)
    caption.write(figure, *lines, key)
    return figure
