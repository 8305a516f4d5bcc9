"""The flow view drawn with matplotlib: an LSTM's graph at its last step, or a transformer's words."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from langscape.data import View
from langscape.views.colours import NEUTRAL
from langscape.views.paper import INK, MARGIN, PLAIN, SOFT, Caption, inches, short

_ACROSS, _DOWN, _WIDE, _HIGH = 1.5, 1.25, 0.95, 0.8
_LINE = "#c9ced6"
_OVER = 0.27


def draw(view: View) -> Figure:
    """The view as a matplotlib figure; of an LSTM, the step of its last word."""
    return _lstm(view) if view.properties["model"] in ("lstm", "gru") else _stream(view)


def _lstm(view: View) -> Figure:
    properties, arrays = view.properties, view.arrays
    step = len(properties["tokens"]) - 1
    nodes = {node["id"]: node for node in properties["nodes"]}
    placed = [node for node in nodes.values() if "column" in node]
    columns = max(node["column"] for node in placed)
    width = 2 * MARGIN + columns * _ACROSS + 2.3
    caption = Caption(properties, width)
    height = caption.height + 4 * _DOWN + 0.45
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes(inches(figure, MARGIN, 0.2, width - 2 * MARGIN, 4 * _DOWN + 0.2))
    axes.set_xlim(-0.02, width - 2 * MARGIN - 0.02)
    axes.set_ylim(4 * _DOWN - 0.1, -0.3)
    axes.axis("off")
    makes = {one["to"]: one for one in properties["operations"]}
    for operation in properties["operations"]:
        if "column" in nodes[operation["to"]]:
            _wires(axes, nodes, makes, operation)
    for node in placed:
        x, y = node["column"] * _ACROSS, node["row"] * _DOWN
        if node["kind"] == "words":
            y = _words(axes, view, step, x, y)
        else:
            _widget(axes, *_values(node, arrays, step), x, y, gate=node["kind"] == "gate")
        axes.text(x, y - 0.07, node["label"], size=8, color=SOFT, va="bottom", **PLAIN)
    read = " ".join(properties["tokens"])
    caption.write(figure, f"{properties['subtitle']} · step {step}, after “{short(read, 120)}”")
    return figure


def _values(node: dict[str, Any], arrays: Any, step: int) -> tuple[np.ndarray, Any]:
    """A node's vector at a step, and its colour or None."""
    name, at = node["array"], step
    if "before" in node:
        name, at = (node["before"], None) if step == 0 else (name, step - 1)
    where = tuple(one for one in (node.get("layer"), at) if one is not None)
    colour = arrays.get(f"colour_{name}")
    return arrays[name][where], None if colour is None else colour[where] / 255


def _widget(axes: Axes, values: np.ndarray, colour: Any, x: float, y: float, *, gate: bool) -> None:
    """Signed bars in a box; the zero line goes a little past it. Long vectors are sorted.

    A gate's box is the range from 0, shut, to 1, open; the values of others fill theirs.
    """
    low, high = (0.0, 1.0) if gate else (min(0.0, float(values.min())), max(0.0, float(values.max())))
    scale = _WIDE / (high - low) if high > low else 0.0
    zero = x - low * scale if high > low else x + _WIDE / 2
    shown = np.sort(values)[::-1] if len(values) >= 128 else values
    pitch = _HIGH / len(shown)
    gap = 0.12 * pitch if len(shown) <= 40 else 0.0
    axes.add_patch(Rectangle((x, y), _WIDE, _HIGH, facecolor="white", edgecolor=_LINE, linewidth=0.8))
    fill = NEUTRAL if colour is None or gate else tuple(colour)
    places = y + pitch * np.arange(len(shown)) + pitch / 2
    axes.barh(places, shown * scale, pitch - 2 * gap, left=zero, color=fill, linewidth=0)
    axes.plot([zero, zero], [y - 0.05, y + _HIGH + 0.05], color=INK, linewidth=0.8)


def _words(axes: Axes, view: View, step: int, x: float, y: float) -> float:
    """The best next words as bars; gives where they begin."""
    chances, ids = view.arrays["top_chances"][step], view.arrays["top"][step]
    pitch = min(0.2, 1.8 / len(ids))
    top = y + _HIGH / 2 - pitch * len(ids) / 2
    colours = view.arrays.get("word_colours")
    for at, (word, chance) in enumerate(zip(ids, chances, strict=True)):
        fill = NEUTRAL if colours is None else tuple(colours[word] / 255)
        axes.add_patch(
            Rectangle((x, top + at * pitch), 1.1 * chance / chances[0], 0.85 * pitch, color=fill, lw=0)
        )
        text = f"{short(view.properties['words'][word], 16)}  {100 * chance:.2g} %"
        axes.text(x + 1.15, top + (at + 0.45) * pitch, text, size=7.5, color=INK, va="center", **PLAIN)
    axes.plot([x, x], [top - 0.05, top + pitch * len(ids) + 0.05], color=INK, linewidth=0.8)
    return top


def _wires(axes: Axes, nodes: dict[str, Any], makes: dict[str, Any], operation: dict[str, Any]) -> None:
    to = nodes[operation["to"]]
    inner = makes.get(operation["inputs"][0]["node"])
    hidden = inner is not None and "column" not in nodes[inner["to"]]
    signs = {"product": "×", "sum": "+", "sigmoid": "σ", "tanh": "~", "softmax": "", "matrix": "W"}
    signs["complement"] = "1−"
    sign = ("W" if hidden else "") + signs[operation["kind"]]
    end = (to["column"] * _ACROSS - 0.27, to["row"] * _DOWN + _HIGH / 2)
    for given in (inner if hidden and inner else operation)["inputs"]:
        node = nodes[given["node"]]
        start = (node["column"] * _ACROSS + _WIDE + 0.03, node["row"] * _DOWN + _HIGH / 2)
        between = range(int(node["column"]) + 1, int(to["column"]))
        if node["row"] == to["row"] and any(
            other.get("column") in between and other["row"] == to["row"] for other in nodes.values()
        ):
            # over what stands between, which has no part in this operation
            out, over = to["row"] * _DOWN + 0.12, to["row"] * _DOWN - _OVER
            x = [start[0], start[0] + 0.07, start[0] + 0.07, end[0] + 0.1, end[0] + 0.1]
            axes.plot(x, [out, out, over, over, end[1]], color=_LINE, lw=0.9, zorder=0.9)
            continue
        axes.add_patch(
            FancyArrowPatch(start, end, arrowstyle="-", connectionstyle="arc3,rad=0", color=_LINE, lw=0.9)
        )
    axes.text(
        end[0] + 0.1, end[1], sign, size=7, color=SOFT, ha="center", va="center",
        bbox={"boxstyle": "circle,pad=0.25", "facecolor": "#f7f8f9", "edgecolor": _LINE, "lw": 0.7}, **PLAIN,
    )  # fmt: skip


def _stream(view: View) -> Figure:
    """The lens as a table: tokens across, layers down, in every cell the best word."""
    properties, arrays = view.properties, view.arrays
    nodes, tokens, _ = arrays["lens"].shape
    rows = list(range(0, nodes, 2 if nodes > 26 else 1))[::-1]  # from below
    shown = min(tokens, 16)
    cell, line = 0.72, 0.2
    width = max(2 * MARGIN + 0.55 + cell * shown, 7.0)
    caption = Caption(properties, width, more=2)
    up = line * len(rows)
    figure = Figure(figsize=(width, caption.height + up + 0.55), facecolor="white")
    axes = figure.add_axes(inches(figure, MARGIN + 0.55, 0.25, cell * shown, up))
    axes.set_xlim(0, shown)
    axes.set_ylim(0, len(rows))
    axes.axis("off")
    colours = arrays.get("colour_stream")
    for at, node in enumerate(rows):
        name = "in" if node == 0 else f"{(node - 1) // 2}{' att' if node % 2 else ''}"
        axes.text(-0.1, at + 0.5, name, size=7, color=SOFT, ha="right", va="center", **PLAIN)
        for column in range(shown):
            token = tokens - shown + column
            word = properties["words"][arrays["lens"][node, token, 0]]
            share = float(np.clip(arrays["lens_values"][node, token, 0], 0, 1))
            tint = 1 - 0.75 * share * (1 - np.array([0.4, 0.6, 0.95]))
            box = {"linewidth": 0, "facecolor": tuple(tint)}
            axes.add_patch(Rectangle((column + 0.02, at + 0.04), 0.96, 0.92, **box))
            chip = NEUTRAL if colours is None else tuple(colours[node, token] / 255)
            axes.add_patch(Rectangle((column + 0.02, at + 0.04), 0.1, 0.92, linewidth=0, facecolor=chip))
            text = short(word, 10) or "␣"
            axes.text(column + 0.16, at + 0.48, text, size=6.5, color=INK, va="center", **PLAIN)
    for column in range(shown):
        text = short(properties["tokens"][tokens - shown + column], 11) or "␣"
        axes.text(column + 0.02, len(rows) + 0.15, text, size=7, color=INK, va="bottom", **PLAIN)
    left_out = "" if shown == tokens else f" · the last {shown} of {tokens} tokens"
    what = "next word by logit lens" if properties["model"] == "decoder" else "word of the nearest embedding"
    caption.write(
        figure, f"{properties['subtitle']}{left_out}", f"{what}, darker with its share; layers down"
    )
    return figure
