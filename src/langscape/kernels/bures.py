"""The t-SNE step between Gaussians in the plane: Bures distances, an angle per item, closed gradients.

An item is (m₁, m₂, a, b₁, b₂). Its standard deviations are (a ± |b|)/√2 along the angle ½·atan2(b₂, b₁) and
across it, so that nothing is singular where an ellipse is a circle (b = 0). With D = a a' + b·b', C = b × b',

    W₂² = ‖m − m'‖² + a² + ‖b‖² + a'² + ‖b'‖² − 2 √(D² + C²)

which for parallel axes (C = 0) is the Euclidean distance of the five numbers, as in Christoffel 2023.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float32 as f32
from numba import njit, prange

from langscape.kernels.maths import FAST

ROWS = 64
"""Rows a thread takes at a time; fixed, so that partial sums are too."""


@njit(**FAST)
def forces(P, Y, A, R, first, last):
    """Fill A and R, (5, n), for rows first..last; return their share of Z."""
    Z = 0.0
    n = Y.shape[1]
    m0, m1, a, b0, b1 = Y[0], Y[1], Y[2], Y[3], Y[4]
    for i in range(first, last):
        c0 = m0[i]
        c1 = m1[i]
        ai = a[i]
        p0 = b0[i]
        p1 = b1[i]
        size = ai * ai + p0 * p0 + p1 * p1
        A0 = f32(0)
        A1 = f32(0)
        A2 = f32(0)
        A3 = f32(0)
        A4 = f32(0)
        R0 = f32(0)
        R1 = f32(0)
        R2 = f32(0)
        R3 = f32(0)
        R4 = f32(0)
        z = f32(0)
        p = P[i]
        for j in range(n):
            u0 = c0 - m0[j]
            u1 = c1 - m1[j]
            aj = a[j]
            q0 = b0[j]
            q1 = b1[j]
            D = ai * aj + p0 * q0 + p1 * q1
            C = p0 * q1 - p1 * q0
            root = f32(math.sqrt(D * D + C * C + f32(1e-30)))
            D /= root
            C /= root
            g2 = ai - D * aj
            g3 = p0 - (D * q0 + C * q1)
            g4 = p1 - (D * q1 - C * q0)
            far = u0 * u0 + u1 * u1 + max(size + aj * aj + q0 * q0 + q1 * q1 - f32(2) * root, f32(0))
            q = f32(1) / (f32(1) + far)
            z += q
            pq = p[j] * q
            qq = q * q
            A0 += pq * u0
            A1 += pq * u1
            A2 += pq * g2
            A3 += pq * g3
            A4 += pq * g4
            R0 += qq * u0
            R1 += qq * u1
            R2 += qq * g2
            R3 += qq * g3
            R4 += qq * g4
        Z += z - 1.0
        A[0, i] = A0
        A[1, i] = A1
        A[2, i] = A2
        A[3, i] = A3
        A[4, i] = A4
        R[0, i] = R0
        R[1, i] = R1
        R[2, i] = R2
        R[3, i] = R3
        R[4, i] = R4
    return Z


@njit(parallel=True, **FAST)
def forces_rows(P, Y, A, R, shares):
    """The step with its rows split over threads; returns Z, summed in a fixed order."""
    n = Y.shape[1]
    for b in prange(shares.size):
        shares[b] = forces(P, Y, A, R, b * ROWS, min(n, (b + 1) * ROWS))
    total = 0.0
    for b in range(shares.size):
        total += shares[b]
    return total


@njit(**FAST)
def update(Y, V, G, A, R, Z, exaggeration, rate, momentum, gains, least_gain, largest_step, floor):
    """One step of momentum with gains; then deviations are brought to `floor` at least, and places centred.

    The projection onto (a − |b|)/√2 ≥ floor is the nearest point of that cone.
    """
    n = Y.shape[1]
    inverse = f32(1.0 / Z)
    for d in range(5):
        for i in range(n):
            g = f32(4) * (exaggeration * A[d, i] - R[d, i] * inverse)
            k = f32(1)
            if gains:
                k = G[d, i] + f32(0.2) if V[d, i] * g < f32(0) else G[d, i] * f32(0.8)
                k = max(k, least_gain)
                G[d, i] = k
            V[d, i] = momentum * V[d, i] - rate * k * g
    if largest_step > 0:
        for i in range(n):
            s = f32(0)
            for d in range(5):
                s += V[d, i] * V[d, i]
            if s > largest_step * largest_step:
                k = largest_step / math.sqrt(s)
                for d in range(5):
                    V[d, i] *= k
    for d in range(5):
        for i in range(n):
            Y[d, i] += V[d, i]
    for d in range(2):
        mean = 0.0
        for i in range(n):
            mean += Y[d, i]
        shift = f32(mean / n)
        for i in range(n):
            Y[d, i] -= shift
    least = f32(floor * math.sqrt(2.0))
    for i in range(n):
        size = f32(math.sqrt(Y[3, i] * Y[3, i] + Y[4, i] * Y[4, i]))
        lack = size - (Y[2, i] - least)
        if lack > 0:
            if Y[2, i] - least <= -size:  # below the cone's tip: a circle of the least size
                Y[2, i] = least
                Y[3, i] = f32(0)
                Y[4, i] = f32(0)
            else:
                keep = max(size - f32(0.5) * lack, f32(0))
                Y[2, i] = keep + least
                if size > 0:
                    Y[3, i] *= keep / size
                    Y[4, i] *= keep / size


@njit(parallel=True, **FAST)
def kl_rows(P, Y, totals, shares):
    """KL terms by rows in float64: Σ totals + log Σ shares is the KL."""
    n = Y.shape[1]
    for i in prange(n):
        t = 0.0
        z = 0.0
        for j in range(n):
            if j == i:
                continue
            u0 = float(Y[0, i]) - float(Y[0, j])
            u1 = float(Y[1, i]) - float(Y[1, j])
            ai, aj = float(Y[2, i]), float(Y[2, j])
            p0, p1, q0, q1 = float(Y[3, i]), float(Y[4, i]), float(Y[3, j]), float(Y[4, j])
            D = ai * aj + p0 * q0 + p1 * q1
            C = p0 * q1 - p1 * q0
            bures = ai * ai + p0 * p0 + p1 * p1 + aj * aj + q0 * q0 + q1 * q1 - 2.0 * math.sqrt(D * D + C * C)
            s = 1.0 + u0 * u0 + u1 * u1 + max(bures, 0.0)
            z += 1.0 / s
            p = float(P[i, j])
            if p > 0.0:
                t += p * math.log(p * s)
        totals[i] = t
        shares[i] = z


def covariances(Y: np.ndarray) -> np.ndarray:
    """(n, 2, 2) covariances of items (5, n): the square of the root (a·I + b·R)/√2."""
    a, b0, b1 = (np.asarray(row, np.float64) for row in Y[2:])
    mean, away = 0.5 * (a * a + b0 * b0 + b1 * b1), a
    out = np.empty((Y.shape[1], 2, 2))
    out[:, 0, 0] = mean + away * b0
    out[:, 1, 1] = mean - away * b0
    out[:, 0, 1] = out[:, 1, 0] = away * b1
    return out
