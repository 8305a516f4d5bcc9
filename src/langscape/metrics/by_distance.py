"""Attention by distance: how much of a head's weights its position alone explains."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

REACH = 64
"""Distances up to this one are told apart; beyond it, those of one doubling are taken together."""

_ALIKE = 1e-9
_DOUBLINGS = 8
BUCKETS = 2 * (REACH + _DOUBLINGS) + 1
"""How many distances there are: to both sides, and none."""


@lru_cache(maxsize=64)
def distance_buckets(n: int) -> np.ndarray:
    """(query, key) the distance of each pair of n tokens as a number below `BUCKETS`; keys before come last.

    >>> distance_buckets(3) - BUCKETS // 2
    array([[ 0, -1, -2],
           [ 1,  0, -1],
           [ 2,  1,  0]])
    """
    place = np.arange(n)
    apart = place[:, None] - place[None, :]
    far = np.abs(apart)
    with np.errstate(divide="ignore"):
        doubled = np.floor(np.log2(np.maximum(far, 1) / (REACH + 1))).astype(int)
    steps = np.where(far <= REACH, far, REACH + 1 + np.minimum(doubled, _DOUBLINGS - 1))
    buckets = np.sign(apart) * steps + BUCKETS // 2
    buckets.flags.writeable = False
    return buckets


def explained(pairs: np.ndarray, sums: np.ndarray, squares: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """(heads,) the share of the weights' variance that a mean weight by distance, made elsewhere, explains.

    pairs     (buckets,) pairs of query and key by distance
    sums      (heads, buckets) their weights added up; squares (heads,) the sum of the squares of them all
    expected  (heads, buckets) the mean weight by distance of other texts

    >>> pairs, sums = np.array([2.0, 2.0]), np.array([[2.0, 0.0]])
    >>> explained(pairs, sums, np.array([2.0]), np.array([[1.0, 0.0]]))
    array([1.])
    """
    missed = squares - 2 * (expected * sums).sum(axis=1) + (expected**2 * pairs).sum(axis=1)
    whole = squares - sums.sum(axis=1) ** 2 / max(pairs.sum(), 1.0)
    # weights that are all alike vary by rounding alone: there is nothing to explain
    return np.where(whole > _ALIKE * pairs.sum(), 1 - missed / np.maximum(whole, 1e-300), 0.0)
