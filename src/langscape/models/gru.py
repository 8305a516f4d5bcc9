"""A GRU language model: as an LSTM's, with two gates and no cell.

For a word x of a text and a layer with the state h of the step before:

    reset     r = σ(W_r x + U_r h + b_r)                 how much of the state the candidate reads
    update    z = σ(W_z x + U_z h + b_z)                 how much of the state is kept
    recalled  a = U_n h + c_n                            what the candidate could read of the state
    candidate n = tanh(W_n x + b_n + r·a)                what could be remembered
    write     1 − z                                      how much of the candidate is remembered
    hidden    h ← z·h + (1 − z)·n                        keep product + write product

This is torch's GRU, and that of Keras with `reset_after`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from langscape.models.lstm import LSTMModel, numpy_of, sigmoid

GATES = ("reset", "update", "candidate")
"""The three blocks of rows in a layer's weights and biases, in torch's order."""

LAYERED = (
    "reset_pre", "update_pre", "candidate_pre", "reset", "update", "recalled", "reset_product", "candidate",
    "write", "keep_product", "write_product", "hidden",
)  # fmt: skip
AXES: dict[str, tuple[str, ...]] = {
    "embedding": ("step", "dim"),
    **dict.fromkeys(LAYERED, ("layer", "step", "unit")),
    "hidden_before": ("layer", "unit"),
    "logits": ("step", "word"),
    "softmax": ("step", "word"),
}


@dataclass(frozen=True, eq=False, repr=False)
class GRUModel(LSTMModel):
    """A GRU language model that `capture` can run; its weights have three blocks and a bias of their own for
    the state (`hidden_bias`)."""

    cell: ClassVar[str] = "GRU"
    gates: ClassVar[tuple[str, ...]] = GATES
    layered: ClassVar[tuple[str, ...]] = LAYERED
    axes: ClassVar[Mapping[str, tuple[str, ...]]] = AXES
    states_kept: ClassVar[tuple[str, ...]] = ("hidden",)

    def weights(self) -> dict[str, Any]:
        """As an LSTM's, blocks in the order of `GATES`; `bias` goes with the input, `hidden_bias` with h."""
        net = self.net
        per_layer: dict[str, list[np.ndarray]] = {
            "input_weights": [], "hidden_weights": [], "bias": [], "hidden_bias": [],
        }  # fmt: skip
        nothing = np.zeros(3 * self.width, np.float32)
        for layer in range(self.layers):
            per_layer["input_weights"].append(numpy_of(getattr(net.lstm, f"weight_ih_l{layer}")))
            per_layer["hidden_weights"].append(numpy_of(getattr(net.lstm, f"weight_hh_l{layer}")))
            for name, part in (("bias", "ih"), ("hidden_bias", "hh")):
                given = getattr(net.lstm, f"bias_{part}_l{layer}") if net.lstm.bias else None
                per_layer[name].append(nothing if given is None else numpy_of(given))
        bias = net.decoder.bias
        return {
            "embedding": numpy_of(net.embedding.weight),
            **{name: tuple(arrays) for name, arrays in per_layer.items()},
            "decoder": numpy_of(net.decoder.weight),
            "decoder_bias": np.zeros(len(self.words), np.float32) if bias is None else numpy_of(bias),
        }

    def layer_weights(self, weights: Mapping[str, Any], layer: int) -> list[np.ndarray]:
        """What `step` takes of a layer, in double precision."""
        names = ("input_weights", "hidden_weights", "bias", "hidden_bias")
        return [weights[name][layer].astype(np.float64) for name in names]

    def step(
        self, now: dict[str, np.ndarray], weights: Sequence[np.ndarray], x: np.ndarray,
        before: Mapping[str, np.ndarray],
    ) -> None:  # fmt: skip
        """One layer, one step: fills `now` from the input and the state of the step before."""
        input_weights, hidden_weights, bias, hidden_bias = weights
        hidden = before["hidden"]
        given = np.split(input_weights @ x + bias, 3)
        kept = np.split(hidden_weights @ hidden + hidden_bias, 3)
        for at, gate in enumerate(("reset", "update")):
            now[f"{gate}_pre"][:] = given[at] + kept[at]
            now[gate][:] = sigmoid(now[f"{gate}_pre"].astype(np.float64))
        now["recalled"][:] = kept[2]
        now["reset_product"][:] = now["reset"] * now["recalled"]
        now["candidate_pre"][:] = given[2] + now["reset_product"]
        now["candidate"][:] = np.tanh(now["candidate_pre"].astype(np.float64))
        now["write"][:] = 1 - now["update"]
        now["keep_product"][:] = now["update"] * hidden
        now["write_product"][:] = now["write"] * now["candidate"]
        now["hidden"][:] = now["keep_product"] + now["write_product"]

    def states(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Hidden vectors, (layer, step, unit), over word numbers, from nothing on."""
        weights = self.weights()
        inputs = weights["embedding"][np.asarray(ids, np.int64)].astype(np.float64)
        found = []
        for layer in range(self.layers):
            own = self.layer_weights(weights, layer)
            arrays = {name: np.zeros((len(inputs), self.width), np.float32) for name in LAYERED}
            hidden = np.zeros(self.width, np.float32)
            for at, x in enumerate(inputs):
                now = {name: array[at] for name, array in arrays.items()}
                self.step(now, own, x, {"hidden": hidden})
                hidden = now["hidden"]
            found.append(arrays["hidden"])
            inputs = arrays["hidden"].astype(np.float64)
        return {"hidden": np.stack(found)}
