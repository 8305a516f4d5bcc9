"""What is usual of an LSTM: its gates, cells, hidden units and surprises over a text of many sentences.

One prompt says little of a model: over ten steps a third of its units may stand still. What an alarm says is
compared with a run over a text, which is made once and kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from langscape.data.lstm_baseline import MEANS, LSTMBaseline
from langscape.errors import DataError
from langscape.metrics.lstm_units import unit_words

STEPS = 1500
"""Words of a text that are read."""

RANDOM = 600
"""Words, in random order, that are read where there is no text."""

PARTS = ("input", "forget", "candidate", "output")
"""Rows of the weights, a block each: three gates, and what could be remembered."""


def lstm_baseline(
    weights: Mapping[str, Any], ids: np.ndarray, text: str, *, starts: np.ndarray | None = None
) -> LSTMBaseline:
    """Read word numbers as one text and keep what is usual; see `LSTMModel.weights` for the weights.

    starts are the places where lines begin; without them the words are no text, and nothing is said of how
    well they are foretold.
    """
    ids = np.asarray(ids, np.int64)[: STEPS + 1]
    if len(ids) < 3:
        raise DataError(f"a baseline needs at least 3 words, and there are {len(ids)}; give a longer text")
    steps, layers = len(ids) - 1, len(weights["bias"])
    units = len(weights["bias"][0]) // 4
    gates = np.empty((len(PARTS), 3, layers, units), np.float32)
    hidden = np.empty((2, layers, units), np.float32)
    cells = np.empty((layers, units), np.float32)
    words = weights["embedding"][ids[:-1]].astype(np.float64)
    inputs = words
    for layer in range(layers):
        values, cell, inputs = read_layer(inputs, [weights[name][layer] for name in _NAMES], units)
        low, high = np.percentile(values, [1, 99], axis=0)
        for at in range(len(PARTS)):
            rows = slice(at * units, (at + 1) * units)
            gates[at, :, layer] = low[rows], values[:, rows].mean(0), high[rows]
        hidden[:, layer] = inputs.min(0), inputs.max(0)
        cells[layer] = np.abs(cell).max(0)
    read = _predicted(inputs, ids[1:], weights)
    mean = largest = float("nan")
    means = np.empty((len(MEANS), layers, units), np.float32)
    states = np.empty((2, layers, steps, units))
    begins = frozenset() if starts is None else frozenset(starts.tolist())
    for layer in range(layers):
        rows = [weights[name][layer] for name in _NAMES]
        values, cell, words = read_layer(words, rows, units, begins)
        each = dict(zip(PARTS, np.split(values, len(PARTS), axis=1), strict=True))
        each |= {"written": each["input"] * each["candidate"], "cell": cell}
        means[:, layer] = [each[name].mean(0) for name in MEANS]
        states[:, layer] = cell, words
    usual = np.percentile(states, [1, 99], axis=2)
    spread = states[0].std(1)
    off = np.abs(states[0] - states[0].mean(1, keepdims=True)) / np.maximum(spread, 1e-9)[:, None]
    median, most = np.percentile(off.max((0, 2)), [50, 95])
    told = unit_words(states[0], ids[:-1])
    if starts is not None:
        mean, largest = float(read.surprise.mean()), float(_predicted(words, ids[1:], weights).surprise.max())
    found = LSTMBaseline(
        text, steps, gates, hidden, cells, read.logits, (mean, largest), read.entropy,
        _counted(ids, len(weights["decoder"])), np.unique(ids[:-1]), means, usual, 0,
        spread.astype(np.float32), (float(median), float(most)), told.after, told.told,
    )  # fmt: skip
    return replace(found, outside=int(np.percentile(found.strays(*states), 99)))


_NAMES = ("input_weights", "hidden_weights", "bias")
_BLOCK = 128


def read_layer(
    inputs: np.ndarray, weights: Any, units: int, starts: Collection[int] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gates and candidate (step, 4·unit), cells and hidden values (step, unit) of one layer.

    At the steps of `starts` nothing is remembered of those before.
    """
    into, again, bias = (one.astype(np.float64) for one in weights)
    given = inputs @ into.T + bias
    values = np.empty_like(given)
    cells, hiddens = np.empty((len(given), units)), np.empty((len(given), units))
    candidate = slice(2 * units, 3 * units)
    hidden, cell = np.zeros(units), np.zeros(units)
    for step, pre in enumerate(given):
        if step in starts:
            hidden, cell = np.zeros(units), np.zeros(units)
        pre = pre + again @ hidden
        now = values[step]
        now[:] = 0.5 * (1 + np.tanh(0.5 * pre))
        now[candidate] = np.tanh(pre[candidate])
        cell = now[units : 2 * units] * cell + now[:units] * now[candidate]
        hidden = now[3 * units :] * np.tanh(cell)
        cells[step], hiddens[step] = cell, hidden
    return values, cells, hiddens


class _Predictions(NamedTuple):
    """The surprise of each next word, the mean entropy, and how far logits vary over steps and over words."""

    surprise: np.ndarray
    entropy: float
    logits: tuple[float, float]


def _predicted(hidden: np.ndarray, following: np.ndarray, weights: Mapping[str, Any]) -> _Predictions:
    decoder = weights["decoder"].astype(np.float32)
    bias = weights["decoder_bias"].astype(np.float32)
    surprise, entropies = np.empty(len(following)), np.empty(len(following))
    total, squares = np.zeros(len(decoder)), np.zeros(len(decoder))
    for at in range(0, len(hidden), _BLOCK):
        logits = (hidden[at : at + _BLOCK].astype(np.float32) @ decoder.T).astype(np.float64)
        total += logits.sum(0)
        squares += (logits * logits).sum(0)
        logits += bias
        logits -= logits.max(1, keepdims=True)
        chances = np.exp(logits)
        whole = chances.sum(1)
        rows = np.arange(len(logits))
        surprise[at : at + _BLOCK] = np.log(whole) - logits[rows, following[at : at + _BLOCK]]
        entropies[at : at + _BLOCK] = np.log(whole) - (chances * logits).sum(1) / whole
    means = total / len(hidden)
    variance = squares / len(hidden) - means**2
    spread = float(np.sqrt(np.maximum(variance, 0)).mean()), float((means + bias).std())
    return _Predictions(surprise, float(entropies.mean()), spread)


def _counted(ids: np.ndarray, words: int) -> float:
    """The mean surprise of add-one word counts: each half of the text from the other."""
    half = len(ids) // 2
    sums = 0.0
    for train, test in ((ids[:half], ids[half:]), (ids[half:], ids[:half])):
        counts = np.bincount(train, minlength=words) + 1.0
        sums -= float(np.log(counts[test] / counts.sum()).sum())
    return sums / len(ids)
