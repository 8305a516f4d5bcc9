"""The flow of an LSTM: its graph, its vectors at every step, and the weights that join them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.data import Capture, View
from langscape.errors import DataError
from langscape.metrics import alarms, change, nearest_words, predicted_vectors, surprises, twins
from langscape.models.display_names import model_title
from langscape.views.flow import (
    Book,
    Colours,
    Weights,
    bytes_of,
    colour_quality,
    refuse_long,
    sums,
    word_colours,
)

NEAREST = 5
LEAST = 4
"""Steps below which "always" means little."""
GATES = ("input", "forget", "output")
SHOWN = ("forget", "input", "candidate", "output", "forget_product", "remember_product")
SHOWN = (*SHOWN, "cell", "cell_tanh", "hidden")
_BUDGET = 10_000_000
"""Bytes of weights that a page takes; larger models are shown without the summands of their matrices."""


def lstm_flow(
    capture: Capture,
    weights: Weights,
    words: Sequence[str],
    *,
    colours: Colours | None = None,
    top: int = 8,
    title: str | None = None,
) -> View:
    """The picture of an LSTM's run over one text."""
    layers, steps, units = capture["hidden"].shape
    if not steps:
        raise DataError("this capture holds no steps; capture a text of at least one word")
    refuse_long(steps, lambda n: 5.3 * n * layers * units * (len(SHOWN) + 4))
    top = min(top, len(words))
    book = Book()
    arrays: dict[str, np.ndarray] = {}
    kept = ("embedding", *SHOWN, *(f"{gate}_pre" for gate in (*GATES, "candidate")))
    for name in (*kept, "cell_before", "hidden_before"):
        arrays[name] = np.asarray(capture[name], np.float32)
    arrays["ids"] = book.number(capture.tokens.require_ids())
    _softmax(capture, top, book, arrays)
    _nearest(capture, weights, book, arrays)
    size = sum(one.size for name in ("input_weights", "hidden_weights") for one in weights[name])
    told = 4 * (size + len(book.ids) * units) <= _BUDGET
    notes = list(capture.notes)
    if told:
        for layer in range(layers):
            arrays[f"input_weights_{layer}"] = weights["input_weights"][layer]
            arrays[f"hidden_weights_{layer}"] = weights["hidden_weights"][layer]
            arrays[f"bias_{layer}"] = weights["bias"][layer]
        arrays["decoder"] = weights["decoder"][book.ids]
        arrays["decoder_bias"] = weights["decoder_bias"][book.ids]
    else:
        notes.append("the weights would not fit a page, so the summands of matrix products are left out")
    nodes, operations = _graph(layers, told)
    _change(capture, operations, arrays)
    quality = [_agreement(capture, weights)]
    if colours is not None:
        notes += _colours(capture, weights, colours, book, arrays)
        quality += colour_quality(colours)
    model = model_title(str(capture.metadata.get("model", "")))
    width = arrays["embedding"].shape[1]
    properties: dict[str, Any] = {
        "title": title or f"Flow through {model or 'an LSTM'}",
        "subtitle": f"LSTM of {layers} {'layer' if layers == 1 else 'layers'}, {units} units · "
        f"{len(words):,} words of {width} dimensions",
        "model": "lstm",
        "tokens": list(capture.tokens),
        "start": _start(capture),
        "words": [words[i] for i in book.ids],
        "vocabulary": len(words),
        "layers": layers,
        "axes": {name: list(capture.axes[name]) for name in arrays if name in capture.axes},
        "nodes": nodes,
        "operations": operations,
        "alarms": _alarms(capture, weights, words),
        "quality": quality,
        "notes": notes,
    }
    return View("flow", properties, arrays)


def _start(capture: Capture) -> str:
    """What the first token is where the text does not hold it; empty where it does."""
    if not capture.tokens.special[0]:
        return ""
    known = f"“{capture.tokens[0]}”, the boundary between sentences"
    return f"{known}: every text starts from it, though the prompt does not say it"


def _softmax(capture: Capture, top: int, book: Book, arrays: dict[str, np.ndarray]) -> None:
    logits, chances = capture["logits"].astype(np.float64), capture["softmax"]
    best = np.argsort(-logits, axis=-1, kind="stable")[:, :top]
    arrays["top"] = book.number(best)
    arrays["top_chances"] = np.take_along_axis(chances, best, -1).astype(np.float32)
    arrays["top_logits"] = np.take_along_axis(logits, best, -1).astype(np.float32)
    high = logits.max(-1)
    arrays["log_total"] = (high + np.log(np.exp(logits - high[:, None]).sum(-1))).astype(np.float32)
    ids = capture.tokens.require_ids()
    given = chances[np.arange(len(ids) - 1), ids[1:]].astype(np.float64)
    arrays["surprise"] = np.append(-np.log(np.maximum(given, 1e-30)), np.nan).astype(np.float32)


def _nearest(capture: Capture, weights: Weights, book: Book, arrays: dict[str, np.ndarray]) -> None:
    """The nearest words of every vector: by distance to embeddings, or by logit where widths differ."""
    for name in ("embedding", *SHOWN, "cell_before", "hidden_before"):
        vectors = capture[name]
        flat = vectors.reshape(-1, vectors.shape[-1])
        if flat.shape[1] == weights["embedding"].shape[1]:
            best, scores = nearest_words(flat, weights["embedding"], NEAREST)
        else:
            best, scores = nearest_words(
                flat, weights["decoder"], NEAREST, by="logit", bias=weights["decoder_bias"]
            )
        shape = (*vectors.shape[:-1], best.shape[-1])
        arrays[f"nearest_{name}"] = book.number(best).reshape(shape)
        arrays[f"nearest_{name}_by"] = scores.reshape(shape).astype(np.float32)


def _colours(
    capture: Capture, weights: Weights, colours: Colours, book: Book, arrays: dict[str, np.ndarray]
) -> list[str]:
    """A colour for every word and vector; gates have theirs too, for the reader who asks."""
    arrays["word_colours"] = word_colours(colours, book.ids)
    width = weights["embedding"].shape[1]
    other = False
    for name in ("embedding", *SHOWN, "cell_before", "hidden_before"):
        vectors = capture[name]
        flat = vectors.reshape(-1, vectors.shape[-1])
        if flat.shape[1] != width:
            other = True
            flat = predicted_vectors(flat, weights["decoder"], weights["embedding"], weights["decoder_bias"])
        fitted = colours.fit(flat)
        arrays[f"colour_{name}"] = bytes_of(fitted).reshape(*vectors.shape[:-1], 3)
    if not other:
        return []
    return [
        "embeddings and units have different widths, so vectors of units take the colours of the words they "
        "would predict, and their nearest words are those of the highest logit"
    ]


def _change(capture: Capture, operations: list[dict[str, Any]], arrays: dict[str, np.ndarray]) -> None:
    """How far each operation moves its main operand, at every step; NaN where widths differ."""
    rows = []
    for operation in operations:
        start, end = (_vectors(capture, node) for node in (operation["main"], operation["to"]))
        if start is None or end is None or start.shape != end.shape:
            rows.append(np.full(len(capture.tokens), np.nan, np.float32))
        else:
            rows.append(change(start, end).astype(np.float32))
    arrays["change"] = np.stack(rows)


def _alarms(capture: Capture, weights: Weights, words: Sequence[str]) -> list[dict[str, Any]]:
    """What a reader should look at: stuck gates, dead units, words on one spot, words never expected."""
    stuck = alarms(capture, share=0.25) if len(capture.tokens) >= LEAST else []
    told = [
        {
            "vector": one.where, "layer": one.layer, "step": -1, "text": one.text, "units": list(one.units),
            "level": "alarm" if one.share >= 0.5 else "notice",
        }
        for one in stuck
    ]  # fmt: skip
    read = capture.tokens.require_ids().tolist()
    for one in twins(weights["embedding"], words) if len(words) >= 3 else []:
        if set(read) & set(one.units):
            step = next(at for at, row in enumerate(read) if row in one.units)
            told.append(
                {
                    "vector": "embedding",
                    "layer": -1,
                    "step": step,
                    "text": one.text,
                    "units": [],
                    "level": "alarm",
                }
            )
    for one in surprises(capture):
        level = "alarm" if one.share > 10 else "notice"
        told.append(
            {
                "vector": "softmax",
                "layer": -1,
                "step": one.units[0],
                "text": one.text,
                "units": [],
                "level": level,
            }
        )
    return told


def _vectors(capture: Capture, node: str) -> np.ndarray | None:
    """A node's vectors at every step, (step, width)."""
    if node == "embedding":
        return capture["embedding"]
    if node in ("logits", "softmax"):
        return None
    layer, _, name = node.partition(".")
    at = int(layer[1:])
    if name.endswith("_before"):
        first, after = capture[name][at], capture[name.removesuffix("_before")][at]
        return np.concatenate([first[None], after[:-1]])
    return capture[name][at]


def _agreement(capture: Capture, weights: Weights) -> dict[str, str]:
    """How exactly summands and bias give the pre-activations as they are printed."""
    worst = 0.0
    units = capture["hidden"].shape[-1]
    inputs = capture["embedding"].astype(np.float64)
    for layer in range(len(capture["hidden"])):
        hidden = _vectors(capture, f"l{layer}.hidden_before")
        assert hidden is not None
        total = inputs @ weights["input_weights"][layer].T.astype(np.float64)
        total += hidden.astype(np.float64) @ weights["hidden_weights"][layer].T + weights["bias"][layer]
        for at, gate in enumerate(capture.metadata["gates"]):
            told = capture[f"{gate}_pre"][layer]
            worst = max(worst, float(np.abs(total[:, at * units : (at + 1) * units] - told).max()))
        inputs = capture["hidden"][layer].astype(np.float64)
    return sums(
        worst,
        None,
        "Largest difference, over all gates, units and steps, between a pre-activation and the "
        "sum of its summands and bias.",
    )


def _graph(layers: int, told: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes with their places, columns to the right and rows down, and the operations between them.

    Pre-activations have no place: the graph shows what they become, and the page goes through them.
    """
    nodes: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []

    def node(id: str, label: str, kind: str, place: tuple[float, float] | None, **more: Any) -> None:
        at = {} if place is None else {"column": place[0], "row": place[1]}
        nodes.append({"id": id, "label": label, "kind": kind, **at, **more})

    def operation(kind: str, to: str, *inputs: dict[str, Any], **more: Any) -> None:
        main = more.pop("main", inputs[0]["node"])
        operations.append({"kind": kind, "to": to, "main": main, "inputs": list(inputs), **more})

    node("embedding", "word", "vector", (0, 1.5), array="embedding")
    below = "embedding"
    for layer in range(layers):
        left = 5 * layer
        name = f"l{layer}.".__add__
        held = {"layer": layer}
        node(
            name("cell_before"),
            "cell before",
            "vector",
            (left, 0),
            array="cell",
            before="cell_before",
            **held,
        )
        node(
            name("hidden_before"),
            "hidden before",
            "vector",
            (left, 3),
            array="hidden",
            before="hidden_before",
            **held,
        )
        for at, gate in enumerate(("forget", "input", "candidate", "output")):
            block = ("input", "forget", "candidate", "output").index(gate)
            node(name(f"{gate}_pre"), f"{gate} pre-activation", "pre", None, array=f"{gate}_pre", **held)
            label = gate if gate == "candidate" else f"{gate} gate"
            kind = "vector" if gate == "candidate" else "gate"
            node(name(gate), label, kind, (left + 1, at), array=gate, **held)
            product = {"block": block, "bias": f"bias_{layer}"} if told else {"block": block}
            operation(
                "matrix", name(f"{gate}_pre"), {"node": below, "weights": f"input_weights_{layer}"},
                {"node": name("hidden_before"), "weights": f"hidden_weights_{layer}"},
                main=name("hidden_before"), **product,
            )  # fmt: skip
            operation("tanh" if gate == "candidate" else "sigmoid", name(gate), {"node": name(f"{gate}_pre")})
        node(
            name("forget_product"),
            "kept of the cell",
            "vector",
            (left + 2, 0),
            array="forget_product",
            **held,
        )
        operation("product", name("forget_product"), {"node": name("cell_before")}, {"node": name("forget")})
        node(
            name("remember_product"),
            "added to the cell",
            "vector",
            (left + 2, 1.5),
            array="remember_product",
            **held,
        )
        operation("product", name("remember_product"), {"node": name("candidate")}, {"node": name("input")})
        node(name("cell"), "cell", "vector", (left + 3, 0.75), array="cell", **held)
        operation("sum", name("cell"), {"node": name("forget_product")}, {"node": name("remember_product")})
        node(name("cell_tanh"), "tanh of the cell", "vector", (left + 4, 0.75), array="cell_tanh", **held)
        operation("tanh", name("cell_tanh"), {"node": name("cell")})
        node(name("hidden"), "hidden", "vector", (left + 5, 1.5), array="hidden", **held)
        operation("product", name("hidden"), {"node": name("cell_tanh")}, {"node": name("output")})
        below = name("hidden")
    node("logits", "logits", "pre", None)
    node("softmax", "next word", "words", (5 * layers + 1, 1.5))
    operation("matrix", "logits", {"node": below, "weights": "decoder"}, bias="decoder_bias", block=0)
    operation("softmax", "softmax", {"node": "logits"})
    return nodes, operations
