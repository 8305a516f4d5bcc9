"""Tallies of heads → means with intervals, and the roles that these are clear of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.io.codec import noun
from langscape.metrics.by_distance import explained
from langscape.metrics.head_tally import SCORES, TOLD, HeadTally
from langscape.metrics.roles import BEYOND, FEWEST, ROLES

CONFIDENCE = 0.95

NO, SOMETIMES, GIVEN = 0, 1, 2
"""What a role may be of a head: its interval is below the threshold, holds it, or is above."""


@noun
@dataclass(frozen=True, eq=False)
class Figures:
    """The mean of a score over texts, with its interval.

    mean, low, high  (heads,); NaN where no text gave an occasion
    texts            how many did
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    texts: int


@noun
@dataclass(frozen=True, eq=False)
class Judged:
    """A role, of every head.

    threshold  (heads,) the value that the interval must be clear of
    share      (heads,) the share of texts that alone would give the head the role; NaN where they cannot
    state      (heads,) NO, SOMETIMES or GIVEN
    """

    figures: Figures
    threshold: np.ndarray
    share: np.ndarray
    state: np.ndarray


def figures_of(count: Any, total: np.ndarray, square: np.ndarray) -> Figures:
    """Mean and Student's interval from the number of texts, the sum of a score and that of its squares.

    >>> found = figures_of(4, np.array([2.0]), np.array([1.5]))
    >>> found.mean.tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([0.5], [-0.15], [1.15])
    """
    from scipy.stats import t

    count = int(count)
    blank = np.full(np.shape(total), np.nan)
    if not count:
        return Figures(blank, blank, blank, 0)
    mean = total / count
    if count < 2:
        return Figures(mean, blank, blank, count)
    variance = np.maximum(square / count - mean**2, 0.0) * count / (count - 1)
    reach = t.ppf((1 + CONFIDENCE) / 2, count - 1) * np.sqrt(variance / count)
    return Figures(mean, mean - reach, mean + reach, count)


def score_figures(tally: HeadTally) -> dict[str, Figures]:
    """Every score of a tally: its mean over texts, with the interval."""
    return {
        name: figures_of(tally.counts[row], tally.totals[row], tally.squares[row])
        for row, name in enumerate(SCORES)
    }


def position_figures(folds: Sequence[HeadTally]) -> Figures:
    """How much of a head's weights distance alone explains, on texts that its mean was not made of.

    Each fold is judged by the mean weight by distance of all others; the interval is over folds.
    """
    some = [fold for fold in folds if fold.pairs.sum() > 0]
    heads = folds[0].totals.shape[1]
    if len(some) < 2:
        blank = np.full(heads, np.nan)
        return Figures(blank, blank, blank, 0)
    pairs, sums = sum(fold.pairs for fold in some), sum(fold.by_distance for fold in some)
    shares = []
    for fold in some:
        rest, left = sums - fold.by_distance, pairs - fold.pairs
        whole = rest.sum(axis=1, keepdims=True) / np.maximum(left.sum(), 1.0)
        # a distance that no other text has says nothing: the mean over all distances stands for it
        expected = np.where(left > 0, rest / np.maximum(left, 1.0), whole)
        shares.append(explained(fold.pairs, fold.by_distance, fold.square_weights, expected))
    stacked = np.stack(shares)
    return figures_of(len(stacked), stacked.sum(axis=0), (stacked**2).sum(axis=0))


def judge(folds: Sequence[HeadTally], probe: HeadTally | None = None) -> dict[str, Judged]:
    """Every role of every head, over the texts of all folds.

    probe are texts made for induction, random tokens that repeat; where there are some, induction is judged
    there.
    """
    if not folds:
        raise DataError("there are no texts to judge heads by")
    whole = folds[0]
    for fold in folds[1:]:
        whole = whole + fold
    found, even = score_figures(whole), _even(whole)
    tallies = dict.fromkeys(TOLD, whole)
    if probe is not None:
        tallies["induction"] = probe
        found["induction"], even["induction"] = score_figures(probe)["induction"], _even(probe)["induction"]
    found["by_position"], even["by_position"] = position_figures(folds), 0.0
    heads = whole.totals.shape[1]
    verdicts: dict[str, Judged] = {}
    for name, role in ROLES.items():
        one = found[role.score]
        least = np.full(heads, max(role.least, min(role.times * even[role.score], 0.9)))
        if name == "coreference-like" and found["to_names"].texts:
            least = np.maximum(least, BEYOND * found["to_names"].mean)
        share = np.full(heads, np.nan)
        if name in TOLD:
            row, of = TOLD.index(name), tallies[name]
            share = of.hits[row] / of.occasions[row] if of.occasions[row] else share
        fewest = 2 if name == "position-only" else FEWEST
        verdicts[name] = Judged(one, least, share, _state(one, least, fewest))
    return _apart(verdicts, found)


def names_of(judged: dict[str, Judged], state: int = GIVEN) -> list[list[str]]:
    """For each head the roles that it is given, or has sometimes."""
    heads = len(next(iter(judged.values())).state)
    return [[name for name, one in judged.items() if one.state[head] == state] for head in range(heads)]


def _even(tally: HeadTally) -> dict[str, float]:
    return {name: float(tally.even[row] / max(tally.counts[row], 1)) for row, name in enumerate(SCORES)}


def _state(one: Figures, least: np.ndarray, fewest: int) -> np.ndarray:
    state = np.full(len(least), NO, np.int8)
    if one.texts >= fewest:
        state[one.high >= least] = SOMETIMES
        state[one.low >= least] = GIVEN
    return state


def _apart(judged: dict[str, Judged], found: dict[str, Figures]) -> dict[str, Judged]:
    """Roles that include each other are said once.

    The places before, after and its own are local. A head that gives later places of the same token less than
    half of what it gives to earlier ones, as every head of a decoder does, looks back at duplicates. Where
    more than half is parked, distance says little of a head.
    """
    near = np.max([judged[name].state for name in ("previous-token", "next-token", "itself")], axis=0)
    back = np.nan_to_num(found["later_token"].mean) < found["duplicate_token"].mean / 2
    covered = {"local band": near >= GIVEN, "same-token": back, "duplicate-token": ~back}
    covered["position-only"] = found["parked"].mean > 0.5
    result = dict(judged)
    for name, where in covered.items():
        one = judged[name]
        result[name] = Judged(one.figures, one.threshold, one.share, np.where(where, np.int8(NO), one.state))
    return result
