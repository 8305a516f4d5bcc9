"""How far two spaces agree about single points: neighbours in common, order of distances."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from langscape.kernels.maths import FAST


@njit(**FAST)
def in_common(first, second):
    """For each row of two (m, k) lists of indices, how many stand in both."""
    m, k = first.shape
    shared = np.zeros(m, np.int64)
    for i in range(m):
        for a in range(k):
            for b in range(k):
                if first[i, a] == second[i, b]:
                    shared[i] += 1
                    break
    return shared


def rank_correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Spearman's ρ of each row of two (m, n) arrays of distances, ties ranked alike.

    NaN where all distances of a row are equal.
    """
    return _correlations(_sortable(first), _sortable(second))


def _sortable(distances: np.ndarray) -> np.ndarray:
    """Each row's distances in order, as numbers that carry the place they came from in their low half.

    Bits of floats that are not negative order as the floats do, and whole numbers sort many times faster
    than an index.
    """
    bits = np.ascontiguousarray(distances, np.float32).view(np.uint32).astype(np.uint64)
    bits <<= np.uint64(32)
    bits |= np.arange(distances.shape[1], dtype=np.uint64)
    bits.sort(axis=1)
    return bits


@njit(**FAST)
def _correlations(first, second):
    m, n = first.shape
    out = np.empty(m)
    a = np.empty(n)
    b = np.empty(n)
    for i in range(m):
        _ranks(first[i], a)
        _ranks(second[i], b)
        ab = 0.0
        aa = 0.0
        bb = 0.0
        for j in range(n):
            ab += a[j] * b[j]
            aa += a[j] * a[j]
            bb += b[j] * b[j]
        out[i] = ab / math.sqrt(aa * bb) if aa > 0.0 and bb > 0.0 else np.nan
    return out


@njit(**FAST)
def _ranks(keys, out):
    """Ranks less their mean, by place; equal values share the mean of their ranks."""
    n = keys.size
    middle = (n - 1) / 2.0
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and keys[stop] >> np.uint64(32) == keys[start] >> np.uint64(32):
            stop += 1
        for j in range(start, stop):
            out[np.int64(keys[j] & np.uint64(0xFFFFFFFF))] = (start + stop - 1) / 2.0 - middle
        start = stop
