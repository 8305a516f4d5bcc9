"""Attraction and repulsion of rows of an exact t-SNE step: all pairs, float32, 2, 3 or 4 dimensions.

Coordinates are dimension-major, (dims, m), so that the inner loop reads every coordinate with unit
stride. Two rows go at a time: the coordinates read once serve both, which is worth 2 % in 2-D, 28 % in
3-D and 10 % in 4-D. The width m may exceed the number of points: see `padded`.

Written out per dimension: Numba does not cache functions that a factory makes.
"""

from __future__ import annotations

import numpy as np
from numba import float32 as f32
from numba import njit

from langscape.kernels.maths import FAST

FAR = 1e15
"""Where the points of a padded width lie: so far that q² and with it every force is 0 in float32."""


def padded(n: int) -> int:
    """The width to give n points so that the inner loop has no remainder: 8 lanes, two at a time."""
    return -(-n // 16) * 16


@njit(**FAST)
def forces_2(P, Y, A, R, first, last):
    """Fill A and R for rows first..last in 2-D; return their share of Z."""
    Z = 0.0
    m = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    for i in range(first, last, 2):
        k = min(i + 1, last - 1)  # an odd last row is done twice and counted once
        p = P[i]
        o = P[k]
        b0, b1 = y0[i], y1[i]
        c0, c1 = y0[k], y1[k]
        z = zz = f32(0)
        a0 = a1 = f32(0)
        e0 = e1 = f32(0)
        r0 = r1 = f32(0)
        s0 = s1 = f32(0)
        for j in range(m):
            x0, x1 = y0[j], y1[j]
            u0 = b0 - x0
            u1 = b1 - x1
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
            z += q
            pq = p[j] * q
            qq = q * q
            a0 += pq * u0
            a1 += pq * u1
            r0 += qq * u0
            r1 += qq * u1
            u0 = c0 - x0
            u1 = c1 - x1
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
            zz += q
            pq = o[j] * q
            qq = q * q
            e0 += pq * u0
            e1 += pq * u1
            s0 += qq * u0
            s1 += qq * u1
        Z += z - 1.0
        if k > i:
            Z += zz - 1.0
        A[0, i], R[0, i] = a0, r0
        A[1, i], R[1, i] = a1, r1
        A[0, k], R[0, k] = e0, s0
        A[1, k], R[1, k] = e1, s1
    return Z


@njit(**FAST)
def forces_3(P, Y, A, R, first, last):
    """Fill A and R for rows first..last in 3-D; return their share of Z."""
    Z = 0.0
    m = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    for i in range(first, last, 2):
        k = min(i + 1, last - 1)  # an odd last row is done twice and counted once
        p = P[i]
        o = P[k]
        b0, b1, b2 = y0[i], y1[i], y2[i]
        c0, c1, c2 = y0[k], y1[k], y2[k]
        z = zz = f32(0)
        a0 = a1 = a2 = f32(0)
        e0 = e1 = e2 = f32(0)
        r0 = r1 = r2 = f32(0)
        s0 = s1 = s2 = f32(0)
        for j in range(m):
            x0, x1, x2 = y0[j], y1[j], y2[j]
            u0 = b0 - x0
            u1 = b1 - x1
            u2 = b2 - x2
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2)
            z += q
            pq = p[j] * q
            qq = q * q
            a0 += pq * u0
            a1 += pq * u1
            a2 += pq * u2
            r0 += qq * u0
            r1 += qq * u1
            r2 += qq * u2
            u0 = c0 - x0
            u1 = c1 - x1
            u2 = c2 - x2
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2)
            zz += q
            pq = o[j] * q
            qq = q * q
            e0 += pq * u0
            e1 += pq * u1
            e2 += pq * u2
            s0 += qq * u0
            s1 += qq * u1
            s2 += qq * u2
        Z += z - 1.0
        if k > i:
            Z += zz - 1.0
        A[0, i], R[0, i] = a0, r0
        A[1, i], R[1, i] = a1, r1
        A[2, i], R[2, i] = a2, r2
        A[0, k], R[0, k] = e0, s0
        A[1, k], R[1, k] = e1, s1
        A[2, k], R[2, k] = e2, s2
    return Z


@njit(**FAST)
def forces_4(P, Y, A, R, first, last):
    """Fill A and R for rows first..last in 4-D; return their share of Z."""
    Z = 0.0
    m = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    y3 = Y[3]
    for i in range(first, last, 2):
        k = min(i + 1, last - 1)  # an odd last row is done twice and counted once
        p = P[i]
        o = P[k]
        b0, b1, b2, b3 = y0[i], y1[i], y2[i], y3[i]
        c0, c1, c2, c3 = y0[k], y1[k], y2[k], y3[k]
        z = zz = f32(0)
        a0 = a1 = a2 = a3 = f32(0)
        e0 = e1 = e2 = e3 = f32(0)
        r0 = r1 = r2 = r3 = f32(0)
        s0 = s1 = s2 = s3 = f32(0)
        for j in range(m):
            x0, x1, x2, x3 = y0[j], y1[j], y2[j], y3[j]
            u0 = b0 - x0
            u1 = b1 - x1
            u2 = b2 - x2
            u3 = b3 - x3
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3)
            z += q
            pq = p[j] * q
            qq = q * q
            a0 += pq * u0
            a1 += pq * u1
            a2 += pq * u2
            a3 += pq * u3
            r0 += qq * u0
            r1 += qq * u1
            r2 += qq * u2
            r3 += qq * u3
            u0 = c0 - x0
            u1 = c1 - x1
            u2 = c2 - x2
            u3 = c3 - x3
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3)
            zz += q
            pq = o[j] * q
            qq = q * q
            e0 += pq * u0
            e1 += pq * u1
            e2 += pq * u2
            e3 += pq * u3
            s0 += qq * u0
            s1 += qq * u1
            s2 += qq * u2
            s3 += qq * u3
        Z += z - 1.0
        if k > i:
            Z += zz - 1.0
        A[0, i], R[0, i] = a0, r0
        A[1, i], R[1, i] = a1, r1
        A[2, i], R[2, i] = a2, r2
        A[3, i], R[3, i] = a3, r3
        A[0, k], R[0, k] = e0, s0
        A[1, k], R[1, k] = e1, s1
        A[2, k], R[2, k] = e2, s2
        A[3, k], R[3, k] = e3, s3
    return Z


@njit(**FAST)
def repulsion_2(Y, R, first, last):
    """Fill R alone in 2-D, for when P is sparse; return the rows' share of Z."""
    Z = 0.0
    m = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    for i in range(first, last, 2):
        k = min(i + 1, last - 1)
        b0, b1 = y0[i], y1[i]
        c0, c1 = y0[k], y1[k]
        z = zz = f32(0)
        r0 = r1 = f32(0)
        s0 = s1 = f32(0)
        for j in range(m):
            x0, x1 = y0[j], y1[j]
            u0 = b0 - x0
            u1 = b1 - x1
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
            z += q
            qq = q * q
            r0 += qq * u0
            r1 += qq * u1
            u0 = c0 - x0
            u1 = c1 - x1
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
            zz += q
            qq = q * q
            s0 += qq * u0
            s1 += qq * u1
        Z += z - 1.0
        if k > i:
            Z += zz - 1.0
        R[0, i], R[0, k] = r0, s0
        R[1, i], R[1, k] = r1, s1
    return Z


@njit(**FAST)
def repulsion_3(Y, R, first, last):
    """Fill R alone in 3-D, for when P is sparse; return the rows' share of Z."""
    Z = 0.0
    m = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    for i in range(first, last, 2):
        k = min(i + 1, last - 1)
        b0, b1, b2 = y0[i], y1[i], y2[i]
        c0, c1, c2 = y0[k], y1[k], y2[k]
        z = zz = f32(0)
        r0 = r1 = r2 = f32(0)
        s0 = s1 = s2 = f32(0)
        for j in range(m):
            x0, x1, x2 = y0[j], y1[j], y2[j]
            u0 = b0 - x0
            u1 = b1 - x1
            u2 = b2 - x2
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2)
            z += q
            qq = q * q
            r0 += qq * u0
            r1 += qq * u1
            r2 += qq * u2
            u0 = c0 - x0
            u1 = c1 - x1
            u2 = c2 - x2
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2)
            zz += q
            qq = q * q
            s0 += qq * u0
            s1 += qq * u1
            s2 += qq * u2
        Z += z - 1.0
        if k > i:
            Z += zz - 1.0
        R[0, i], R[0, k] = r0, s0
        R[1, i], R[1, k] = r1, s1
        R[2, i], R[2, k] = r2, s2
    return Z


@njit(**FAST)
def repulsion_4(Y, R, first, last):
    """Fill R alone in 4-D, for when P is sparse; return the rows' share of Z."""
    Z = 0.0
    m = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    y3 = Y[3]
    for i in range(first, last, 2):
        k = min(i + 1, last - 1)
        b0, b1, b2, b3 = y0[i], y1[i], y2[i], y3[i]
        c0, c1, c2, c3 = y0[k], y1[k], y2[k], y3[k]
        z = zz = f32(0)
        r0 = r1 = r2 = r3 = f32(0)
        s0 = s1 = s2 = s3 = f32(0)
        for j in range(m):
            x0, x1, x2, x3 = y0[j], y1[j], y2[j], y3[j]
            u0 = b0 - x0
            u1 = b1 - x1
            u2 = b2 - x2
            u3 = b3 - x3
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3)
            z += q
            qq = q * q
            r0 += qq * u0
            r1 += qq * u1
            r2 += qq * u2
            r3 += qq * u3
            u0 = c0 - x0
            u1 = c1 - x1
            u2 = c2 - x2
            u3 = c3 - x3
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3)
            zz += q
            qq = q * q
            s0 += qq * u0
            s1 += qq * u1
            s2 += qq * u2
            s3 += qq * u3
        Z += z - 1.0
        if k > i:
            Z += zz - 1.0
        R[0, i], R[0, k] = r0, s0
        R[1, i], R[1, k] = r1, s1
        R[2, i], R[2, k] = r2, s2
        R[3, i], R[3, k] = r3, s3
    return Z


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


@njit(**FAST)
def forces(P, Y, A, R, first, last):
    """The dense step in whichever dimension Y has."""
    if Y.shape[0] == 2:
        return forces_2(P, Y, A, R, first, last)
    if Y.shape[0] == 3:
        return forces_3(P, Y, A, R, first, last)
    return forces_4(P, Y, A, R, first, last)


@njit(**FAST)
def repulsion(Y, R, first, last):
    """The repulsion in whichever dimension Y has."""
    if Y.shape[0] == 2:
        return repulsion_2(Y, R, first, last)
    if Y.shape[0] == 3:
        return repulsion_3(Y, R, first, last)
    return repulsion_4(Y, R, first, last)
