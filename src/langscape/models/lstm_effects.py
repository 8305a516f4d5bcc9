"""What an LSTM's next word owes to its gates, its units and the words it read, measured by running it again.

A word is skipped, as if the text did not hold it; or a gate is held at a value for one step, and the network
runs on from there:

    nothing written     the input gates are shut (0) at a word, so that it writes nothing into any cell
    nothing kept        the forget gates are shut at the step that predicts
    nothing added       the input gates are shut there
    everything shown    the output gates are open (1) there
    a unit forgotten    the forget gate of one unit is shut there

Each gives chances of next words that can be set beside the model's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.data import Capture
from langscape.models.lstm import GATES, sigmoid

HELD = (("forget", 0.0), ("input", 0.0), ("output", 1.0))
"""The gates that are held at the step that predicts, in all layers, and at what."""

BACK, STEPS = 24, 64
"""Words back from a prediction that are tried in turn, and how many predictions, the last, are measured."""

PRODUCTS = 4e10
"""Multiplications with the decoder that the measurement may take: of a large model fewer predictions are
measured, but always the last."""

_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class MemoryEffects:
    """Chances of next words with one thing held, at the last `steps` predictions of a text.

    Each is a triple: the chances (step, …, word) of the words that were asked for, and of the word that then
    comes first its id and its chance (step, …).

    skipped (step, back): the word so many steps back is not read, 0 is the word just read; NaN and −1 before
            the text began
    unwritten  (step, back): that word is read, and writes nothing
    gates   (step, `HELD`): the gates are held in all layers
    units   (step, word): of all units the one whose forgetting costs the word most chance; `unit` (step,
            word) is its number, counted through the layers
    """

    skipped: tuple[np.ndarray, np.ndarray, np.ndarray]
    unwritten: tuple[np.ndarray, np.ndarray, np.ndarray]
    gates: tuple[np.ndarray, np.ndarray, np.ndarray]
    unit: np.ndarray
    units: tuple[np.ndarray, np.ndarray, np.ndarray]


def memory_effects(weights: Mapping[str, Any], seen: Capture, words: np.ndarray) -> MemoryEffects:
    """Chances of `words` (step, word), ids of next words at every step of the text, with one thing held."""
    network = _Network(weights)
    states = _states(seen)
    total = len(words)
    units = network.layers * network.units
    products = units * len(network.decoder_bias) * network.units
    measured = min(total, STEPS, max(1, int(PRODUCTS / products)))
    first = total - measured
    return MemoryEffects(
        _without_words(network, seen, states, words, first, skip=True),
        _without_words(network, seen, states, words, first, skip=False),
        _with_gates(network, seen, states, words, first),
        *_without_units(network, seen, states, words, first),
    )


class _Network:
    """The weights of an LSTM in double precision, and one step of many runs at once."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
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

        held has values for gates by their names, (layer, row, unit) or what spreads to it, NaN where a gate
        is left to itself.
        """
        hiddens, cells = np.empty_like(hidden), np.empty_like(cell)
        for layer, (given, again, bias) in enumerate(self.own):
            pre = x @ given.T + hidden[layer] @ again.T + bias
            gates = dict(zip(GATES, np.split(pre, 4, axis=-1), strict=True))
            now = {name: np.tanh(one) if name == "candidate" else sigmoid(one) for name, one in gates.items()}
            for name, value in (held or {}).items():
                here = value[layer]
                now[name] = np.where(np.isnan(here), now[name], here)
            cells[layer] = now["forget"] * cell[layer] + now["input"] * now["candidate"]
            hiddens[layer] = x = now["output"] * np.tanh(cells[layer])
        return hiddens, cells

    def chances(self, hidden: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Chances of words (row, word) after hidden vectors (row, unit) of the last layer; the first word."""
        chances = np.empty(words.shape, np.float32)
        first, best = np.empty(len(words), np.int32), np.empty(len(words), np.float32)
        rows = max(1, _AT_ONCE // len(self.decoder_bias))
        for at in range(0, len(words), rows):
            part = slice(at, at + rows)
            logits = hidden[part] @ self.decoder.T + self.decoder_bias
            shares = np.exp(logits - logits.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            chances[part] = np.take_along_axis(shares, words[part], -1)
            first[part] = shares.argmax(-1)
            best[part] = shares.max(-1)
        return chances, first, best


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
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every word skipped, or read without writing, all in one batch: after k steps each run is k words on."""
    total, measured = len(words), len(words) - first
    back = min(BACK, total)
    chances = np.full((measured, back, words.shape[1]), np.nan, np.float32)
    best = np.full((measured, back), -1, np.int32)
    best_chances = np.full((measured, back), np.nan, np.float32)
    start = max(0, first - back + 1)
    hidden, cell = (one[:, start:] for one in states)
    shut = {"input": np.zeros((network.layers, 1, 1))}
    for k in range(back):
        reads = seen["embedding"][start + k :].astype(np.float64)
        hidden, cell = (one[:, : len(reads)] for one in (hidden, cell))
        if k or not skip:
            hidden, cell = network.advance(reads, hidden, cell, None if k else shut)
        steps = np.arange(start + k, total)
        told = steps >= first
        found = network.chances(hidden[-1][told], words[steps[told]])
        for array, values in zip((chances, best, best_chances), found, strict=True):
            array[steps[told] - first, k] = values
    return chances, best, best_chances


def _with_gates(
    network: _Network, seen: Capture, states: tuple[np.ndarray, np.ndarray], words: np.ndarray, first: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    reads = seen["embedding"][first:].astype(np.float64)
    hidden, cell = (one[:, first:] for one in states)
    found = [
        network.chances(
            network.advance(reads, hidden, cell, {gate: np.full((network.layers, 1, 1), value)})[0][-1],
            words[first:],
        )
        for gate, value in HELD
    ]
    chances, best, best_chances = (np.stack(parts, axis=1) for parts in zip(*found, strict=True))
    return chances, best, best_chances


def _without_units(
    network: _Network, seen: Capture, states: tuple[np.ndarray, np.ndarray], words: np.ndarray, first: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    count = network.layers * network.units
    # row r forgets unit r, counted through the layers
    forgets = np.where(np.eye(count, dtype=bool), 0.0, np.nan)
    held = {"forget": forgets.reshape(count, network.layers, network.units).transpose(1, 0, 2)}
    unit, chances, best, best_chances = [], [], [], []
    for step in range(first, len(words)):
        reads = np.broadcast_to(
            seen["embedding"][step].astype(np.float64), (count, seen["embedding"].shape[1])
        )
        hidden, cell = (
            np.broadcast_to(one[:, step, None], (network.layers, count, network.units)) for one in states
        )
        after, _ = network.advance(reads, np.array(hidden), np.array(cell), held)
        found, then, with_chance = network.chances(
            after[-1], np.broadcast_to(words[step], (count, words.shape[1]))
        )
        worst = found.argmin(0)
        unit.append(worst)
        chances.append(found.min(0))
        best.append(then[worst])
        best_chances.append(with_chance[worst])
    return np.stack(unit).astype(np.int32), (np.stack(chances), np.stack(best), np.stack(best_chances))
