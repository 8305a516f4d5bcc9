"""What is wrong with an LSTM, each in its place: read off its weights and its run over a text.

A fault has consequences: behind an output gate that is shut, nothing moves. Layers are looked at in the order
in which they read, and what follows from a fault that was found is not blamed on another part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.data.lstm_baseline import LSTMBaseline
from langscape.metrics.lstm_baseline import PARTS

STILL = 0.02
"""A gate whose values lie within this range over a text does not move."""

ASLEEP = 0.005
"""A hidden unit whose values lie within this range is dead."""

EXACT = 1e-4
"""The range of a gate that does not move at all."""

AT_END = 0.99
"""Of 1, the size from which on a candidate, or a gate seen from its middle, stands at its end."""

HALF = 0.5
"""The share of a layer's units from which on a gate is called stuck."""

NOTHING = 1e-3
"""A matrix or row so much smaller than its like carries nothing."""

GROWS = 0.5
"""A step adds at most 1 to a cell: one that gains this much with every word of a text grows without end."""

HARDLY = 0.6
"""Logits that vary over steps by less, of how far words differ whatever was read, hardly show what was."""

EVEN = 0.97
"""Of the entropy of an even chance: a model that expects as much has learned nothing."""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong.

    kind      "stuck", "dead", "grows", "deaf", "forgetful", "empty", "constant", "untrained",
              "wrong words" or "worse than counts"
    where     the vector of the graph that shows it, and its layer; −1 where there is none
    units     of that vector, or rows of the embedding
    number    what was measured, and `usual` what it is compared with
    text      what is wrong, in a sentence with both
    evidence  what it was measured on
    """

    kind: str
    where: str
    layer: int
    units: tuple[int, ...]
    number: float
    usual: float
    text: str
    evidence: str


def lstm_faults(weights: Mapping[str, Any], seen: LSTMBaseline, words: Sequence[str]) -> list[Fault]:
    """All faults of an LSTM, in the order in which it reads."""
    found = _rows(weights["embedding"], words)
    even = math.log(len(words))
    moves = np.ptp(seen.hidden, axis=0)
    size = float(np.linalg.norm(weights["decoder"]))
    told = size > 0 and seen.logits[0] > NOTHING * 0.1
    fixed = ((seen.gates[:, 2] - seen.gates[:, 0] < EXACT).mean(-1) >= HALF).any()
    if seen.entropy > EVEN * even and told and not fixed and (np.median(moves, axis=1) > 1e-4).all():
        text = (
            f"nothing has been learned: the model expects a surprise of {seen.entropy:.2f} nats, and an even "
            f"chance of {len(words):,} words has {even:.2f}"
        )
        return [*found, Fault("untrained", "softmax", -1, (), seen.entropy, even, text, seen.evidence)]
    stuck = False
    for layer in range(len(weights["bias"])):
        here = _layer(weights, seen, layer, stuck)
        found += here
        stuck = stuck or any(one.kind == "stuck" for one in here)
        if (moves[layer] < STILL).all():
            return found  # what comes behind has nothing to read
    if not told:
        text = (
            f"the decoder does not read the hidden vector: its weights have the length {size:.2g}, "
            f"and logits vary by {seen.logits[0]:.2g}, where those of a trained model vary by whole nats"
        )
        found.append(Fault("constant", "softmax", -1, (), seen.logits[0], 1.0, text, seen.evidence))
    elif not any(one.kind != "empty" or np.isin(one.units, seen.read).any() for one in found):
        # a word without a vector that stands in the text spoils its predictions; a row for padding does not
        found += _predictions(seen, len(words))
    return found


def _rows(embedding: np.ndarray, words: Sequence[str]) -> list[Fault]:
    """Words without a vector."""
    lengths = np.linalg.norm(embedding, axis=1)
    usual = float(np.median(lengths))
    empty = np.flatnonzero(lengths <= 0.02 * usual)
    if not len(empty):
        return []
    named = ", ".join(f"“{words[row]}”" for row in empty[:5]) + (" …" if len(empty) > 5 else "")
    one = len(empty) == 1
    text = (
        f"{named} {'has' if one else 'have'} no vector: "
        f"{'its length is' if one else 'their lengths are up to'} "
        f"{lengths[empty].max():.2g}, of others {usual:.2g}"
    )
    units = tuple(int(row) for row in empty)
    evidence = f"{len(empty):,} of {len(words):,} rows of the embedding"
    return [Fault("empty", "embedding", -1, units, float(lengths[empty].max()), usual, text, evidence)]


def _layer(weights: Mapping[str, Any], seen: LSTMBaseline, layer: int, below: bool) -> list[Fault]:
    """The faults of one layer; below says whether a gate of a layer below it is stuck."""
    into = float(np.linalg.norm(weights["input_weights"][layer]))
    again = float(np.linalg.norm(weights["hidden_weights"][layer]))
    found: list[Fault] = []
    if again <= NOTHING * into:
        text = (
            f"layer {layer}: the hidden vector of the step before is not read: its weights have the length "
            f"{again:.2g}, those of the input {into:.2g}"
        )
        found.append(
            Fault("forgetful", "hidden_before", layer, (), again, into, text, "read off the weights")
        )
    if into <= NOTHING * again:
        text = (
            f"layer {layer}: its input is not read: the weights have the length {into:.2g}, those of "
            f"the step before {again:.2g}"
        )
        found.append(Fault("deaf", "candidate", layer, (), into, again, text, "read off the weights"))
        return found
    stuck = _stuck(seen, layer, below)
    found += stuck
    largest = seen.cell[layer]
    grown = np.flatnonzero(largest > GROWS * seen.steps)
    if len(grown) and not stuck and not below:
        worst = int(grown[largest[grown].argmax()])
        usual = float(np.median(largest))
        text = (
            f"layer {layer}: the cell of {_counted(grown, len(largest))} grows without end: unit "
            f"{worst} reaches {largest[worst]:.3g}, the usual unit {usual:.2g}"
        )
        units = tuple(int(unit) for unit in grown)
        found.append(Fault("grows", "cell", layer, units, float(largest[worst]), usual, text, seen.evidence))
    moves = np.ptp(seen.hidden[:, layer], axis=0)
    dead = np.flatnonzero(moves < ASLEEP)
    if len(dead) and not stuck and not below:
        usual = float(np.median(moves))
        text = (
            f"layer {layer}: {_counted(dead, len(moves))} never "
            f"{'moves' if len(dead) == 1 else 'move'}: at most "
            f"{moves[dead].max():.2g} between lowest and highest hidden value, the usual unit {usual:.2g}"
        )
        units = tuple(int(unit) for unit in dead)
        number = float(moves[dead].max())
        found.append(Fault("dead", "hidden", layer, units, number, usual, text, seen.evidence))
    return found


def _stuck(seen: LSTMBaseline, layer: int, below: bool) -> list[Fault]:
    """Gates of which half or more of the units stand still.

    One that does not move at all drives others to their ends, where they move a little: where there is one,
    here or below, those are not blamed. Behind one below, nor are those that stand at their ends quite still.
    """
    found: list[Fault] = []
    exact: list[bool] = []
    ranges = seen.gates[:, 2, layer] - seen.gates[:, 0, layer]
    for at, part in enumerate(PARTS):
        still = np.flatnonzero(ranges[at] < STILL)
        if len(still) < HALF * ranges.shape[1]:
            continue
        value = float(np.median(seen.gates[at, 1, layer, still]))
        usual = float(np.median(np.delete(ranges, at, axis=0)))
        end = "" if part == "candidate" else " (always open)" if value > 0.95 else ""
        end = " (always closed)" if value < 0.05 and part != "candidate" else end
        name = part if part == "candidate" else f"{part} gate"
        text = (
            f"layer {layer}: the {name} stands still at {value:.2f}{end} in {len(still)} of "
            f"{ranges.shape[1]} "
            f"units: it varies by {float(ranges[at, still].max()):.2g}, the others by {usual:.2g}"
        )
        units = tuple(int(unit) for unit in still)
        number = float(ranges[at, still].max())
        found.append(Fault("stuck", part, layer, units, number, usual, text, seen.evidence))
        size = abs(value) if part == "candidate" else 2 * abs(value - 0.5)
        exact.append(bool((ranges[at] < EXACT).mean() >= HALF) and not (below and size > AT_END))
    whole = [one for one, fixed in zip(found, exact, strict=True) if fixed]
    return whole if whole or below else found


def _predictions(seen: LSTMBaseline, words: int) -> list[Fault]:
    """What is wrong with the next words where every part moves."""
    surprise, even = seen.surprise[0], math.log(words)
    if not surprise > seen.counts:  # a NaN as well: nothing is known
        return []
    over_steps, over_words = seen.logits
    same = over_steps < HARDLY * over_words
    if surprise > even + 1 and not same:
        text = (
            f"the model is sure of wrong words: a surprise of {surprise:.2f} nats where it expects "
            f"{seen.entropy:.2f}, and an even chance has {even:.2f}; its words may stand in another "
            "order than its rows"
        )
        return [Fault("wrong words", "softmax", -1, (), surprise, even, text, seen.evidence)]
    text = (
        f"next words are foretold worse than by word counts: a surprise of {surprise:.2f} nats, that "
        f"of counts is {seen.counts:.2f}"
    )
    if same:
        text += (
            f"; logits vary by {over_steps:.2g} with what was read, and from word to word by {over_words:.2g}"
        )
    return [Fault("worse than counts", "softmax", -1, (), surprise, seen.counts, text, seen.evidence)]


def _counted(which: np.ndarray, of: int) -> str:
    named = ", ".join(str(unit) for unit in which[:6]) + (" …" if len(which) > 6 else "")
    return f"{len(which)} of {of} hidden units ({named})"
