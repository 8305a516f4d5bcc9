"""The exact t-SNE step: all pairs, float32, 2, 3 or 4 dimensions, one pass over each row.

Coordinates are dimension-major, (dims, n), so that the inner loop reads every coordinate with
unit stride. Attraction A and repulsion R are kept apart, so that exaggeration and the normaliser
Z are applied afterwards: gradient = 4 (exaggeration·A − R/Z). P is never scaled.

Two drivers run the same step. `descend_tasks` gives each thread whole problems (restarts, heads);
`descend_rows` splits one large problem by rows. Which one runs depends on the size alone, and
sums cross threads in a fixed order, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float32 as f32
from numba import njit, prange

from langscape.kernels.maths import FAST, log

ROWS = 64
"""Rows a thread takes at a time when one problem is split; fixed, so that partial sums are too."""


@njit(**FAST)
def forces_2(P, Y, A, R, first, last):
    """Fill A and R for rows first..last in 2-D; return their share of Z."""
    Z = 0.0
    n = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    for i in range(first, last):
        c0 = y0[i]
        c1 = y1[i]
        a0 = f32(0)
        a1 = f32(0)
        r0 = f32(0)
        r1 = f32(0)
        z = f32(0)
        p = P[i]
        for j in range(n):
            u0 = c0 - y0[j]
            u1 = c1 - y1[j]
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
            z += q
            pq = p[j] * q
            qq = q * q
            a0 += pq * u0
            a1 += pq * u1
            r0 += qq * u0
            r1 += qq * u1
        Z += z - 1.0
        A[0, i] = a0
        A[1, i] = a1
        R[0, i] = r0
        R[1, i] = r1
    return Z


@njit(**FAST)
def forces_3(P, Y, A, R, first, last):
    """Fill A and R for rows first..last in 3-D; return their share of Z."""
    Z = 0.0
    n = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    for i in range(first, last):
        c0 = y0[i]
        c1 = y1[i]
        c2 = y2[i]
        a0 = f32(0)
        a1 = f32(0)
        a2 = f32(0)
        r0 = f32(0)
        r1 = f32(0)
        r2 = f32(0)
        z = f32(0)
        p = P[i]
        for j in range(n):
            u0 = c0 - y0[j]
            u1 = c1 - y1[j]
            u2 = c2 - y2[j]
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
        Z += z - 1.0
        A[0, i] = a0
        A[1, i] = a1
        A[2, i] = a2
        R[0, i] = r0
        R[1, i] = r1
        R[2, i] = r2
    return Z


@njit(**FAST)
def forces_4(P, Y, A, R, first, last):
    """Fill A and R for rows first..last in 4-D; return their share of Z."""
    Z = 0.0
    n = Y.shape[1]
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    y3 = Y[3]
    for i in range(first, last):
        c0 = y0[i]
        c1 = y1[i]
        c2 = y2[i]
        c3 = y3[i]
        a0 = f32(0)
        a1 = f32(0)
        a2 = f32(0)
        a3 = f32(0)
        r0 = f32(0)
        r1 = f32(0)
        r2 = f32(0)
        r3 = f32(0)
        z = f32(0)
        p = P[i]
        for j in range(n):
            u0 = c0 - y0[j]
            u1 = c1 - y1[j]
            u2 = c2 - y2[j]
            u3 = c3 - y3[j]
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
        Z += z - 1.0
        A[0, i] = a0
        A[1, i] = a1
        A[2, i] = a2
        A[3, i] = a3
        R[0, i] = r0
        R[1, i] = r1
        R[2, i] = r2
        R[3, i] = r3
    return Z


@njit(**FAST)
def repulsion_2(Y, R, first, last):
    """Fill R alone in 2-D, for when P is sparse; return the rows' share of Z."""
    Z = 0.0
    y0 = Y[0]
    y1 = Y[1]
    for i in range(first, last):
        c0 = y0[i]
        c1 = y1[i]
        r0 = f32(0)
        r1 = f32(0)
        z = f32(0)
        for j in range(Y.shape[1]):
            u0 = c0 - y0[j]
            u1 = c1 - y1[j]
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1)
            z += q
            qq = q * q
            r0 += qq * u0
            r1 += qq * u1
        Z += z - 1.0
        R[0, i] = r0
        R[1, i] = r1
    return Z


@njit(**FAST)
def repulsion_3(Y, R, first, last):
    """Fill R alone in 3-D; return the rows' share of Z."""
    Z = 0.0
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    for i in range(first, last):
        c0 = y0[i]
        c1 = y1[i]
        c2 = y2[i]
        r0 = f32(0)
        r1 = f32(0)
        r2 = f32(0)
        z = f32(0)
        for j in range(Y.shape[1]):
            u0 = c0 - y0[j]
            u1 = c1 - y1[j]
            u2 = c2 - y2[j]
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2)
            z += q
            qq = q * q
            r0 += qq * u0
            r1 += qq * u1
            r2 += qq * u2
        Z += z - 1.0
        R[0, i] = r0
        R[1, i] = r1
        R[2, i] = r2
    return Z


@njit(**FAST)
def repulsion_4(Y, R, first, last):
    """Fill R alone in 4-D; return the rows' share of Z."""
    Z = 0.0
    y0 = Y[0]
    y1 = Y[1]
    y2 = Y[2]
    y3 = Y[3]
    for i in range(first, last):
        c0 = y0[i]
        c1 = y1[i]
        c2 = y2[i]
        c3 = y3[i]
        r0 = f32(0)
        r1 = f32(0)
        r2 = f32(0)
        r3 = f32(0)
        z = f32(0)
        for j in range(Y.shape[1]):
            u0 = c0 - y0[j]
            u1 = c1 - y1[j]
            u2 = c2 - y2[j]
            u3 = c3 - y3[j]
            q = f32(1) / (f32(1) + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3)
            z += q
            qq = q * q
            r0 += qq * u0
            r1 += qq * u1
            r2 += qq * u2
            r3 += qq * u3
        Z += z - 1.0
        R[0, i] = r0
        R[1, i] = r1
        R[2, i] = r2
        R[3, i] = r3
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


@njit(**FAST)
def _shorten(V, largest_step):
    """Scale back steps that are too long. Most often none is: a first pass that vectorises looks for one."""
    dims, n = V.shape
    limit = largest_step * largest_step
    longest = f32(0)
    for i in range(n):
        s = V[0, i] * V[0, i] + V[1, i] * V[1, i]
        if dims > 2:
            s += V[2, i] * V[2, i]
        if dims > 3:
            s += V[3, i] * V[3, i]
        longest = max(longest, s)
    if longest <= limit:
        return
    for i in range(n):
        s = f32(0)
        for d in range(dims):
            s += V[d, i] * V[d, i]
        if s > limit:
            k = largest_step / math.sqrt(s)
            for d in range(dims):
                V[d, i] *= k


@njit(**FAST)
def update(Y, V, G, A, R, Z, exaggeration, rate, momentum, gains, least_gain, largest_step, floor):
    """One step of momentum with gains; coordinates whose floor is finite are projected onto it.

    Gains as van der Maaten's: +0.2 while velocity and gradient point against each other (the
    descent keeps its direction), ×0.8 when not, never below `least_gain`.
    """
    dims, n = Y.shape
    four = f32(4)
    inverse = f32(1.0 / Z)
    for d in range(dims):
        y = Y[d]
        v = V[d]
        gain = G[d]
        a = A[d]
        r = R[d]
        for i in range(n):
            g = four * (exaggeration * a[i] - r[i] * inverse)
            k = f32(1)
            if gains:
                k = gain[i] + f32(0.2) if v[i] * g < f32(0) else gain[i] * f32(0.8)
                k = max(k, least_gain)
                gain[i] = k
            v[i] = momentum * v[i] - rate * k * g
    if largest_step > 0:
        _shorten(V, largest_step)
    for d in range(dims):
        y = Y[d]
        v = V[d]
        if floor[d] > -np.inf:
            for i in range(n):
                y[i] = max(y[i] + v[i], floor[d])
        else:
            mean = 0.0
            for i in range(n):
                y[i] += v[i]
                mean += y[i]
            shift = f32(mean / n)
            for i in range(n):
                y[i] -= shift


@njit(**FAST)
def descend(P, Y, V, G, A, R, plan, first, last, gains, least_gain, largest_step, floor):
    """Steps first..last of one dense problem. The rows of plan: exaggeration, rate, momentum, reset."""
    n = Y.shape[1]
    for step in range(first, last):
        if plan[3, step] > 0:
            V[:] = f32(0)
            G[:] = f32(1)
        Z = forces(P, Y, A, R, 0, n)
        update(
            Y,
            V,
            G,
            A,
            R,
            Z,
            plan[0, step],
            plan[1, step],
            plan[2, step],
            gains,
            least_gain,
            largest_step,
            floor,
        )


@njit(parallel=True, **FAST)
def descend_tasks(
    P,
    P_start,
    sizes,
    problem,
    Y,
    V,
    G,
    Y_start,
    dims,
    plans,
    first,
    last,
    gains,
    least_gain,
    largest_step,
    floor,
):
    """Steps first..last of many dense problems, whole problems per thread.

    P, Y, V and G are flat: task t works on problem[t], whose P starts at P_start and has
    sizes² entries, and on dims × size coordinates from Y_start[t]. plans is (problems, 4, steps).
    """
    for t in prange(problem.size):
        b = problem[t]
        n = sizes[b]
        p = P[P_start[b] : P_start[b] + n * n].reshape(n, n)
        lo = Y_start[t]
        hi = lo + dims * n
        A = np.empty((dims, n), np.float32)
        R = np.empty((dims, n), np.float32)
        descend(
            p,
            Y[lo:hi].reshape(dims, n),
            V[lo:hi].reshape(dims, n),
            G[lo:hi].reshape(dims, n),
            A,
            R,
            plans[b],
            first,
            last,
            gains,
            least_gain,
            largest_step,
            floor,
        )


@njit(parallel=True, **FAST)
def forces_rows(P, Y, A, R, shares):
    """The dense step of one problem with its rows split over threads; returns Z."""
    n = Y.shape[1]
    for b in prange(shares.size):
        shares[b] = forces(P, Y, A, R, b * ROWS, min(n, (b + 1) * ROWS))
    return _in_order(shares)


@njit(parallel=True, **FAST)
def forces_rows_sparse(starts, columns, values, Y, A, R, shares):
    """The same with a sparse P: repulsion over all pairs, attraction over the entries."""
    n = Y.shape[1]
    for b in prange(shares.size):
        last = min(n, (b + 1) * ROWS)
        attraction(starts, columns, values, Y, A, b * ROWS, last)
        shares[b] = repulsion(Y, R, b * ROWS, last)
    return _in_order(shares)


@njit(cache=True, nogil=True)
def _in_order(shares):
    total = 0.0
    for b in range(shares.size):
        total += shares[b]
    return total


@njit(**FAST)
def _kl_row(p, Y, i, s):
    """Row i's Σ p log(p(1+d²)), Σ p and Σ 1/(1+d²) with itself left out, in float64; s is scratch."""
    dims, n = Y.shape
    s[:] = 1.0
    for d in range(dims):
        y = Y[d]
        c = float(y[i])
        for j in range(n):
            u = c - float(y[j])
            s[j] += u * u
    total = 0.0
    mass = 0.0
    Z = 0.0
    for j in range(n):
        Z += 1.0 / s[j]
        q = float(p[j])
        # 0 log 0 = 0: the floor only keeps the logarithm finite
        total += q * log(max(q, 1e-300) * s[j])
        mass += q
    return total, mass, Z - 1.0


@njit(**FAST)
def kl_dense(P, Y):
    """KL(P‖Q) in nats, float64, of one problem: Σ p log(p(1+d²)) + log Z, P taken to sum to 1."""
    n = Y.shape[1]
    total = 0.0
    mass = 0.0
    Z = 0.0
    s = np.empty(n)
    for i in range(n):
        t, m, z = _kl_row(P[i], Y, i, s)
        total += t
        mass += m
        Z += z
    return (total - mass * math.log(mass)) / mass + math.log(Z)


@njit(parallel=True, **FAST)
def kl_tasks(P, P_start, sizes, problem, Y, Y_start, dims, out):
    """The KL of every task."""
    for t in prange(problem.size):
        b = problem[t]
        n = sizes[b]
        lo = Y_start[t]
        out[t] = kl_dense(
            P[P_start[b] : P_start[b] + n * n].reshape(n, n), Y[lo : lo + dims * n].reshape(dims, n)
        )


@njit(parallel=True, **FAST)
def kl_rows(P, Y, totals, shares):
    """KL terms of one large dense problem, rows split over threads: Σ totals + log Σ shares is the KL."""
    n = Y.shape[1]
    for i in prange(n):
        t, _, z = _kl_row(P[i], Y, i, np.empty(n))
        totals[i] = t
        shares[i] = z


@njit(parallel=True, **FAST)
def kl_rows_sparse(starts, columns, values, Y, totals, shares):
    """The same with a sparse P; Z is still summed over all pairs."""
    n = Y.shape[1]
    for i in prange(n):
        s = np.empty(n)
        _, _, z = _kl_row(s, Y, i, s)  # no P here: s stands in for it, only z is used
        t = 0.0
        for k in range(starts[i], starts[i + 1]):
            p = float(values[k])
            t += p * math.log(max(p, 1e-300) * s[columns[k]])
        totals[i] = t
        shares[i] = z
