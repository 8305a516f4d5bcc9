"""An LSTM language model, whole: embedding, layers, projection to words; and every vector on the way.

For a word x of a text and a layer with the state (h, c) of the step before:

    input     i = σ(W_i x + U_i h + b_i)        how much of the candidate is remembered
    forget    f = σ(W_f x + U_f h + b_f)        how much of the cell is kept
    candidate g = tanh(W_g x + U_g h + b_g)     what could be remembered
    output    o = σ(W_o x + U_o h + b_o)        how much of the cell is shown
    cell      c ← f·c + i·g                     forget product + remember product
    hidden    h ← o·tanh(c)                     the input of the next layer

The last layer's h gives a logit per word, D h + d, and softmax a probability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from langscape.errors import SettingsError
from langscape.models.model import Model

GATES = ("input", "forget", "candidate", "output")
"""The four blocks of rows in a layer's weights and bias, in torch's order."""

LAYERED = (
    *(f"{gate}_pre" for gate in GATES), *GATES,
    "forget_product", "remember_product", "cell", "cell_tanh", "hidden",
)  # fmt: skip
AXES: dict[str, tuple[str, ...]] = {
    "embedding": ("step", "dim"),
    **dict.fromkeys(LAYERED, ("layer", "step", "unit")),
    "cell_before": ("layer", "unit"),
    "hidden_before": ("layer", "unit"),
    "logits": ("step", "word"),
    "softmax": ("step", "word"),
}


class Network(torch.nn.Module):
    """Embedding, LSTM and decoder; the part that learns.

    `tied` makes the decoder's matrix the embedding itself, so that a hidden vector is compared with
    words where the words are.
    """

    def __init__(self, words: int, dim: int, hidden: int, layers: int, *, tied: bool = False) -> None:
        super().__init__()
        if tied and dim != hidden:
            raise SettingsError(
                f"tied needs equal widths, but dim is {dim} and hidden {hidden}; make them equal, or untie"
            )
        self.embedding = torch.nn.Embedding(words, dim)
        self.lstm = torch.nn.LSTM(dim, hidden, layers, batch_first=True)
        self.decoder = torch.nn.Linear(hidden, words)
        if tied:
            self.decoder.weight = self.embedding.weight

    @classmethod
    def of(cls, embedding: Any, lstm: Any, decoder: Any) -> Network:
        """Parts that exist already, joined; nothing is copied."""
        network = cls.__new__(cls)
        torch.nn.Module.__init__(network)
        network.embedding, network.lstm, network.decoder = embedding, lstm, decoder
        return network

    @property
    def tied(self) -> bool:
        """Whether the decoder's matrix is the embedding."""
        return self.decoder.weight is self.embedding.weight

    def forward(self, ids: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Logits (text, step, word) of word numbers (text, step), and the state afterwards."""
        hidden, state = self.lstm(self.embedding(ids), state)
        return self.decoder(hidden), state


@dataclass(frozen=True, eq=False, repr=False)
class LSTMModel(Model):
    """An LSTM language model that `capture` can run; `tokenizer` is its Vocabulary.

    baseline is a text of the kind that it was trained on, a sentence a line, with which its alarms compare;
    empty where there is none.
    """

    baseline: str = ""

    cell: ClassVar[str] = "LSTM"
    gates: ClassVar[tuple[str, ...]] = GATES
    layered: ClassVar[tuple[str, ...]] = LAYERED
    axes: ClassVar[Mapping[str, tuple[str, ...]]] = AXES
    states_kept: ClassVar[tuple[str, ...]] = ("cell", "hidden")

    def __repr__(self) -> str:
        units = "characters" if self.tokenizer.level == "char" else "words"
        return (
            f"{type(self).__name__}({self.name!r}, {len(self.words):,} {units}, {self.dim} dimensions, "
            f"{self.layers} {'layer' if self.layers == 1 else 'layers'} of {self.width} units)"
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary, in the order of rows."""
        return self.tokenizer.words

    @property
    def net(self) -> Network:
        """The network as what it is."""
        return self.network  # type: ignore[return-value]

    @property
    def device(self) -> torch.device:
        """Where its weights lie."""
        return self.net.embedding.weight.device

    @cached_property
    def layout(self) -> Any:
        """An error: there is no attention to be found."""
        raise SettingsError(
            f"{self.name} is {an(self.cell)} and has no attention heads; `langscape flow` shows its vectors"
        )

    @property
    def layers(self) -> int:
        """How many recurrent layers."""
        return self.net.lstm.num_layers

    @property
    def dim(self) -> int:
        """Width of a word's embedding."""
        return self.net.embedding.embedding_dim

    @property
    def width(self) -> int:
        """Units of a layer: width of its gates, cell and hidden vector."""
        return self.net.lstm.hidden_size

    @cached_property
    def longest(self) -> int | None:
        """None: only memory limits it."""
        return None

    @cached_property
    def vocabulary(self) -> int:
        """How many words there are."""
        return len(self.words)

    def weights(self) -> dict[str, Any]:
        """Every number that was learned, float32.

        embedding       (word, dim)
        input_weights   per layer (4·unit, in); rows in the order of `GATES`, a block each
        hidden_weights  per layer (4·unit, unit)
        bias            per layer (4·unit,)
        decoder         (word, unit), and decoder_bias (word,)
        """
        net = self.net
        per_layer: dict[str, list[np.ndarray]] = {"input_weights": [], "hidden_weights": [], "bias": []}
        for layer in range(self.layers):
            per_layer["input_weights"].append(numpy_of(getattr(net.lstm, f"weight_ih_l{layer}")))
            per_layer["hidden_weights"].append(numpy_of(getattr(net.lstm, f"weight_hh_l{layer}")))
            bias = np.zeros(4 * self.width)
            if net.lstm.bias:
                for part in ("ih", "hh"):
                    bias += numpy_of(getattr(net.lstm, f"bias_{part}_l{layer}"))
            per_layer["bias"].append(bias.astype(np.float32))
        decoder_bias = np.zeros(len(self.words), np.float32)
        if net.decoder.bias is not None:
            decoder_bias = numpy_of(net.decoder.bias)
        return {
            "embedding": numpy_of(net.embedding.weight),
            **{name: tuple(arrays) for name, arrays in per_layer.items()},
            "decoder": numpy_of(net.decoder.weight),
            "decoder_bias": decoder_bias,
        }

    def layer_weights(self, weights: Mapping[str, Any], layer: int) -> list[np.ndarray]:
        """What `step` takes of a layer, in double precision."""
        return [
            weights[name][layer].astype(np.float64) for name in ("input_weights", "hidden_weights", "bias")
        ]

    def step(
        self, now: dict[str, np.ndarray], weights: Sequence[np.ndarray], x: np.ndarray,
        before: Mapping[str, np.ndarray],
    ) -> None:  # fmt: skip
        """One layer, one step: fills `now` from the input and the state of the step before."""
        step(now, weights, x, before["hidden"], before["cell"])

    def states(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Cells and hidden vectors, (layer, step, unit), over word numbers, from nothing on."""
        with torch.no_grad():
            inputs = self.net.embedding(torch.as_tensor(np.asarray(ids, np.int64), device=self.device))
            cells, hiddens = [], []
            for layer in range(self.layers):
                cell, hidden = run_layer(self.net.lstm, layer, inputs.float())
                cells.append(numpy_of(cell))
                hiddens.append(numpy_of(hidden))
                inputs = hidden
        return {"cell": np.stack(cells), "hidden": np.stack(hiddens)}

    def untrained(self, seed: int = 0) -> LSTMModel:
        """A model of the same shape and words that has learned nothing."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = Network(len(self.words), self.dim, self.width, self.layers, tied=self.net.tied)
            if self.cell == "GRU":
                net.lstm = torch.nn.GRU(self.dim, self.width, self.layers, batch_first=True)  # type: ignore[assignment]
        net.requires_grad_(False).eval()
        return replace(self, network=net, name=f"untrained {self.name}", revision="")  # type: ignore[arg-type]

    def save(self, folder: str | Path, *, half: bool = False, about: Mapping[str, Any] | None = None) -> Path:
        """Write config.json and model.safetensors, which `open_model(folder)` reads; half is float16.

        `about` is kept in config.json: what it was trained on, and how well it does.
        """
        from langscape.models.lstm_file import save_lstm

        return save_lstm(self, Path(folder), half, about or {})


def step(
    now: dict[str, np.ndarray],
    weights: Sequence[np.ndarray],
    x: np.ndarray,
    hidden: np.ndarray,
    cell: np.ndarray,
) -> None:
    """One layer, one step: fills `now` from the input and the state of the step before.

    weights are the layer's input weights, hidden weights and bias.
    """
    input_weights, hidden_weights, bias = weights
    pre = input_weights @ x + hidden_weights @ hidden + bias
    for gate, part in zip(GATES, np.split(pre, 4), strict=True):
        now[f"{gate}_pre"][:] = part
        before = now[f"{gate}_pre"].astype(np.float64)
        now[gate][:] = np.tanh(before) if gate == "candidate" else sigmoid(before)
    now["forget_product"][:] = now["forget"] * cell
    now["remember_product"][:] = now["input"] * now["candidate"]
    now["cell"][:] = now["forget_product"] + now["remember_product"]
    now["cell_tanh"][:] = np.tanh(now["cell"].astype(np.float64))
    now["hidden"][:] = now["output"] * now["cell_tanh"]


def run_layer(lstm: torch.nn.LSTM, layer: int, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cells and hidden vectors (step, unit) of one layer over inputs (step, in), as torch has them."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if lstm.bias else ("weight_ih", "weight_hh")
    own = [getattr(lstm, f"{name}_l{layer}").float() for name in names]
    given = torch.nn.functional.linear(inputs, own[0], own[2] + own[3] if lstm.bias else None)
    hidden = cell = inputs.new_zeros(lstm.hidden_size)
    cells, hiddens = [], []
    for pre in given:
        i, f, g, o = (pre + own[1] @ hidden).chunk(4)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        cells.append(cell)
        hiddens.append(hidden)
    return torch.stack(cells), torch.stack(hiddens)


def an(name: str) -> str:
    """ "an LSTM", "a GRU"."""
    return f"{'an' if name[0] in 'AEFHILMNORSX' else 'a'} {name}"


def sigmoid(values: np.ndarray) -> np.ndarray:
    """1 / (1 + e^−x), without overflow at either end."""
    return 0.5 * (1 + np.tanh(0.5 * values))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis, float32."""
    shifted = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return (shifted / shifted.sum(-1, keepdims=True)).astype(np.float32)


def numpy_of(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's values as float32, copied."""
    return tensor.detach().float().cpu().numpy().copy()
