"""Attraction and repulsion of an exact t-SNE step: all pairs, float32, 2, 3 or 4 dimensions.

Coordinates are dimension-major, (dims, m), so that the inner loop reads every coordinate with unit
stride. The width m may exceed the number of points: see `padded`.

What i does to j is the opposite of what j does to i, so `halves` looks at each pair once: rows two at
a time against the columns from their own block of 16 on, sums for the rows in registers and for the
columns in arrays, which saves a quarter of the time and half of the reading of P. Within a block pairs
are met twice and count half each. Below `FEW` points in 2-D the closing of the row sums costs more than
that saves: `forces_few` meets every pair twice, four sources at a time, and has no row sums.

Written out per dimension: Numba does not cache functions that a factory makes.
"""

from __future__ import annotations

import numpy as np
from numba import float32 as f32
from numba import njit
from numba import uint64 as u64

from langscape.kernels.maths import APART, FAST

BLOCK = 16
"""Columns that the inner loop takes at a time; a power of two."""

FAR = 1e15
"""Where the points of a padded width lie: so far that q² and with it every force is 0 in float32."""

AWAY = 1e16
"""Where a row that is not there lies on the first axis: far from the points and from the padding.

On the others it lies at 0, so that it moves no point of a line off that line by a bit."""

FEW = 240
"""Points below which `forces_few` is faster."""


def padded(n: int) -> int:
    """The width to give n points so that the inner loop has no remainder."""
    return -(-n // BLOCK) * BLOCK


def shares(m: int) -> np.ndarray:
    """How much a pair counts by the distance of its column from its block's start, for `halves`."""
    out = np.ones(max(m, BLOCK), np.float32)
    out[:BLOCK] = 0.5
    return out


def cuts(n: int) -> np.ndarray:
    """Rows where `halves` is split between threads: equal numbers of pairs, by the size alone."""
    parts = min(max(n // 256, 1), 64)
    rows = n * (1 - np.sqrt(1 - np.arange(parts + 1) / parts))
    at = np.round(rows / BLOCK).astype(np.int64) * BLOCK
    at[-1] = n
    return np.unique(at)


@njit(**FAST)
def _both_2(p, share, u0, u1):
    """A pair's part of Z, its attraction and its repulsion, from p and the differences."""
    q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
    w = q * share
    a = p * w
    r = q * w
    return w, a * u0, a * u1, r * u0, r * u1


@njit(**FAST)
def _both_3(p, share, u0, u1, u2):
    q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2)
    w = q * share
    a = p * w
    r = q * w
    return w, a * u0, a * u1, a * u2, r * u0, r * u1, r * u2


@njit(**FAST)
def _both_4(p, share, u0, u1, u2, u3):
    q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3)
    w = q * share
    a = p * w
    r = q * w
    return w, a * u0, a * u1, a * u2, a * u3, r * u0, r * u1, r * u2, r * u3


@njit(**APART)
def _few_2(P, y0, y1, A0, A1, R0, R1):
    Z = 0.0
    n, m = u64(P.shape[0]), u64(y0.size)
    A0[:] = A1[:] = R0[:] = R1[:] = f32(0)
    one = f32(1)
    for i in range(u64(0), n, u64(4)):
        # rows beyond the last lie away from everything
        k = i + u64(1) if i + u64(1) < n else i
        g = i + u64(2) if i + u64(2) < n else i
        o = i + u64(3) if i + u64(3) < n else i
        b0, b1 = y0[i], y1[i]
        c0, c1 = (y0[k], y1[k]) if k > i else (f32(AWAY), f32(0))
        d0, d1 = (y0[g], y1[g]) if g > i else (f32(AWAY), f32(0))
        e0, e1 = (y0[o], y1[o]) if o > i else (f32(AWAY), f32(0))
        z = f32(0)
        for j in range(m):
            x0, x1 = y0[j], y1[j]
            q, a0, a1, r0, r1 = _both_2(P[i, j], one, x0 - b0, x1 - b1)
            t, f0, f1, s0, s1 = _both_2(P[k, j], one, x0 - c0, x1 - c1)
            z += q + t
            a0, a1, r0, r1 = a0 + f0, a1 + f1, r0 + s0, r1 + s1
            q, f0, f1, s0, s1 = _both_2(P[g, j], one, x0 - d0, x1 - d1)
            a0, a1, r0, r1 = a0 + f0, a1 + f1, r0 + s0, r1 + s1
            t, f0, f1, s0, s1 = _both_2(P[o, j], one, x0 - e0, x1 - e1)
            z += q + t
            A0[j] += a0 + f0
            A1[j] += a1 + f1
            R0[j] += r0 + s0
            R1[j] += r1 + s1
        Z += z
    return Z - n


@njit(**FAST)
def forces_few(P, Y, A, R):
    """Fill A and R, as wide as Y, in 2-D; return Z."""
    return _few_2(P, Y[0], Y[1], A[0], A[1], R[0], R[1])


@njit(**APART)
def _halves_2(P, y0, y1, A, R, A0, A1, R0, R1, shares, first, last):
    Z = 0.0
    m = u64(y0.size)
    for i in range(u64(first), u64(last), u64(2)):
        start = i & ~u64(BLOCK - 1)
        k = i + u64(1) if i + u64(1) < u64(last) else i
        b0, b1 = y0[i], y1[i]
        c0, c1 = (y0[k], y1[k]) if k > i else (f32(AWAY), f32(0))
        z = f32(0)
        a0 = a1 = r0 = r1 = f32(0)
        e0 = e1 = s0 = s1 = f32(0)
        for j in range(start, m):
            x0, x1 = y0[j], y1[j]
            share = shares[j - start]
            w, f0, f1, g0, g1 = _both_2(P[i, j], share, b0 - x0, b1 - x1)
            v, h0, h1, o0, o1 = _both_2(P[k, j], share, c0 - x0, c1 - x1)
            z += w + v
            a0, a1, r0, r1 = a0 + f0, a1 + f1, r0 + g0, r1 + g1
            e0, e1, s0, s1 = e0 + h0, e1 + h1, s0 + o0, s1 + o1
            A0[j] -= f0 + h0
            A1[j] -= f1 + h1
            R0[j] -= g0 + o0
            R1[j] -= g1 + o1
        Z += z
        if k > i:
            A[0, k], A[1, k] = e0, e1
            R[0, k], R[1, k] = s0, s1
        A[0, i], A[1, i] = a0, a1
        R[0, i], R[1, i] = r0, r1
    return Z


@njit(**APART)
def _halves_3(P, y0, y1, y2, A, R, A0, A1, A2, R0, R1, R2, shares, first, last):
    Z = 0.0
    m = u64(y0.size)
    for i in range(u64(first), u64(last), u64(2)):
        start = i & ~u64(BLOCK - 1)
        k = i + u64(1) if i + u64(1) < u64(last) else i
        b0, b1, b2 = y0[i], y1[i], y2[i]
        c0, c1, c2 = (y0[k], y1[k], y2[k]) if k > i else (f32(AWAY), f32(0), f32(0))
        z = f32(0)
        a0 = a1 = a2 = r0 = r1 = r2 = f32(0)
        e0 = e1 = e2 = s0 = s1 = s2 = f32(0)
        for j in range(start, m):
            x0, x1, x2 = y0[j], y1[j], y2[j]
            share = shares[j - start]
            w, f0, f1, f2, g0, g1, g2 = _both_3(P[i, j], share, b0 - x0, b1 - x1, b2 - x2)
            v, h0, h1, h2, o0, o1, o2 = _both_3(P[k, j], share, c0 - x0, c1 - x1, c2 - x2)
            z += w + v
            a0, a1, a2, r0, r1, r2 = a0 + f0, a1 + f1, a2 + f2, r0 + g0, r1 + g1, r2 + g2
            e0, e1, e2, s0, s1, s2 = e0 + h0, e1 + h1, e2 + h2, s0 + o0, s1 + o1, s2 + o2
            A0[j] -= f0 + h0
            A1[j] -= f1 + h1
            A2[j] -= f2 + h2
            R0[j] -= g0 + o0
            R1[j] -= g1 + o1
            R2[j] -= g2 + o2
        Z += z
        if k > i:
            A[0, k], A[1, k], A[2, k] = e0, e1, e2
            R[0, k], R[1, k], R[2, k] = s0, s1, s2
        A[0, i], A[1, i], A[2, i] = a0, a1, a2
        R[0, i], R[1, i], R[2, i] = r0, r1, r2
    return Z


@njit(**APART)
def _halves_4(P, y0, y1, y2, y3, A, R, A0, A1, A2, A3, R0, R1, R2, R3, shares, first, last):
    Z = 0.0
    m = u64(y0.size)
    for i in range(u64(first), u64(last), u64(2)):
        start = i & ~u64(BLOCK - 1)
        k = i + u64(1) if i + u64(1) < u64(last) else i
        b0, b1, b2, b3 = y0[i], y1[i], y2[i], y3[i]
        c0, c1, c2, c3 = (y0[k], y1[k], y2[k], y3[k]) if k > i else (f32(AWAY), f32(0), f32(0), f32(0))
        z = f32(0)
        a0 = a1 = a2 = a3 = r0 = r1 = r2 = r3 = f32(0)
        e0 = e1 = e2 = e3 = s0 = s1 = s2 = s3 = f32(0)
        for j in range(start, m):
            x0, x1, x2, x3 = y0[j], y1[j], y2[j], y3[j]
            share = shares[j - start]
            w, f0, f1, f2, f3, g0, g1, g2, g3 = _both_4(P[i, j], share, b0 - x0, b1 - x1, b2 - x2, b3 - x3)
            v, h0, h1, h2, h3, o0, o1, o2, o3 = _both_4(P[k, j], share, c0 - x0, c1 - x1, c2 - x2, c3 - x3)
            z += w + v
            a0, a1, a2, a3 = a0 + f0, a1 + f1, a2 + f2, a3 + f3
            r0, r1, r2, r3 = r0 + g0, r1 + g1, r2 + g2, r3 + g3
            e0, e1, e2, e3 = e0 + h0, e1 + h1, e2 + h2, e3 + h3
            s0, s1, s2, s3 = s0 + o0, s1 + o1, s2 + o2, s3 + o3
            A0[j] -= f0 + h0
            A1[j] -= f1 + h1
            A2[j] -= f2 + h2
            A3[j] -= f3 + h3
            R0[j] -= g0 + o0
            R1[j] -= g1 + o1
            R2[j] -= g2 + o2
            R3[j] -= g3 + o3
        Z += z
        if k > i:
            A[0, k], A[1, k], A[2, k], A[3, k] = e0, e1, e2, e3
            R[0, k], R[1, k], R[2, k], R[3, k] = s0, s1, s2, s3
        A[0, i], A[1, i], A[2, i], A[3, i] = a0, a1, a2, a3
        R[0, i], R[1, i], R[2, i], R[3, i] = r0, r1, r2, r3
    return Z


@njit(**FAST)
def halves(P, Y, A, R, C, shares, first, last):
    """Sums of rows first..last into A and R, what they do to the columns into C; their part of Z.

    `first` is a multiple of the block. C is (2·dims, m), attraction first, and is overwritten from
    column `first` on; adding every C to A and R completes them.
    """
    dims = Y.shape[0]
    C[: 2 * dims, first:] = f32(0)
    if dims == 2:
        z = _halves_2(P, Y[0], Y[1], A, R, C[0], C[1], C[2], C[3], shares, first, last)
    elif dims == 3:
        z = _halves_3(P, Y[0], Y[1], Y[2], A, R, C[0], C[1], C[2], C[3], C[4], C[5], shares, first, last)
    else:
        z = _halves_4(
            P, Y[0], Y[1], Y[2], Y[3], A, R,
            C[0], C[1], C[2], C[3], C[4], C[5], C[6], C[7], shares, first, last,
        )  # fmt: skip
    return 2.0 * z - (last - first)


@njit(**FAST)
def _push_2(share, u0, u1):
    """The same without attraction."""
    q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
    w = q * share
    r = q * w
    return w, r * u0, r * u1


@njit(**FAST)
def _push_3(share, u0, u1, u2):
    q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2)
    w = q * share
    r = q * w
    return w, r * u0, r * u1, r * u2


@njit(**FAST)
def _push_4(share, u0, u1, u2, u3):
    q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3)
    w = q * share
    r = q * w
    return w, r * u0, r * u1, r * u2, r * u3


@njit(**APART)
def _push_halves_2(y0, y1, R, R0, R1, shares, first, last):
    Z = 0.0
    m = u64(y0.size)
    away = f32(AWAY)
    for i in range(u64(first), u64(last), u64(2)):
        start = i & ~u64(BLOCK - 1)
        k = i + u64(1) if i + u64(1) < u64(last) else i
        b0, b1 = y0[i], y1[i]
        c0, c1 = (y0[k], y1[k]) if k > i else (away, away)
        z = f32(0)
        r0 = r1 = f32(0)
        s0 = s1 = f32(0)
        for j in range(start, m):
            x0, x1 = y0[j], y1[j]
            share = shares[j - start]
            w, g0, g1 = _push_2(share, b0 - x0, b1 - x1)
            v, o0, o1 = _push_2(share, c0 - x0, c1 - x1)
            z += w + v
            r0, r1 = r0 + g0, r1 + g1
            s0, s1 = s0 + o0, s1 + o1
            R0[j] -= g0 + o0
            R1[j] -= g1 + o1
        Z += z
        if k > i:
            R[0, k], R[1, k] = s0, s1
        R[0, i], R[1, i] = r0, r1
    return Z


@njit(**APART)
def _push_halves_3(y0, y1, y2, R, R0, R1, R2, shares, first, last):
    Z = 0.0
    m = u64(y0.size)
    away = f32(AWAY)
    for i in range(u64(first), u64(last), u64(2)):
        start = i & ~u64(BLOCK - 1)
        k = i + u64(1) if i + u64(1) < u64(last) else i
        b0, b1, b2 = y0[i], y1[i], y2[i]
        c0, c1, c2 = (y0[k], y1[k], y2[k]) if k > i else (away, away, away)
        z = f32(0)
        r0 = r1 = r2 = f32(0)
        s0 = s1 = s2 = f32(0)
        for j in range(start, m):
            x0, x1, x2 = y0[j], y1[j], y2[j]
            share = shares[j - start]
            w, g0, g1, g2 = _push_3(share, b0 - x0, b1 - x1, b2 - x2)
            v, o0, o1, o2 = _push_3(share, c0 - x0, c1 - x1, c2 - x2)
            z += w + v
            r0, r1, r2 = r0 + g0, r1 + g1, r2 + g2
            s0, s1, s2 = s0 + o0, s1 + o1, s2 + o2
            R0[j] -= g0 + o0
            R1[j] -= g1 + o1
            R2[j] -= g2 + o2
        Z += z
        if k > i:
            R[0, k], R[1, k], R[2, k] = s0, s1, s2
        R[0, i], R[1, i], R[2, i] = r0, r1, r2
    return Z


@njit(**APART)
def _push_halves_4(y0, y1, y2, y3, R, R0, R1, R2, R3, shares, first, last):
    Z = 0.0
    m = u64(y0.size)
    away = f32(AWAY)
    for i in range(u64(first), u64(last), u64(2)):
        start = i & ~u64(BLOCK - 1)
        k = i + u64(1) if i + u64(1) < u64(last) else i
        b0, b1, b2, b3 = y0[i], y1[i], y2[i], y3[i]
        c0, c1, c2, c3 = (y0[k], y1[k], y2[k], y3[k]) if k > i else (away, away, away, away)
        z = f32(0)
        r0 = r1 = r2 = r3 = f32(0)
        s0 = s1 = s2 = s3 = f32(0)
        for j in range(start, m):
            x0, x1, x2, x3 = y0[j], y1[j], y2[j], y3[j]
            share = shares[j - start]
            w, g0, g1, g2, g3 = _push_4(share, b0 - x0, b1 - x1, b2 - x2, b3 - x3)
            v, o0, o1, o2, o3 = _push_4(share, c0 - x0, c1 - x1, c2 - x2, c3 - x3)
            z += w + v
            r0, r1, r2, r3 = r0 + g0, r1 + g1, r2 + g2, r3 + g3
            s0, s1, s2, s3 = s0 + o0, s1 + o1, s2 + o2, s3 + o3
            R0[j] -= g0 + o0
            R1[j] -= g1 + o1
            R2[j] -= g2 + o2
            R3[j] -= g3 + o3
        Z += z
        if k > i:
            R[0, k], R[1, k], R[2, k], R[3, k] = s0, s1, s2, s3
        R[0, i], R[1, i], R[2, i], R[3, i] = r0, r1, r2, r3
    return Z


@njit(**FAST)
def push_halves(Y, R, C, shares, first, last):
    """`halves` without attraction, for when P is sparse; C is (dims, m)."""
    dims = Y.shape[0]
    C[:dims, first:] = f32(0)
    if dims == 2:
        z = _push_halves_2(Y[0], Y[1], R, C[0], C[1], shares, first, last)
    elif dims == 3:
        z = _push_halves_3(Y[0], Y[1], Y[2], R, C[0], C[1], C[2], shares, first, last)
    else:
        z = _push_halves_4(Y[0], Y[1], Y[2], Y[3], R, C[0], C[1], C[2], C[3], shares, first, last)
    return 2.0 * z - (last - first)


@njit(**FAST)
def attraction(starts, columns, values, Y, A, first, last):
    """Fill A for rows first..last from a sparse P (CSR with unsigned indices), any dimension."""
    dims = Y.shape[0]
    u = np.empty(dims, np.float32)
    for i in range(first, last):
        for d in range(dims):
            A[d, i] = f32(0)
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            s = f32(1)
            for d in range(dims):
                u[d] = Y[d, i] - Y[d, j]
                s += u[d] * u[d]
            pq = values[k] / s
            for d in range(dims):
                A[d, i] += pq * u[d]
