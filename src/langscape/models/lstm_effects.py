"""What an LSTM's next word owes to its gates, its units and the words it read, measured by running it again.

Either the network reads another text:

    a word is skipped   as if the text did not hold it
    a word alone        as if the text held nothing before it

or one thing is put to its mean over a text that is usual for the model (`LSTMBaseline.means`), each unit to
its own, and the network runs on from there:

    what a word writes  what is added to the cells (input · candidate) at a word
    a gate              all forget, input or output gates at the step that predicts
    a unit              the cell of one unit at that step

Gates that are shut or opened by force drive a model to where it never is, and what it says there is no reason
for what it says here. So a mean is taken, which lies within what each unit does; whether all of them together
do is counted (`LSTMBaseline.strays`). Each run gives chances of next words that can be set beside the
model's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from langscape.data import Capture
from langscape.data.lstm_baseline import MEANS, LSTMBaseline
from langscape.models.lstm import GATES, sigmoid

HELD = ("forget", "input", "output")
"""The gates that are put to their means at the step that predicts, in all layers."""

BACK, STEPS = 24, 64
"""Words back from a prediction that are tried in turn, and how many predictions, the last, are measured."""

PRODUCTS = 4e10
"""Multiplications with the decoder that the measurement may take: of a large model fewer predictions are
measured, but always the last."""

_AT_ONCE = 4_000_000


class Run(NamedTuple):
    """What the model says with one thing changed.

    chances  of the words that were asked for, (step, …, word)
    first    the word that then comes first, (step, …)
    chance   its chance, (step, …)
    strays   values of cells and hidden vectors outside of their usual ranges, (step, …)
    """

    chances: np.ndarray
    first: np.ndarray
    chance: np.ndarray
    strays: np.ndarray


@dataclass(frozen=True, eq=False)
class MemoryEffects:
    """Runs with one thing changed, at the last `steps` predictions of a text.

    skipped  (step, back): the word so many steps back is not read, 0 is the word just read; NaN and −1 before
             the text began
    written  (step, back): that word is read, and writes what is written in the mean
    alone    (step): nothing but the word just read is read, after the start word where there is one
    gates    (step, `HELD`): the gates are at their means in all layers
    units    (step, word): of all units the one whose cell, put to its mean, costs the word most chance;
             `unit` (step, word) is its number, counted through the layers
    """

    skipped: Run
    written: Run
    alone: Run
    gates: Run
    unit: np.ndarray
    units: Run


def memory_effects(
    weights: Mapping[str, Any], seen: Capture, words: np.ndarray, usual: LSTMBaseline
) -> MemoryEffects:
    """Runs for `words` (step, word), ids of next words at every step of the text, with one thing changed."""
    network = _Network(weights, usual)
    states = _states(seen)
    total = len(words)
    units = network.layers * network.units
    products = units * len(network.decoder_bias) * network.units
    measured = min(total, STEPS, max(1, int(PRODUCTS / products)))
    first = total - measured
    return MemoryEffects(
        _without_words(network, seen, states, words, first, skip=True),
        _without_words(network, seen, states, words, first, skip=False),
        _alone(network, seen, states, words, first),
        _with_gates(network, seen, states, words, first),
        *_without_units(network, seen, states, words, first),
    )


class _Network:
    """The weights of an LSTM in double precision, and one step of many runs at once."""

    def __init__(self, weights: Mapping[str, Any], usual: LSTMBaseline) -> None:
        self.usual = usual
        self.means = dict(zip(MEANS, usual.means.astype(np.float64)[:, :, None], strict=True))
        own = [weights[name] for name in ("input_weights", "hidden_weights", "bias")]
        self.own = [tuple(one[layer].astype(np.float64) for one in own) for layer in range(len(own[0]))]
        self.decoder = weights["decoder"].astype(np.float64)
        self.decoder_bias = weights["decoder_bias"].astype(np.float64)
        self.layers, self.units = len(self.own), self.decoder.shape[1]

    def advance(
        self,
        x: np.ndarray,
        hidden: np.ndarray,
        cell: np.ndarray,
        held: Mapping[str, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Hidden vectors and cells (layer, row, unit) after reading x (row, dim).

        held has values by the names of `MEANS`, (layer, row, unit) or what spreads to it, NaN where a unit is
        left to itself.
        """

        def put(name: str, layer: int, own: np.ndarray) -> np.ndarray:
            if held is None or name not in held:
                return own
            return np.where(np.isnan(held[name][layer]), own, held[name][layer])

        hiddens, cells = np.empty_like(hidden), np.empty_like(cell)
        for layer, (given, again, bias) in enumerate(self.own):
            pre = x @ given.T + hidden[layer] @ again.T + bias
            gates = dict(zip(GATES, np.split(pre, 4, axis=-1), strict=True))
            now = {name: sigmoid(one) for name, one in gates.items() if name != "candidate"}
            now = {name: put(name, layer, one) for name, one in now.items()}
            written = put("written", layer, now["input"] * np.tanh(gates["candidate"]))
            cells[layer] = put("cell", layer, now["forget"] * cell[layer] + written)
            hiddens[layer] = x = now["output"] * np.tanh(cells[layer])
        return hiddens, cells

    def run(self, hidden: np.ndarray, cell: np.ndarray, words: np.ndarray) -> Run:
        """What is said of words (row, word) after hidden vectors and cells (layer, row, unit)."""
        chances = np.empty(words.shape, np.float32)
        first, best = np.empty(len(words), np.int32), np.empty(len(words), np.float32)
        rows = max(1, _AT_ONCE // len(self.decoder_bias))
        for at in range(0, len(words), rows):
            part = slice(at, at + rows)
            logits = hidden[-1][part] @ self.decoder.T + self.decoder_bias
            shares = np.exp(logits - logits.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            chances[part] = np.take_along_axis(shares, words[part], -1)
            first[part] = shares.argmax(-1)
            best[part] = shares.max(-1)
        return Run(chances, first, best, self.usual.strays(cell, hidden))


def _states(seen: Capture) -> tuple[np.ndarray, np.ndarray]:
    """Hidden vectors and cells before every step, (layer, step, unit)."""
    before = []
    for name in ("hidden", "cell"):
        after = seen[name].astype(np.float64)
        before.append(np.concatenate([seen[f"{name}_before"][:, None], after[:, :-1]], axis=1))
    return before[0], before[1]


def _without_words(
    network: _Network,
    seen: Capture,
    states: tuple[np.ndarray, np.ndarray],
    words: np.ndarray,
    first: int,
    *,
    skip: bool,
) -> Run:
    """Every word skipped, or read with a mean write, in one batch: after k steps each run is k words on."""
    total, measured = len(words), len(words) - first
    back = min(BACK, total)
    found = Run(
        np.full((measured, back, words.shape[1]), np.nan, np.float32),
        np.full((measured, back), -1, np.int32),
        np.full((measured, back), np.nan, np.float32),
        np.zeros((measured, back), np.int32),
    )
    start = max(0, first - back + 1)
    hidden, cell = (one[:, start:] for one in states)
    mean = {"written": network.means["written"]}
    for k in range(back):
        reads = seen["embedding"][start + k :].astype(np.float64)
        hidden, cell = (one[:, : len(reads)] for one in (hidden, cell))
        if k or not skip:
            hidden, cell = network.advance(reads, hidden, cell, None if k else mean)
        steps = np.arange(start + k, total)
        told = steps >= first
        run = network.run(hidden[:, told], cell[:, told], words[steps[told]])
        for array, values in zip(found, run, strict=True):
            array[steps[told] - first, k] = values
    return found


def _alone(
    network: _Network, seen: Capture, states: tuple[np.ndarray, np.ndarray], words: np.ndarray, first: int
) -> Run:
    """Each word read as the first of its text; the start word itself is read as it is."""
    begin = 1 if seen.tokens.special[0] else 0
    at = np.minimum(np.arange(first, len(words)), begin)
    reads = seen["embedding"][first:].astype(np.float64)
    hidden, cell = (one[:, at] for one in states)
    return network.run(*network.advance(reads, hidden, cell), words[first:])


def _with_gates(
    network: _Network, seen: Capture, states: tuple[np.ndarray, np.ndarray], words: np.ndarray, first: int
) -> Run:
    reads = seen["embedding"][first:].astype(np.float64)
    hidden, cell = (one[:, first:] for one in states)
    found = [
        network.run(*network.advance(reads, hidden, cell, {gate: network.means[gate]}), words[first:])
        for gate in HELD
    ]
    return Run(*(np.stack(parts, axis=1) for parts in zip(*found, strict=True)))


def _without_units(
    network: _Network, seen: Capture, states: tuple[np.ndarray, np.ndarray], words: np.ndarray, first: int
) -> tuple[np.ndarray, Run]:
    count = network.layers * network.units
    # row r puts unit r, counted through the layers, to its mean
    which = np.eye(count, dtype=bool).reshape(count, network.layers, network.units).transpose(1, 0, 2)
    held = {"cell": np.where(which, network.means["cell"], np.nan)}
    unit, found = [], []
    for step in range(first, len(words)):
        reads = np.broadcast_to(
            seen["embedding"][step].astype(np.float64), (count, seen["embedding"].shape[1])
        )
        hidden, cell = (
            np.broadcast_to(one[:, step, None], (network.layers, count, network.units)) for one in states
        )
        after = network.advance(reads, np.array(hidden), np.array(cell), held)
        run = network.run(*after, np.broadcast_to(words[step], (count, words.shape[1])))
        worst = run.chances.argmin(0)
        unit.append(worst)
        found.append(Run(run.chances.min(0), *(one[worst] for one in run[1:])))
    return np.stack(unit).astype(np.int32), Run(*(np.stack(parts) for parts in zip(*found, strict=True)))
