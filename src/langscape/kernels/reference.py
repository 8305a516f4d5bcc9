"""The same formulas in plain NumPy and float64: slow, readable, the oracle of the tests."""

from __future__ import annotations

import numpy as np


def squared_distances(X: np.ndarray) -> np.ndarray:
    """(n, n) squared Euclidean distances, by differences."""
    X = np.asarray(X, np.float64)
    return ((X[:, None, :] - X[None, :, :]) ** 2).sum(-1)


def conditional(D: np.ndarray, perplexity: np.ndarray | float) -> np.ndarray:
    """Rows of p_{j|i} whose perplexity 2^H is the one asked for, by bisection on log β."""
    n = len(D)
    wanted = np.broadcast_to(np.asarray(perplexity, np.float64), (n,))
    P = np.zeros((n, n))
    for i in range(n):
        others = np.arange(n) != i
        d = D[i, others] - D[i, others].min()
        low, high, p = -60.0, 60.0, d
        for _ in range(200):
            middle = 0.5 * (low + high)
            w = np.exp(-np.exp(middle) * d)
            p = w / w.sum()
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            low, high = (middle, high) if entropy > np.log(wanted[i]) else (low, middle)
        P[i, others] = p
    return P


def student(Y: np.ndarray) -> tuple[np.ndarray, float]:
    """1/(1+d²) with a zero diagonal, and its sum Z. Y is (n, dims)."""
    q = 1.0 / (1.0 + squared_distances(Y))
    np.fill_diagonal(q, 0.0)
    return q, float(q.sum())


def kl(P: np.ndarray, Y: np.ndarray) -> float:
    """KL(P‖Q) in nats."""
    q, Z = student(Y)
    some = P > 0
    return float((P[some] * np.log(P[some] * Z / q[some])).sum())


def gradient(P: np.ndarray, Y: np.ndarray, exaggeration: float = 1.0) -> np.ndarray:
    """4 Σ_j (p_ij − q_ij)(y_i − y_j)/(1+‖y_i − y_j‖²), shape (n, dims)."""
    Y = np.asarray(Y, np.float64)
    q, Z = student(Y)
    force = (exaggeration * P - q / Z) * q
    return 4.0 * (force.sum(1)[:, None] * Y - force @ Y)


def descend(
    P: np.ndarray,
    Y: np.ndarray,
    plan: np.ndarray,
    *,
    gains: bool = True,
    least_gain: float = 0.01,
    largest_step: float = 0.0,
    floor: np.ndarray | None = None,
) -> np.ndarray:
    """Run a plan (rows: exaggeration, rate, momentum, reset) from Y, shape (n, dims)."""
    Y = np.array(Y, np.float64)
    floor = np.full(Y.shape[1], -np.inf) if floor is None else np.asarray(floor, np.float64)
    V, G = np.zeros_like(Y), np.ones_like(Y)
    for exaggeration, rate, momentum, reset in np.asarray(plan, np.float64).T:
        if reset > 0:
            V[:], G[:] = 0.0, 1.0
        g = gradient(P, Y, exaggeration)
        if gains:
            G = np.maximum(np.where(V * g < 0, G + 0.2, G * 0.8), least_gain)
        V = momentum * V - rate * G * g
        if largest_step > 0:
            length = np.linalg.norm(V, axis=1, keepdims=True)
            V *= np.minimum(1.0, largest_step / np.maximum(length, 1e-300))
        Y = np.maximum(Y + V, floor)
        free = np.isinf(floor)
        Y[:, free] -= Y[:, free].mean(0)
    return Y
