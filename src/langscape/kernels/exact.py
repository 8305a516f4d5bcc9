"""Exact t-SNE: steps of the descent from the forces of `pairwise_forces`, and the KL in float64.

Attraction A and repulsion R are kept apart, so that exaggeration and the normaliser Z are applied
afterwards: gradient = 4 (exaggeration·A − R/Z). P is never scaled.

Two drivers run the same step. `descend_tasks` gives each thread whole problems (restarts, heads);
`Forces` splits one large problem by rows. Which one runs depends on the size alone, and sums cross
threads in a fixed order, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float32 as f32
from numba import njit, prange

from langscape.kernels.maths import FAST, log
from langscape.kernels.pairwise_forces import FEW, attraction, cuts, forces_few, halves, padded

_padded = njit(padded)

STRIPE = 1024
"""Columns a thread adds up at a time when one problem is split."""


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
def descend(P, Y, V, G, A, R, C, plan, first, last, gains, least_gain, largest_step, floor):
    """Steps first..last of one dense problem. The rows of plan: exaggeration, rate, momentum, and a factor.

    Where the factor is above 0 places are multiplied by it, and velocity and gains are reset.

    P and Y may be wider than V and G, which have one column per point. A and R are as wide as Y, and
    so is C, the scratch of `halves`.
    """
    n = V.shape[1]
    dims = Y.shape[0]
    few = n < FEW
    for step in range(first, last):
        if plan[3, step] > 0:
            V[:] = f32(0)
            G[:] = f32(1)
            Y[:, :n] *= plan[3, step]
        if few:
            Z = forces_few(P, Y, A, R)
        else:
            Z = halves(P, Y, A, R, C, 0, n)
            A += C[:dims]
            R += C[dims:]
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
        A = np.zeros((dims, m), np.float32)
        R = np.zeros((dims, m), np.float32)
        C = np.empty((2 * dims, m), np.float32)
        descend(
            p,
            Y[y : y + dims * m].reshape(dims, m),
            V[lo:hi].reshape(dims, n),
            G[lo:hi].reshape(dims, n),
            A,
            R,
            C,
            plans[b],
            first,
            last,
            gains,
            least_gain,
            largest_step,
            floor,
        )


class Forces:
    """The step of one large problem with its rows split over threads; all arrays have the padded width."""

    def __init__(self, n: int, dims: int) -> None:
        self.cuts = cuts(n)
        self.parts = np.empty(len(self.cuts) - 1)
        self.scratch = np.empty((len(self.parts), 2 * dims, padded(n)), np.float32)

    def __call__(self, P: np.ndarray, Y: np.ndarray, A: np.ndarray, R: np.ndarray) -> float:
        """Fill A and R from a dense P; return Z."""
        assert P.shape[1] == Y.shape[1] == self.scratch.shape[2]
        return _forces_rows(P, Y, A, R, self.scratch, self.cuts, self.parts)

    def sparse(
        self,
        starts: np.ndarray,
        columns: np.ndarray,
        values: np.ndarray,
        Y: np.ndarray,
        A: np.ndarray,
        R: np.ndarray,
    ) -> float:
        """The same with a sparse P: repulsion over all pairs, attraction over the entries."""
        assert Y.shape[1] == self.scratch.shape[2]
        _attraction_rows(starts, columns, values, Y, A)
        return _repulsion_rows(Y, R, self.scratch, self.cuts, self.parts)


@njit(parallel=True, **FAST)
def _forces_rows(P, Y, A, R, C, cuts, parts):
    dims = Y.shape[0]
    for b in prange(parts.size):
        parts[b] = halves(P, Y, A, R, C[b], cuts[b], cuts[b + 1])
    _add_columns(A, C[:, :dims], cuts)
    _add_columns(R, C[:, dims:], cuts)
    return _in_order(parts)


@njit(parallel=True, **FAST)
def _repulsion_rows(Y, R, C, cuts, parts):
    for b in prange(parts.size):
        parts[b] = halves(None, Y, None, R, C[b, : Y.shape[0]], cuts[b], cuts[b + 1])
    _add_columns(R, C, cuts)
    return _in_order(parts)


@njit(parallel=True, **FAST)
def _add_columns(F, C, cuts):
    """Add to F what every part of the rows did to the columns, in the order of the parts."""
    dims, n = F.shape
    for stripe in prange((n + STRIPE - 1) // STRIPE):
        last = min(n, (stripe + 1) * STRIPE)
        for b in range(C.shape[0]):
            for d in range(dims):
                for j in range(max(stripe * STRIPE, cuts[b]), last):
                    F[d, j] += C[b, d, j]


@njit(parallel=True, **FAST)
def _attraction_rows(starts, columns, values, Y, A):
    n = starts.size - 1
    for stripe in prange((n + 63) // 64):
        attraction(starts, columns, values, Y, A, stripe * 64, min(n, (stripe + 1) * 64))


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
    n = totals.size
    for i in prange(n):
        t, _, z = _kl_row(P[i], Y, i, np.empty(n))
        totals[i] = t
        shares[i] = z


@njit(parallel=True, **FAST)
def kl_rows_sparse(starts, columns, values, Y, totals, shares):
    """The same with a sparse P; Z is still summed over all pairs."""
    n = totals.size
    for i in prange(n):
        s = np.empty(n)
        _, _, z = _kl_row(s, Y, i, s)  # no P here: s stands in for it, only z is used
        t = 0.0
        for k in range(starts[i], starts[i + 1]):
            p = float(values[k])
            t += p * math.log(max(p, 1e-300) * s[columns[k]])
        totals[i] = t
        shares[i] = z
