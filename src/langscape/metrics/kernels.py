"""The loops behind the figures, compiled. Float64; every row is computed alone, in a fixed order.

So the number of threads, and how rows are shared among them, cannot change a bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

import langscape.kernels  # noqa: F401  where compiled code is kept is decided there

_TILE = 64
_DIGITS = 3
_BITS = 11  # three digits hold the 31 bits of a float32 that is not negative
_BINS = 1 << _BITS


# "contract" lets a multiplication and an addition fuse and nothing else: sums keep their order.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def squared_distances(columns: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Fill out[r, j] with the squared Euclidean distance of points rows[r] and j.

    columns is (dims, points); dims and the number of rows are multiples of 4, points of 64.
    Four rows at once read each column once: twice as fast as one by one.
    """
    dims, points = columns.shape
    for first in range(0, points, _TILE):
        for r in range(0, rows.size, 4):
            i0, i1, i2, i3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
            s0 = out[r, first : first + _TILE]
            s1 = out[r + 1, first : first + _TILE]
            s2 = out[r + 2, first : first + _TILE]
            s3 = out[r + 3, first : first + _TILE]
            for j in range(_TILE):
                s0[j] = 0.0
                s1[j] = 0.0
                s2[j] = 0.0
                s3[j] = 0.0
            for c in range(0, dims, 4):
                c1, c2, c3 = c + 1, c + 2, c + 3
                b0 = columns[c, first : first + _TILE]
                b1 = columns[c1, first : first + _TILE]
                b2 = columns[c2, first : first + _TILE]
                b3 = columns[c3, first : first + _TILE]
                a00, a01, a02, a03 = columns[c, i0], columns[c1, i0], columns[c2, i0], columns[c3, i0]
                a10, a11, a12, a13 = columns[c, i1], columns[c1, i1], columns[c2, i1], columns[c3, i1]
                a20, a21, a22, a23 = columns[c, i2], columns[c1, i2], columns[c2, i2], columns[c3, i2]
                a30, a31, a32, a33 = columns[c, i3], columns[c1, i3], columns[c2, i3], columns[c3, i3]
                for j in range(_TILE):
                    x0, x1, x2, x3 = b0[j], b1[j], b2[j], b3[j]
                    s0[j] = _four(s0[j], a00 - x0, a01 - x1, a02 - x2, a03 - x3)
                    s1[j] = _four(s1[j], a10 - x0, a11 - x1, a12 - x2, a13 - x3)
                    s2[j] = _four(s2[j], a20 - x0, a21 - x1, a22 - x2, a23 - x3)
                    s3[j] = _four(s3[j], a30 - x0, a31 - x1, a32 - x2, a33 - x3)


@njit(inline="always", fastmath={"contract"})
def _four(total: float, a: float, b: float, c: float, d: float) -> float:
    return total + a * a + b * b + c * c + d * d


@njit(cache=True, nogil=True, error_model="numpy")
def compare_rows(
    high: np.ndarray, low: np.ndarray, rows: np.ndarray, n: int, ranks: np.ndarray, correlations: np.ndarray
) -> None:
    """Compare two orders of the same n points around each point of `rows`.

    high and low are (rows, ≥ n) distances. ranks[r, t] becomes the place (0 is nearest) in
    the high space of the point that is t-th nearest in the low one; correlations[r] the
    Spearman correlation, ties sharing their mean rank, 0 where one of the two spaces has all
    others at one distance.
    """
    others = n - 1
    k = ranks.shape[1]
    order = np.empty(others, np.uint32)
    spare = np.empty(others, np.uint32)
    short = np.empty(others, np.uint32)
    spare_short = np.empty(others, np.uint32)
    values = np.empty(others)
    bins = np.empty((_DIGITS, _BINS), np.uint32)
    place = np.empty(n, np.uint32)
    shared = np.empty(n)
    middle = (others - 1) / 2.0
    for r in range(rows.size):
        _order(high[r], rows[r], n, order, spare, short, spare_short, values, bins)
        spread_high = 0.0
        first = 0
        while first < others:
            last = first + 1
            while last < others and values[last] == values[first]:
                last += 1
            rank = (first + last - 1) / 2.0 - middle
            for t in range(first, last):
                place[order[t]] = t
                shared[order[t]] = rank
            spread_high += rank * rank * (last - first)
            first = last
        _order(low[r], rows[r], n, order, spare, short, spare_short, values, bins)
        for t in range(k):
            ranks[r, t] = place[order[t]]
        spread_low = 0.0
        together = 0.0
        first = 0
        while first < others:
            last = first + 1
            while last < others and values[last] == values[first]:
                last += 1
            rank = (first + last - 1) / 2.0 - middle
            total = 0.0
            for t in range(first, last):
                total += shared[order[t]]
            together += rank * total
            spread_low += rank * rank * (last - first)
            first = last
        if spread_high > 0.0 and spread_low > 0.0:
            correlations[r] = together / np.sqrt(spread_high * spread_low)
        else:
            correlations[r] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _order(
    distances: np.ndarray,
    own: int,
    n: int,
    order: np.ndarray,
    spare: np.ndarray,
    short: np.ndarray,
    spare_short: np.ndarray,
    values: np.ndarray,
    bins: np.ndarray,
) -> None:
    """Fill `order` with all points but `own` by distance, equal ones by index, and `values` to match.

    A radix sort of the distances as float32, whose bits ascend with their value, then
    insertion where float64 tells more: a third of the time of a comparison sort.
    """
    others = n - 1
    mask = np.uint32(_BINS - 1)
    bins[:] = 0
    for i in range(others):
        j = i + (i >= own)
        bits = np.float32(distances[j]).view(np.uint32)
        short[i] = bits
        order[i] = j
        for digit in range(_DIGITS):
            bins[digit, (bits >> np.uint32(_BITS * digit)) & mask] += np.uint32(1)
    source, target, source_order, target_order = short, spare_short, order, spare
    for digit in range(_DIGITS):
        shift = np.uint32(_BITS * digit)
        counts = bins[digit]
        if counts[(source[0] >> shift) & mask] == others:
            continue
        before = np.uint32(0)
        for b in range(_BINS):
            count = counts[b]
            counts[b] = before
            before += count
        for i in range(others):
            bits = source[i]
            b = (bits >> shift) & mask
            goal = counts[b]
            counts[b] = goal + np.uint32(1)
            target[goal] = bits
            target_order[goal] = source_order[i]
        source, target = target, source
        source_order, target_order = target_order, source_order
    moves = 0
    for i in range(others):
        j = source_order[i]
        value = distances[j]
        t = i
        while t > 0 and values[t - 1] > value and moves <= 8 * n:
            values[t] = values[t - 1]
            order[t] = order[t - 1]
            t -= 1
            moves += 1
        values[t] = value
        order[t] = j
    if moves > 8 * n:
        # Distances that float32 cannot tell apart: sort them as they are.
        for i in range(others):
            values[i] = distances[i + (i >= own)]
        by_value = np.argsort(values, kind="mergesort")
        for i in range(others):
            order[i] = by_value[i] + (by_value[i] >= own)
        values[:] = distances[order]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def normaliser_rows(columns: np.ndarray, first: int, last: int, sums: np.ndarray) -> None:
    """Fill sums[i] with Σ_{j<i} 1/(1 + ‖y_i − y_j‖²), for i from first to last; columns is (dims, n)."""
    dims = columns.shape[0]
    x, y = columns[0], columns[min(1, dims - 1)]
    for i in range(first, last):
        total = 0.0
        if dims == 2:  # a loop of its own, three times as fast: most maps, and all large ones
            for j in range(i):
                u = x[i] - x[j]
                v = y[i] - y[j]
                total += 1.0 / (1.0 + u * u + v * v)
        else:
            for j in range(i):
                square = 0.0
                for c in range(dims):
                    u = columns[c, i] - columns[c, j]
                    square += u * u
                total += 1.0 / (1.0 + square)
        sums[i] = total


@njit(cache=True, nogil=True, error_model="numpy")
def dense_rows(P: np.ndarray, columns: np.ndarray, first: int, last: int, sums: np.ndarray) -> None:
    """Fill sums[i] with Σ_j p_ij (log p_ij + log(1 + ‖y_i − y_j‖²)) over p_ij > 0; P is (n, n)."""
    dims, n = columns.shape
    for i in range(first, last):
        total = 0.0
        for j in range(n):
            p = np.float64(P[i, j])
            if p > 0.0:
                square = 0.0
                for c in range(dims):
                    u = columns[c, i] - columns[c, j]
                    square += u * u
                total += p * (np.log(p) + np.log1p(square))
        sums[i] = total


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_rows(
    data: np.ndarray,
    indices: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
    first: int,
    last: int,
    sums: np.ndarray,
) -> None:
    """`dense_rows` for P in compressed sparse rows."""
    dims = columns.shape[0]
    for i in range(first, last):
        total = 0.0
        for entry in range(starts[i], starts[i + 1]):
            p = np.float64(data[entry])
            j = indices[entry]
            if p > 0.0:
                square = 0.0
                for c in range(dims):
                    u = columns[c, i] - columns[c, j]
                    square += u * u
                total += p * (np.log(p) + np.log1p(square))
        sums[i] = total
