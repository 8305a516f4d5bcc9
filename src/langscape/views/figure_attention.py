"""The attention view drawn with matplotlib: queries down, keys across."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.heat import LETTERS, bar, draw_heat, label_across, label_up
from langscape.views.paper import MARGIN, PLAIN, SOFT, Caption, inches

_WIDTH, _LEAST, _SIDE, _HEIGHTS = 10.0, 7.0, 0.9, (2.0, 12.0)


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, at most 10 inches wide; cells are square."""
    properties, weights = view.properties, view.arrays["attention"]
    effects = view.arrays.get("effect")  # of a picture of edges: what cutting each changes
    shown = weights if effects is None else effects
    second = view.arrays.get("second")  # of a picture of two heads
    if second is not None:
        shown = second - weights
    gutter = 0.2 + 0.055 * min(LETTERS, max(map(len, (*properties["queries"], *properties["keys"]))))
    across = _WIDTH - 2 * MARGIN - gutter - _SIDE
    cell = min(across / weights.shape[1], 0.5)
    up = float(np.clip(cell * weights.shape[0], *_HEIGHTS))
    across = cell * weights.shape[1]
    # A little for the names of both sides.
    left = bottom = MARGIN + gutter + 0.2
    width = max(left + across + _SIDE + MARGIN, _LEAST)
    caption = Caption(properties, width, more=1 if second is None else 2)
    figure = Figure(figsize=(width, caption.height + up + bottom), facecolor="white")
    axes = figure.add_axes(inches(figure, left, bottom, across, up))
    top = float(np.abs(shown).max()) or 1.0
    image = draw_heat(axes, shown, top, signed=second is not None)
    for cut in properties.get("cuts", ()):
        axes.plot(cut["key"], cut["query"], "s", ms=max(2.0, 66 * cell), mfc="none", mec="#e35c00", mew=0.7)
    steps = label_across(axes, properties["keys"], across), label_up(axes, properties["queries"], up)
    name = {"size": 8, "color": SOFT, **PLAIN}
    axes.set_xlabel("key: is attended to", **name)
    axes.set_ylabel("query: attends", **name)
    name, ticks = "weight" if effects is None else "effect", None
    if second is not None:
        name, ticks = "difference", [-top, -top / 4, 0, top / 4, top]
    bar(figure, image, left + across + 0.25, bottom + up - 1.9, name, ticks)
    lines = [properties.get("subtitle", ""), f"{weights.shape[0]} × {weights.shape[1]} tokens"]
    if max(steps) > 1:
        lines.append(f"every {_nth(max(steps))} token is labelled")
    if second is not None:
        lines.append("colour by the square root")
        said = properties["names"]
        key = f"blue: {said[1]} gives more to this key · orange: {said[0]} gives more"
        caption.write(figure, key, " · ".join(part for part in lines if part))
        return figure
    if effects is None:
        lines.append("colour grows with the square root of the weight")
    else:
        lines = [properties["measure"], "colour by the square root; framed: cut, the others are estimates"]
    caption.write(figure, " · ".join(part for part in lines if part))
    return figure


def _nth(number: int) -> str:
    return {2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(number, f"{number}th")
