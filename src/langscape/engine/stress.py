"""Maps that keep large distances: places whose distances are those of the data, by least squares (stress)."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.errors import DataError

LOCAL = 1.0
"""How much more near pairs weigh: a pair counts as its distance to the power of −LOCAL. 0 is plain stress,
whose sum the far pairs make; 1 is Sammon's; 2 counts errors in per cent."""

_STEPS = 300


def stress_layout(
    distances: Any, dims: int = 2, *, local: float = LOCAL, steps: int = _STEPS, seed: int = 0
) -> tuple[np.ndarray, float]:
    """(n, dims) places whose distances follow those given, (n, n), and the normalised stress: 0 is perfect.

    Begins at classical scaling and descends Σ w (d − δ)², w = δ^−local, by L-BFGS. Normalised stress is the
    root of Σ w (d − δ)² / Σ w δ².

    >>> xy, left = stress_layout([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> bool(left < 1e-4), xy.shape
    (True, (3, 2))
    """
    D = np.asarray(distances, np.float64)
    n = len(D)
    if D.shape != (n, n) or not np.isfinite(D).all() or (D < 0).any():
        raise DataError(f"distances have shape {D.shape}; a table of finite distances between all is needed")
    if n < 3:
        return np.zeros((n, dims)) if n < 2 else np.pad([[0.0], [D[0, 1]]], ((0, 0), (0, dims - 1))), 0.0
    from scipy.optimize import minimize

    row, column = np.triu_indices(n, 1)
    far = D[row, column]
    scale = float(far.mean())
    if not scale > 0:
        return np.zeros((n, dims)), 0.0
    far = far / scale
    # pairs on one spot would weigh without end
    weight = np.maximum(far, 1e-2) ** -local
    weight /= (weight * far * far).sum()

    def stress(flat: np.ndarray) -> tuple[float, np.ndarray]:
        Y = flat.reshape(n, dims)
        away = Y[row] - Y[column]
        apart = np.sqrt((away * away).sum(axis=1))
        off = apart - far
        pull = (2 * weight * off / np.maximum(apart, 1e-12))[:, None] * away
        gradient = np.empty((n, dims))
        for d in range(dims):
            gradient[:, d] = np.bincount(row, pull[:, d], n) - np.bincount(column, pull[:, d], n)
        return float((weight * off * off).sum()), gradient.ravel()

    found = minimize(
        stress, _classical(D / scale, dims, seed).ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": steps, "maxcor": 20, "gtol": 1e-9, "ftol": 1e-10},
    )  # fmt: skip
    xy = found.x.reshape(n, dims) * scale
    return xy - xy.mean(axis=0), float(np.sqrt(max(found.fun, 0.0)))


def _classical(D: np.ndarray, dims: int, seed: int) -> np.ndarray:
    """Classical scaling; noise keeps points apart that it puts on one spot."""
    from scipy.linalg import eigh

    n = len(D)
    B = D * D
    B = -0.5 * (B - B.mean(axis=0) - B.mean(axis=1, keepdims=True) + B.mean())
    values, axes = eigh(B, subset_by_index=[max(0, n - dims), n - 1])
    Y = np.zeros((n, dims))
    Y[:, : len(values)] = (axes * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    return Y + 1e-3 * np.random.default_rng(seed).normal(size=Y.shape)
