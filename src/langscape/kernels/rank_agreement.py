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

    Distances as near to each other as float32 less the digits that number n places, 1 part in 16,000
    among a thousand, count as ties. NaN where all distances of a row are equal.
    """
    places = max((first.shape[1] - 1).bit_length(), 1)
    return _correlations(_sorted(first, places), _sorted(second, places), np.uint32(places))


def _sorted(distances: np.ndarray, places: int) -> np.ndarray:
    """Each row's distances in order, as numbers that carry the place they came from in their lowest bits.

    Bits of floats that are not negative order as the floats do, and whole numbers sort many times faster
    than an index. The sign, which is 0, makes room for one bit.
    """
    keys = np.array(distances, np.float32).view(np.uint32)
    keys >>= np.uint32(places - 1)
    keys <<= np.uint32(places)
    keys |= np.arange(distances.shape[1], dtype=np.uint32)
    keys.sort(axis=1)
    return keys


@njit(**FAST)
def _correlations(first, second, places):
    m, n = first.shape
    out = np.empty(m)
    a = np.empty(n, np.float32)
    b = np.empty(n, np.float32)
    for i in range(m):
        _ranks(first[i], places, a)
        _ranks(second[i], places, b)
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
def _ranks(keys, places, out):
    """Ranks less their mean, by place; equal values share the mean of their ranks."""
    n = np.uint64(keys.size)
    middle = np.float32((keys.size - 1) / 2.0)
    place = (np.uint32(1) << places) - np.uint32(1)
    start = np.uint64(0)
    while start < n:
        stop = start + np.uint64(1)
        while stop < n and keys[stop] >> places == keys[start] >> places:
            stop += np.uint64(1)
        rank = np.float32(start + stop - np.uint64(1)) * np.float32(0.5) - middle
        for j in range(start, stop):
            out[keys[j] & place] = rank
        start = stop
