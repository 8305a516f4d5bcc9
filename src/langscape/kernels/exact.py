"""Exact t-SNE: steps of the descent from the forces of `pairs`, and the KL in float64.

Attraction A and repulsion R are kept apart, so that exaggeration and the normaliser Z are applied
afterwards: gradient = 4 (exaggeration·A − R/Z). P is never scaled.

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
from langscape.kernels.pairs import attraction, forces, padded, repulsion

_padded = njit(padded)

ROWS = 64
"""Rows a thread takes at a time when one problem is split; fixed, so that partial sums are too."""


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
    dims, n = V.shape
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
    """Steps first..last of one dense problem. The rows of plan: exaggeration, rate, momentum, reset.

    P and Y may be wider than V, G, A and R, which have one column per point.
    """
    n = V.shape[1]
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
    V_start,
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

    P, Y, V and G are flat: task t works on problem[t], whose P starts at P_start and has size
    rows, on dims rows of coordinates from Y_start[t], both as wide as `padded` says, and on
    dims × size velocities and gains from V_start[t]. plans is (problems, 4, steps).
    """
    for t in prange(problem.size):
        b = problem[t]
        n = sizes[b]
        m = _padded(n)
        p = P[P_start[b] : P_start[b] + n * m].reshape(n, m)
        y = Y_start[t]
        lo = V_start[t]
        hi = lo + dims * n
        A = np.empty((dims, n), np.float32)
        R = np.empty((dims, n), np.float32)
        descend(
            p,
            Y[y : y + dims * m].reshape(dims, m),
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
    dims, n = Y.shape[0], s.size
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
    n = P.shape[0]
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
        m = _padded(n)
        lo = Y_start[t]
        out[t] = kl_dense(
            P[P_start[b] : P_start[b] + n * m].reshape(n, m), Y[lo : lo + dims * m].reshape(dims, m)
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
