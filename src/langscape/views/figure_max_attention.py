"""The maximum-attention view drawn with matplotlib: one strip of heads × tokens per layer."""

from __future__ import annotations

from matplotlib.figure import Figure

from langscape.data import View
from langscape.views.heat import LETTERS, bar, draw_heat, label_across, label_up
from langscape.views.paper import MARGIN, PLAIN, SOFT, Caption, inches

_WIDTH, _GAP, _SIDE = 12.0, 0.22, 0.9


def draw(view: View) -> Figure:
    """The view as a matplotlib figure, 12 inches wide: maximum or mean over queries, layer under layer."""
    properties, weights = view.properties, view.arrays[view.properties["show"]]
    layers, heads, keys = weights.shape
    caption = Caption(properties, _WIDTH)
    gutter = 0.2 + 0.055 * min(LETTERS, max(map(len, properties["keys"])))
    strip = min(max(0.11 * heads, 0.4), 2.2)
    left, bottom = MARGIN + 0.45, MARGIN + gutter
    across = _WIDTH - MARGIN - left - _SIDE
    up = layers * strip + (layers - 1) * _GAP
    figure = Figure(figsize=(_WIDTH, caption.height + 0.15 + max(up, 2.1) + bottom), facecolor="white")
    base = bottom + max(up, 2.1) - up
    top = float(weights.max()) or 1.0
    image, step = None, 1
    for at, layer in enumerate(properties["layers"]):
        floor = base + (layers - 1 - at) * (strip + _GAP)
        axes = figure.add_axes(inches(figure, left, floor, across, strip))
        image = draw_heat(axes, weights[at], top)
        label_up(axes, [str(head) for head in properties["heads"]], strip)
        axes.set_title(f"layer {layer}", size=7.5, loc="left", color=SOFT, pad=2.5, **PLAIN)
        if at == layers - 1:
            step = label_across(axes, properties["keys"], across)
        else:
            axes.set_xticks([])
    assert image is not None
    bar(figure, image, left + across + 0.2, base + up - 1.75, properties["show"])
    lines = [properties.get("subtitle", ""), f"{heads} heads down, {keys} tokens across"]
    if step > 1:
        lines.append(f"every {step} tokens one label")
    caption.write(figure, " · ".join(part for part in lines if part))
    return figure
