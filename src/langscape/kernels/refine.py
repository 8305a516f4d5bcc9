"""New points moved to a lower KL of their own among points that stay where they are, many at once.

For a new point z with weights p_j over its neighbours, KL(p‖q) with q_j ∝ 1/(1+‖z−y_j‖²) over all of Y is
Σ p_j log(1+‖z−y_j‖²) + log Σ 1/(1+‖z−y_j‖²), up to a constant. The attraction is majorised by a parabola at
each round, the repulsion is taken at its slope, and half the step is made; of all rounds the best is kept.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float32 as f32
from numba import njit, prange

from langscape.kernels.grid import Repulsion, gather_one
from langscape.kernels.maths import FAST

FIELD_FROM = 5000
"""Points of a 2-D map from which their repulsion is read from a grid: the same for every new point."""


class Refiner:
    """Refines points among the fixed points Y, (n, dims) float64, again and again."""

    def __init__(self, Y: np.ndarray) -> None:
        self._Y, self._field = Y, None
        if Y.shape[1] == 2 and len(Y) >= FIELD_FROM:
            self._field = Repulsion(len(Y)).field(np.ascontiguousarray(Y, np.float32))

    def __call__(self, index: np.ndarray, p: np.ndarray, Z: np.ndarray, rounds: int) -> None:
        """Move each row of Z, (m, dims) float64, to a lower cost; its neighbours and weights are (m, k)."""
        if self._field is None:
            _refine_exactly(self._Y, index, p, Z, rounds)
        else:
            _refine_in_field(self._Y, index, p, Z, rounds, *self._field)


@njit(**FAST)
def _attraction(Y, index, p, i, z, towards):
    """Fill towards with Σ a_j y_j, a_j = p_j/(1+d²); returns Σ a_j and Σ p_j log(1+d²)."""
    weight = 0.0
    cost = 0.0
    towards[:] = 0.0
    for k in range(index.shape[1]):
        j = index[i, k]
        s = 1.0
        for d in range(z.size):
            s += (z[d] - Y[j, d]) ** 2
        cost += p[i, k] * math.log(s)
        a = p[i, k] / s
        weight += a
        for d in range(z.size):
            towards[d] += a * Y[j, d]
    return weight, cost


@njit(parallel=True, **FAST)
def _refine_exactly(Y, index, p, Z, rounds):
    n, dims = Y.shape
    for i in prange(Z.shape[0]):
        z = Z[i].copy()
        towards = np.empty(dims)
        push = np.empty(dims)
        best = np.inf
        for turn in range(rounds + 1):
            phi = 0.0
            push[:] = 0.0
            for j in range(n):
                s = 1.0
                for d in range(dims):
                    s += (z[d] - Y[j, d]) ** 2
                q = 1.0 / s
                phi += q
                for d in range(dims):
                    push[d] += q * q * (z[d] - Y[j, d])
            weight, cost = _attraction(Y, index, p, i, z, towards)
            cost += math.log(phi)
            if cost < best:
                best = cost
                Z[i] = z
            if turn < rounds:
                for d in range(dims):
                    z[d] += 0.5 * ((towards[d] + push[d] / phi) / weight - z[d])


@njit(parallel=True, **FAST)
def _refine_in_field(Y, index, p, Z, rounds, phi, left, bottom, per_unit, beside):
    """The same in 2-D, with Σ 1/(1+d²) = phi + beside and its slope read from a grid of the fixed points."""
    for i in prange(Z.shape[0]):
        z = Z[i].copy()
        towards = np.empty(2)
        best = np.inf
        for turn in range(rounds + 1):
            x = min(max(f32(z[0] - left) * per_unit, f32(2)), f32(phi.shape[0] - 4))
            y = min(max(f32(z[1] - bottom) * per_unit, f32(2)), f32(phi.shape[1] - 4))
            cx = int(x + f32(0.5))
            cy = int(y + f32(0.5))
            value, gx, gy = gather_one(phi, cx, cy, x - f32(cx), y - f32(cy))
            total = max(value + beside, 1e-9)
            weight, cost = _attraction(Y, index, p, i, z, towards)
            cost += math.log(total)
            if cost < best:
                best = cost
                Z[i] = z
            if turn < rounds:
                # the repulsive force is −½∇φ
                z[0] += 0.5 * ((towards[0] - 0.5 * gx * per_unit / total) / weight - z[0])
                z[1] += 0.5 * ((towards[1] - 0.5 * gy * per_unit / total) / weight - z[1])
