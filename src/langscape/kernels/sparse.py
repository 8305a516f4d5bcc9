"""Symmetrising affinities in one pass, dense in place and sparse by counting."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from langscape.kernels.maths import FAST


@njit(**FAST)
def symmetric_dense(P):
    """P ← P + Pᵀ in place, diagonal 0; returns the sum in float64."""
    n = P.shape[0]
    total = 0.0
    size = 64  # tiles, so that reading down a column stays in the cache
    for bi in range(0, n, size):
        for bj in range(bi, n, size):
            for i in range(bi, min(n, bi + size)):
                for j in range(max(bj, i + 1), min(n, bj + size)):
                    s = P[i, j] + P[j, i]
                    P[i, j] = s
                    P[j, i] = s
                    total += 2.0 * s
    for i in range(n):
        P[i, i] = 0.0
    return total


def symmetric_neighbours(P: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P + Pᵀ of rows over neighbours (n, k), as CSR: starts, columns (sorted in a row), values."""
    n = len(index)
    starts = np.zeros(n + 1, np.int64)
    _count(index, starts)
    np.cumsum(starts, out=starts)
    columns = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], np.float32)
    _fill(P, index, starts, columns, values)
    kept = np.zeros(n + 1, np.int64)
    _merge_rows(starts, columns, values, kept)
    np.cumsum(kept, out=kept)
    _compact(starts, columns, values, kept)
    columns.resize(kept[-1], refcheck=False)
    values.resize(kept[-1], refcheck=False)
    return kept.astype(np.int32 if kept[-1] < 2**31 else np.int64), columns, values


@njit(**FAST)
def _count(index, starts):
    for i in range(index.shape[0]):
        for k in range(index.shape[1]):
            starts[i + 1] += 1
            starts[index[i, k] + 1] += 1


@njit(**FAST)
def _fill(P, index, starts, columns, values):
    n = index.shape[0]
    at = starts[:-1].copy()
    for i in range(n):
        for k in range(index.shape[1]):
            j = index[i, k]
            columns[at[i]] = j
            values[at[i]] = P[i, k]
            at[i] += 1
            columns[at[j]] = i
            values[at[j]] = P[i, k]
            at[j] += 1


@njit(parallel=True, **FAST)
def _merge_rows(starts, columns, values, kept):
    """Sort each row by column and add up entries that meet; kept[i+1] counts what is left."""
    for i in prange(starts.size - 1):
        lo = starts[i]
        hi = starts[i + 1]
        order = np.argsort(columns[lo:hi], kind="mergesort")
        c = columns[lo:hi][order]
        v = values[lo:hi][order]
        m = -1
        for k in range(c.size):
            if m >= 0 and columns[lo + m] == c[k]:
                values[lo + m] += v[k]
            else:
                m += 1
                columns[lo + m] = c[k]
                values[lo + m] = v[k]
        kept[i + 1] = m + 1


@njit(**FAST)
def _compact(starts, columns, values, kept):
    """Move what is left of each row to the front, in place: no row moves past one that is still to move."""
    for i in range(starts.size - 1):
        a = starts[i]
        b = kept[i]
        for k in range(kept[i + 1] - b):
            columns[b + k] = columns[a + k]
            values[b + k] = values[a + k]


@njit(parallel=True, **FAST)
def reciprocal_pairs(index, within):
    """(n, k) whether each neighbour has the row itself among its own first `within` neighbours."""
    n, k = index.shape
    out = np.zeros((n, k), np.bool_)
    for i in prange(n):
        for at in range(k):
            j = index[i, at]
            for back in range(within):
                if index[j, back] == i:
                    out[i, at] = True
                    break
    return out


def symmetric_in_order(
    starts: np.ndarray, columns: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P + Pᵀ of a square CSR matrix whose rows are in order of their columns, as CSR of the same kind.

    A transpose made by counting is in order too, so two rows are merged and nothing is sorted.
    """
    n, entries = len(starts) - 1, len(columns)
    back = np.zeros(n + 1, np.int64)
    back_columns, back_values = np.empty(entries, np.int32), np.empty(entries, np.float32)
    _transpose(starts, columns, values, back, back_columns, back_values)
    room = starts + back
    merged, sums = np.empty(2 * entries, np.int32), np.empty(2 * entries, np.float32)
    kept = np.zeros(n + 1, np.int64)
    _merge_two(starts, columns, values, back, back_columns, back_values, room, merged, sums, kept)
    np.cumsum(kept, out=kept)
    _compact(room, merged, sums, kept)
    merged.resize(kept[-1], refcheck=False)
    sums.resize(kept[-1], refcheck=False)
    return kept.astype(np.int32 if kept[-1] < 2**31 else np.int64), merged, sums


@njit(**FAST)
def _transpose(starts, columns, values, back, back_columns, back_values):
    for k in range(columns.size):
        back[columns[k] + 1] += 1
    for i in range(1, back.size):
        back[i] += back[i - 1]
    at = back[:-1].copy()
    for i in range(starts.size - 1):
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            back_columns[at[j]] = i
            back_values[at[j]] = values[k]
            at[j] += 1


@njit(parallel=True, **FAST)
def _merge_two(starts, columns, values, back, back_columns, back_values, room, merged, sums, kept):
    for i in prange(starts.size - 1):
        a, a_end = starts[i], starts[i + 1]
        b, b_end = back[i], back[i + 1]
        at = room[i]
        while a < a_end and b < b_end:
            here, there = columns[a], back_columns[b]
            value = np.float32(0)
            if here <= there:
                value += values[a]
                a += 1
            if there <= here:
                value += back_values[b]
                b += 1
            merged[at] = min(here, there)
            sums[at] = value
            at += 1
        for k in range(a, a_end):
            merged[at] = columns[k]
            sums[at] = values[k]
            at += 1
        for k in range(b, b_end):
            merged[at] = back_columns[k]
            sums[at] = back_values[k]
            at += 1
        kept[i + 1] = at - room[i]


@njit(**FAST)
def column_sums(columns, values, sums):
    """Add every value to the sum of its column."""
    for k in range(columns.size):
        sums[columns[k]] += values[k]
