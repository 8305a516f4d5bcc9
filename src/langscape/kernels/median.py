"""Weighted geometric medians, many at once: where Σ w_i ‖y_i − z‖ is least.

Weiszfeld's step, and Newton's where it does better. A median that lies on a data point is found by
its own test (the pull of the others is no stronger than the point's weight), since iterations
only creep towards it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from langscape.kernels.maths import FAST

TOLERANCE = 1e-6
STEPS = 1000


@njit(**FAST)
def _cost(Y, w, z):
    total = 0.0
    for i in range(w.size):
        s = 0.0
        for d in range(z.size):
            s += (Y[i, d] - z[d]) ** 2
        total += w[i] * math.sqrt(s)
    return total


@njit(**FAST)
def _is_median(Y, w, k, scale):
    """True if data point k (with all that coincide with it) is the median: Vardi and Zhang's test."""
    dims = Y.shape[1]
    pull = np.zeros(dims)
    own = 0.0
    for i in range(w.size):
        s = 0.0
        for d in range(dims):
            s += (Y[i, d] - Y[k, d]) ** 2
        s = math.sqrt(s)
        if s <= 1e-12 * scale:
            own += w[i]
        else:
            for d in range(dims):
                pull[d] += w[i] * (Y[i, d] - Y[k, d]) / s
    s = 0.0
    for d in range(dims):
        s += pull[d] * pull[d]
    return math.sqrt(s) <= own


@njit(**FAST)
def _newton(H, gradient, z, least, out):
    """Fill out with z − H⁻¹·gradient; False where H, in 2-D or 3-D, is too near singular for that."""
    if z.size == 2:
        determinant = H[0, 0] * H[1, 1] - H[0, 1] * H[1, 0]
        if determinant <= least * (H[0, 0] + H[1, 1]):
            return False
        out[0] = z[0] - (H[1, 1] * gradient[0] - H[0, 1] * gradient[1]) / determinant
        out[1] = z[1] - (H[0, 0] * gradient[1] - H[1, 0] * gradient[0]) / determinant
        return True
    if z.size != 3:
        return False
    # H is symmetric, and so is its adjugate
    a = H[1, 1] * H[2, 2] - H[1, 2] * H[2, 1]
    b = H[0, 2] * H[2, 1] - H[0, 1] * H[2, 2]
    c = H[0, 1] * H[1, 2] - H[0, 2] * H[1, 1]
    d = H[0, 0] * H[2, 2] - H[0, 2] * H[2, 0]
    e = H[0, 2] * H[1, 0] - H[0, 0] * H[1, 2]
    f = H[0, 0] * H[1, 1] - H[0, 1] * H[1, 0]
    determinant = H[0, 0] * a + H[0, 1] * b + H[0, 2] * c
    if determinant <= least * (a + d + f):
        return False
    out[0] = z[0] - (a * gradient[0] + b * gradient[1] + c * gradient[2]) / determinant
    out[1] = z[1] - (b * gradient[0] + d * gradient[1] + e * gradient[2]) / determinant
    out[2] = z[2] - (c * gradient[0] + e * gradient[1] + f * gradient[2]) / determinant
    return True


@njit(**FAST)
def median(Y, w, z):
    """Fill z with the weighted median of the rows of Y, shape (k, dims); returns the steps taken.

    STEPS means that it was stopped there before settling.
    """
    k, dims = Y.shape
    total = 0.0
    z[:] = 0.0
    for i in range(k):
        total += w[i]
        for d in range(dims):
            z[d] += w[i] * Y[i, d]
    for d in range(dims):
        z[d] /= total
    scale = 0.0
    for i in range(k):
        for d in range(dims):
            scale = max(scale, abs(Y[i, d] - z[d]))
    if scale == 0.0:
        return 0
    tested = -1
    step = np.empty(dims)
    newton = np.empty(dims)
    gradient = np.empty(dims)
    H = np.empty((dims, dims))
    for count in range(1, STEPS + 1):
        near = -1
        least = np.inf
        for i in range(k):
            s = 0.0
            for d in range(dims):
                s += (Y[i, d] - z[d]) ** 2
            if s < least:
                least = s
                near = i
        if near != tested:
            tested = near
            if _is_median(Y, w, near, scale):
                z[:] = Y[near]
                return count
        # on a data point that is not the median the pull is undefined: step off it, against its weight
        guard = 1e-10 * scale
        weights = 0.0
        gradient[:] = 0.0
        H[:] = 0.0
        step[:] = 0.0
        for i in range(k):
            s = 0.0
            for d in range(dims):
                s += (Y[i, d] - z[d]) ** 2
            r = max(math.sqrt(s), guard)
            a = w[i] / r
            weights += a
            for d in range(dims):
                u = z[d] - Y[i, d]
                gradient[d] += a * u
                step[d] += a * Y[i, d]
                for e in range(dims):
                    H[d, e] -= a * u * (z[e] - Y[i, e]) / (r * r)
        for d in range(dims):
            step[d] /= weights
            H[d, d] += weights
        if _newton(H, gradient, z, 1e-9 * weights, newton) and _cost(Y, w, newton) < _cost(Y, w, step):
            step[:] = newton
        moved = 0.0
        for d in range(dims):
            moved = max(moved, abs(step[d] - z[d]))
            z[d] = step[d]
        if moved <= TOLERANCE * scale:
            return count
    return STEPS


@njit(parallel=True, **FAST)
def medians(Y, index, w, out, steps):
    """The median of Y[index[i]] with weights w[i], for every row i of index, (m, k)."""
    for i in prange(index.shape[0]):
        k = index.shape[1]
        rows = np.empty((k, Y.shape[1]))
        used = np.empty(k)
        count = 0
        for j in range(k):
            if w[i, j] > 0:
                for d in range(Y.shape[1]):
                    rows[count, d] = Y[index[i, j], d]
                used[count] = w[i, j]
                count += 1
        z = np.empty(Y.shape[1])
        steps[i] = median(rows[:count], used[:count], z)
        out[i] = z
