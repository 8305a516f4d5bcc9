"""The flow of an LSTM or a GRU: its graph, its vectors at every step, and the weights that join them."""

from __future__ import annotations

from typing import Any

from langscape.data import Flow, View
from langscape.views.flow import quality, refuse_long

_LSTM = ("forget", "input", "candidate", "output", "forget_product", "remember_product")
_GRU = ("update", "reset", "recalled", "reset_product", "candidate", "write")
_GRU = (*_GRU, "keep_product", "write_product")
VECTORS = {
    "lstm": ("embedding", *_LSTM, "cell", "cell_tanh", "hidden", "cell_before", "hidden_before"),
    "gru": ("embedding", *_GRU, "hidden", "hidden_before"),
}
"""The vectors that have words and a colour, by the kind of model."""

GATES = {"lstm": ("input", "forget", "output"), "gru": ("reset", "update", "write")}
"""What is plain unless a reader asks for colours."""

LETTERS = {
    "lstm": {
        "embedding": "x", "cell_before": "c_t−1", "hidden_before": "h_t−1", "forget": "f", "input": "i",
        "candidate": "g", "output": "o", "forget_product": "f × c_t−1", "remember_product": "i × g",
        "cell": "c", "hidden": "h",
    },
    "gru": {
        "embedding": "x", "hidden_before": "h_t−1", "reset": "r", "update": "z", "candidate": "n",
        "keep_product": "z × h_t−1", "write_product": "(1 − z) × n", "hidden": "h",
    },
}  # fmt: skip
"""The field's letters of vectors, as torch's documentation has them; what follows a low line is set below."""

_BEFORE_CURVE = {
    "lstm": ("input_pre", "forget_pre", "output_pre", "candidate_pre"),
    "gru": ("reset_pre", "update_pre", "candidate_pre"),
}

WEIGHTS = 10_000_000
"""Bytes of weights that a page takes; larger models are shown without the summands of their matrices."""


def lstm_flow(found: Flow, *, title: str | None = None) -> View:
    """The picture of an LSTM's or a GRU's run over one text."""
    layers, _, units = found.vectors["hidden"].shape
    names = (*VECTORS[found.kind], *_BEFORE_CURVE[found.kind])
    vectors = {name: found.vectors[name] for name in names}
    nodes, operations = graph(layers, bool(found.weights), found.kind)
    properties: dict[str, Any] = {
        "title": title or found.title,
        "subtitle": f"{found.kind.upper()} of {layers} {'layer' if layers == 1 else 'layers'}, "
        f"{units} units · "
        f"{found.vocabulary:,} words of {vectors['embedding'].shape[1]} dimensions",
        "model": found.kind,
        "tokens": list(found.tokens),
        "start": found.start,
        "unknown": list(found.unknown),
        "unread": _unread(found),
        "words": list(found.words),
        "vocabulary": found.vocabulary,
        "layers": layers,
        "axes": {name: list(found.axes[name]) for name in vectors},
        "nodes": nodes,
        "operations": operations,
        "alarms": [dict(one) for one in found.alarms],
        "quality": quality(
            found,
            "Before its curve, every value of a gate is a sum: weight × value for each input, and a bias. "
            "The page adds them up again; this is the largest difference, over all gates, units and steps, "
            "from what the model computed.",
        ),
        "notes": list(found.remarks),
        "usual": dict(found.usual),
    }
    return View("flow", properties, {**vectors, **found.arrays, **found.weights})


def _unread(found: Flow) -> str:
    """Why some words of the text are not among the tokens; empty where all are."""
    said = list(dict.fromkeys(filter(None, found.unknown)))
    if not said:
        return ""
    read = found.tokens[next(at for at, one in enumerate(found.unknown) if one)]
    words = ", ".join(f"“{one}”" for one in said)
    are = "is" if len(said) == 1 else "are"
    return (
        f"{words} {are} not among the {found.vocabulary:,} words that the model knows: it reads {read} "
        "instead, which stands for every word that it does not know"
    )


def refuse_long_lstm(steps: int, layers: int, units: int) -> None:
    """Refuse a prompt whose page would be too large."""
    refuse_long(steps, lambda n: 5.3 * n * layers * units * 13)


class _Graph:
    """A graph as it is drawn up: nodes with their places, and the operations between them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.nodes: list[dict[str, Any]] = []
        self.operations: list[dict[str, Any]] = []

    def node(self, id: str, label: str, kind: str, place: tuple[float, float] | None, **more: Any) -> None:
        """A vector; without a place it is gone through."""
        at = {} if place is None else {"column": place[0], "row": place[1]}
        letter = LETTERS[self.kind].get(id.rpartition(".")[2]) if place else None
        more |= {} if letter is None else {"letter": letter}
        self.nodes.append({"id": id, "label": label, "kind": kind, **at, **more})

    def operation(self, kind: str, to: str, *inputs: dict[str, Any], **more: Any) -> None:
        """What makes a node; `main` is the input that its change is measured from."""
        main = more.pop("main", inputs[0]["node"])
        self.operations.append({"kind": kind, "to": to, "main": main, "inputs": list(inputs), **more})

    def end(self, below: str, column: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The next words, and the whole."""
        self.node("logits", "logits", "pre", None)
        self.node("softmax", "next word", "words", (column, 1.5))
        self.operation(
            "matrix", "logits", {"node": below, "weights": "decoder"}, bias="decoder_bias", block=0
        )
        self.operation("softmax", "softmax", {"node": "logits"})
        return self.nodes, self.operations


def graph(
    layers: int, with_predictions: bool = True, kind: str = "lstm"
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes with their places, columns to the right and rows down, and the operations between them.

    Pre-activations have no place: the graph shows what they become, and the page goes through them.
    """
    return _gru_graph(layers, with_predictions) if kind == "gru" else _lstm_graph(layers, with_predictions)


def _gru_graph(layers: int, with_weights: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    drawn = _Graph("gru")
    node, operation = drawn.node, drawn.operation
    node("embedding", "word", "vector", (0, 2.5), array="embedding")
    below = "embedding"
    for layer in range(layers):
        left = 5 * layer
        name = f"l{layer}.".__add__
        level = {"layer": layer}
        before = {"array": "hidden", "before": "hidden_before", **level}
        node(name("hidden_before"), "hidden before", "vector", (left, 0), **before)
        state = {"node": name("hidden_before"), "weights": f"hidden_weights_{layer}"}
        for block, (gate, row) in enumerate((("reset", 1), ("update", 0))):
            node(name(f"{gate}_pre"), f"{gate} before σ", "pre", None, array=f"{gate}_pre", **level)
            node(name(gate), f"{gate} gate", "gate", (left + 1, row), array=gate, **level)
            bias = {"bias": f"bias_{layer}", "second_bias": f"hidden_bias_{layer}"} if with_weights else {}
            given = {"node": below, "weights": f"input_weights_{layer}"}
            operation(
                "matrix", name(f"{gate}_pre"), given, state, main=name("hidden_before"), block=block, **bias
            )
            operation("sigmoid", name(gate), {"node": name(f"{gate}_pre")})
        node(name("recalled"), "recalled state", "vector", (left + 1, 2), array="recalled", **level)
        bias = {"bias": f"hidden_bias_{layer}"} if with_weights else {}
        operation("matrix", name("recalled"), state, block=2, **bias)
        node(name("keep_product"), "kept", "vector", (left + 2, 0), array="keep_product", **level)
        operation("product", name("keep_product"), {"node": name("hidden_before")}, {"node": name("update")})
        node(
            name("reset_product"),
            "read of the state",
            "vector",
            (left + 2, 2),
            array="reset_product",
            **level,
        )
        operation("product", name("reset_product"), {"node": name("recalled")}, {"node": name("reset")})
        node(name("write"), "1 − update", "gate", (left + 2, 1), array="write", **level)
        operation("complement", name("write"), {"node": name("update")})
        node(name("candidate_pre"), "candidate before tanh", "pre", None, array="candidate_pre", **level)
        node(name("candidate"), "candidate", "vector", (left + 3, 2), array="candidate", **level)
        bias = {"bias": f"bias_{layer}"} if with_weights else {}
        operation(
            "matrix", name("candidate_pre"), {"node": below, "weights": f"input_weights_{layer}"},
            {"node": name("reset_product")}, main=name("reset_product"), block=2, **bias,
        )  # fmt: skip
        operation("tanh", name("candidate"), {"node": name("candidate_pre")})
        node(name("write_product"), "added", "vector", (left + 4, 1.5), array="write_product", **level)
        operation("product", name("write_product"), {"node": name("candidate")}, {"node": name("write")})
        node(name("hidden"), "hidden", "vector", (left + 5, 1), array="hidden", **level)
        operation("sum", name("hidden"), {"node": name("keep_product")}, {"node": name("write_product")})
        below = name("hidden")
    return drawn.end(below, 5 * layers + 1)


def _lstm_graph(layers: int, with_predictions: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    drawn = _Graph("lstm")
    node, operation = drawn.node, drawn.operation
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
            curve = "tanh" if gate == "candidate" else "σ"
            node(name(f"{gate}_pre"), f"{gate} before {curve}", "pre", None, array=f"{gate}_pre", **level)
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
    return drawn.end(below, 5 * layers + 1)
