"""The flow of an LSTM: its graph, its vectors at every step, and the weights that join them."""

from __future__ import annotations

from typing import Any

from langscape.data import Flow, View
from langscape.views.flow import quality, refuse_long

SHOWN = ("forget", "input", "candidate", "output", "forget_product", "remember_product")
SHOWN = (*SHOWN, "cell", "cell_tanh", "hidden")
VECTORS = ("embedding", *SHOWN, "cell_before", "hidden_before")
"""The vectors that have words and a colour."""

WEIGHTS = 10_000_000
"""Bytes of weights that a page takes; larger models are shown without the summands of their matrices."""


def lstm_flow(found: Flow, *, title: str | None = None) -> View:
    """The picture of an LSTM's run over one text."""
    layers, _, units = found.vectors["hidden"].shape
    before = (f"{gate}_pre" for gate in ("input", "forget", "output", "candidate"))
    vectors = {name: found.vectors[name] for name in (*VECTORS, *before)}
    nodes, operations = graph(layers, bool(found.weights))
    properties: dict[str, Any] = {
        "title": title or found.title,
        "subtitle": f"LSTM of {layers} {'layer' if layers == 1 else 'layers'}, {units} units · "
        f"{found.vocabulary:,} words of {vectors['embedding'].shape[1]} dimensions",
        "model": "lstm",
        "tokens": list(found.tokens),
        "start": found.start,
        "words": list(found.words),
        "vocabulary": found.vocabulary,
        "layers": layers,
        "axes": {name: list(found.axes[name]) for name in vectors},
        "nodes": nodes,
        "operations": operations,
        "alarms": [dict(one) for one in found.alarms],
        "quality": quality(
            found,
            "Largest difference, over all gates, units and steps, between a pre-activation and the "
            "sum of its summands and bias.",
        ),
        "notes": list(found.remarks),
    }
    return View("flow", properties, {**vectors, **found.arrays, **found.weights})


def refuse_long_lstm(steps: int, layers: int, units: int) -> None:
    """Refuse a prompt whose page would be too large."""
    refuse_long(steps, lambda n: 5.3 * n * layers * units * (len(SHOWN) + 4))


def graph(layers: int, with_predictions: bool = True) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
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
        level = {"layer": layer}
        node(
            name("cell_before"),
            "cell before",
            "vector",
            (left, 0),
            array="cell",
            before="cell_before",
            **level,
        )
        node(
            name("hidden_before"),
            "hidden before",
            "vector",
            (left, 3),
            array="hidden",
            before="hidden_before",
            **level,
        )
        for at, gate in enumerate(("forget", "input", "candidate", "output")):
            block = ("input", "forget", "candidate", "output").index(gate)
            node(name(f"{gate}_pre"), f"{gate} pre-activation", "pre", None, array=f"{gate}_pre", **level)
            label = gate if gate == "candidate" else f"{gate} gate"
            kind = "vector" if gate == "candidate" else "gate"
            node(name(gate), label, kind, (left + 1, at), array=gate, **level)
            product = {"block": block, "bias": f"bias_{layer}"} if with_predictions else {"block": block}
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
            **level,
        )
        operation("product", name("forget_product"), {"node": name("cell_before")}, {"node": name("forget")})
        node(
            name("remember_product"),
            "added to the cell",
            "vector",
            (left + 2, 1.5),
            array="remember_product",
            **level,
        )
        operation("product", name("remember_product"), {"node": name("candidate")}, {"node": name("input")})
        node(name("cell"), "cell", "vector", (left + 3, 0.75), array="cell", **level)
        operation("sum", name("cell"), {"node": name("forget_product")}, {"node": name("remember_product")})
        node(name("cell_tanh"), "tanh of the cell", "vector", (left + 4, 0.75), array="cell_tanh", **level)
        operation("tanh", name("cell_tanh"), {"node": name("cell")})
        node(name("hidden"), "hidden", "vector", (left + 5, 1.5), array="hidden", **level)
        operation("product", name("hidden"), {"node": name("cell_tanh")}, {"node": name("output")})
        below = name("hidden")
    node("logits", "logits", "pre", None)
    node("softmax", "next word", "words", (5 * layers + 1, 1.5))
    operation("matrix", "logits", {"node": below, "weights": "decoder"}, bias="decoder_bias", block=0)
    operation("softmax", "softmax", {"node": "logits"})
    return nodes, operations
