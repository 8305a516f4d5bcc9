"""Whether two heads look at the same tokens: how much of each token's attention goes elsewhere."""

from __future__ import annotations

import numpy as np

from langscape.errors import DataError
from langscape.metrics.null import LEAST_DRAWS, Null

NEAR = 8
"""Tokens of a decoder, one after the other, among which rows are dealt: they see nearly the same keys."""

_NUMBERS, _MOST_DRAWS = 60_000_000, 199


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
    """The mean of `attention_elsewhere` over these rows, with those of the second head dealt anew among them.

    Dealt heads park the same weight on the same keys, and no longer know which token asks. Of a decoder,
    whose tokens see different numbers of keys, rows are dealt among about 8 tokens one after the other. A
    token may get its own row: two heads as they are must be one of the deals, or chance is underrated.

    >>> same = np.eye(40)
    >>> elsewhere_by_chance(same, same, np.arange(40)).mean > 0.95
    True
    """
    rows = np.asarray(rows, np.intp)
    if len(rows) < 2:
        return Null(np.nan)
    one, other = (np.asarray(weights, np.float64) for weights in (first, second))  # as the value: ties count
    causal = not all(np.triu(weights, 1).any() for weights in (one, other))
    groups = np.array_split(rows, max(1, round(len(rows) / NEAR))) if causal else [rows]
    rng = np.random.default_rng(seed)
    means = []
    for _ in range(int(np.clip(_NUMBERS // one.size, LEAST_DRAWS, _MOST_DRAWS))):
        dealt = np.concatenate([rng.permutation(group) for group in groups])
        means.append(attention_elsewhere(one[rows], other[dealt]).mean())
    return Null.of(means)
