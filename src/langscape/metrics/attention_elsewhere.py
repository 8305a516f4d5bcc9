"""Whether two heads look at the same tokens: how much of each token's attention goes elsewhere."""

from __future__ import annotations

import numpy as np

from langscape.errors import DataError
from langscape.metrics.null import LEAST_DRAWS, Null

_NUMBERS, _NUMBERS_CAUSAL, _MOST_DRAWS = 60_000_000, 6_000_000, 199
"""Weights that are dealt in all, which takes about half a second, and draws at most."""


def attention_elsewhere(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(query,) the share of each token's attention that the second head gives to other keys than the first.

    first, second  (query, key) weights over the same tokens; what a row lacks to 1 (a learned sink, or keys
                   that were not kept) counts as one more key

    It is half the sum of the absolute differences of a row, the total variation distance: 0 is the same
    attention, 1 has no key in common.

    >>> first, second = np.array([[1.0, 0], [0.5, 0.5]]), np.array([[0.0, 1], [0.25, 0.75]])
    >>> attention_elsewhere(first, second).tolist()
    [1.0, 0.25]
    """
    one, other = (np.asarray(weights, np.float64) for weights in (first, second))
    if one.shape != other.shape:
        raise DataError(f"attention of shapes {one.shape} and {other.shape}; expected the same tokens")
    difference = other - one
    return (np.abs(difference).sum(axis=-1) + np.abs(difference.sum(axis=-1))) / 2


def elsewhere_by_chance(first: np.ndarray, second: np.ndarray, rows: np.ndarray, seed: int = 0) -> Null:
    """The mean of `attention_elsewhere` over these rows, with the attention of the second head dealt anew.

    The rows of an encoder are dealt among the tokens: as much is parked on the same keys, and which token
    asks is chance. A row of a decoder fits no other token, which sees other keys: each row's weights are
    dealt among the keys that its token sees, but for what is parked on the first. Two heads as they are must
    be one of the deals, or chance is underrated: a token may get its own row.

    >>> far = np.roll(np.eye(40), 1, axis=1)
    >>> elsewhere_by_chance(far, far, np.arange(40)).mean > 0.95
    True
    """
    rows = np.asarray(rows, np.intp)
    if len(rows) < 2:
        return Null(np.nan)
    one, other = (np.asarray(weights, np.float64)[rows] for weights in (first, second))  # ties count
    hidden = np.arange(one.shape[1]) > rows[:, None]
    causal = not (one[hidden].any() or other[hidden].any())
    rng = np.random.default_rng(seed)
    means = []
    numbers = _NUMBERS_CAUSAL if causal else _NUMBERS
    for _ in range(int(np.clip(numbers // one.size, LEAST_DRAWS, _MOST_DRAWS))):
        dealt = _dealt_within(other, hidden, rng) if causal else other[rng.permutation(len(rows))]
        means.append(attention_elsewhere(one, dealt).mean())
    return Null.of(means)


def _dealt_within(weights: np.ndarray, hidden: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each row's weights dealt anew among the keys that are not hidden; the first stays where it is."""
    order = rng.random(weights.shape)
    order[:, 0] = -1.0
    order[hidden] = 2.0  # behind all others: what is hidden is 0 and stays so
    return np.take_along_axis(weights, np.argsort(order, axis=1), axis=1)
