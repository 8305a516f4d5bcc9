"""Where a descent starts: random, principal axes, classical scaling, an array, or an earlier map."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data import Affinities, Map
from langscape.errors import DataError, SettingsError
from langscape.kernels.linear import one_blas_thread, principal_axes

SPREAD = 1e-4
"""Standard deviation of the first axis of a start by PCA or MDS, and of random ones."""

NAMES = ("pca", "random", "mds", "mds-angular", "spectral")
_MDS_UP_TO = 5000


def start(
    affinities: Affinities, initial: str | np.ndarray | Map, dims: int, seed: int, *, spread: float = SPREAD
) -> np.ndarray:
    """(n, dims) float64 coordinates to descend from.

    Named starts are scaled so that the first axis has standard deviation `spread`. "pca" and
    "mds" need the vectors behind the affinities; without them "pca" means "spectral", the
    leading eigenvectors of P. An earlier map lends its places to the labels it knows; the
    rest start at the mean of their neighbours.
    """
    n = len(affinities)
    rng = np.random.default_rng([seed, n, dims])
    if isinstance(initial, Map):
        return _from_map(affinities, initial, dims, rng)
    if not isinstance(initial, str):
        return _given(initial, n, dims)
    if initial not in NAMES:
        raise SettingsError(
            f"initial {initial!r} is not known; use one of {', '.join(NAMES)}, an array or a map"
        )
    if initial == "random":
        return rng.normal(0.0, spread, (n, dims))
    if initial == "spectral" or (initial == "pca" and affinities.vectors is None):
        return _scaled(_spectral(affinities, dims, rng), spread, rng)
    if affinities.vectors is None:
        raise DataError(
            f'initial "{initial}" needs vectors, and these affinities came without; use "spectral"'
        )
    if initial == "pca":
        return _scaled(principal_axes(affinities.vectors, dims)[0], spread, rng)
    return _scaled(classical_scaling(affinities.vectors, dims, angular=initial == "mds-angular"), spread, rng)


def _scaled(Y: np.ndarray, spread: float, rng: np.random.Generator) -> np.ndarray:
    deviation = Y[:, 0].std()
    Y = Y * (spread / deviation) if deviation > 0 else np.zeros_like(Y)
    # identical points would feel identical forces for ever and never part
    return Y + rng.normal(0.0, spread * 1e-3, Y.shape)


def _given(initial: Any, n: int, dims: int) -> np.ndarray:
    try:
        Y = np.array(initial, np.float64)
    except (TypeError, ValueError):
        raise SettingsError("initial must be a name, an array of numbers or a map") from None
    if Y.shape != (n, dims):
        raise SettingsError(f"initial has shape {Y.shape}, but the map needs ({n}, {dims})")
    if not np.isfinite(Y).all():
        raise DataError("initial holds NaN or infinity")
    return Y


def _from_map(affinities: Affinities, earlier: Map, dims: int, rng: np.random.Generator) -> np.ndarray:
    if earlier.xy.shape[1] != dims:
        raise SettingsError(f"the earlier map has {earlier.xy.shape[1]} dimensions, this one {dims}")
    place = {label: i for i, label in reversed(list(enumerate(earlier.labels)))}
    at = np.array([place.get(label, -1) for label in affinities.items.labels])
    known = at >= 0
    if not known.any():
        raise DataError("the earlier map has no label in common with these items")
    Y = np.zeros((len(at), dims))
    Y[known] = earlier.xy[at[known]]
    if not known.all():
        weights = affinities.P[~known][:, known]
        total = np.asarray(weights.sum(1), np.float64).reshape(-1, 1)
        means = np.asarray(weights @ Y[known]) / np.where(total > 0, total, np.inf)
        Y[~known] = np.where(total > 0, means, Y[known].mean(0))
        scale = Y[known].std() if known.sum() > 1 else 1.0
        Y[~known] += rng.normal(0.0, 1e-2 * max(scale, 1e-9), (int((~known).sum()), dims))
    return Y


def classical_scaling(X: np.ndarray, dims: int, *, angular: bool = False) -> np.ndarray:
    """Classical MDS on cosine distance 1 − cos, or on the angle between vectors (radians)."""
    n = len(X)
    if n > _MDS_UP_TO:
        raise SettingsError(
            f'initial "mds" compares all pairs and takes up to {_MDS_UP_TO} items, not {n}; use "pca"'
        )
    X = np.asarray(X, np.float64)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    if (lengths == 0).any():
        raise DataError(f"row {int(np.flatnonzero(lengths.ravel() == 0)[0])} is all zeros and has no cosine")
    with one_blas_thread():
        cosine = np.clip((X / lengths) @ (X / lengths).T, -1.0, 1.0)
        D = np.arccos(cosine) if angular else 1.0 - cosine
        B = D * D
        B -= B.mean(0)
        B -= B.mean(1, keepdims=True)
        from scipy.linalg import eigh

        k = min(dims, n)
        values, vectors = eigh(-0.5 * B, subset_by_index=[n - k, n - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    peak = np.abs(vectors).argmax(0)
    vectors = vectors * np.where(vectors[peak, np.arange(k)] < 0, -1.0, 1.0)
    return np.pad(vectors * np.sqrt(np.maximum(values, 0.0)), ((0, 0), (0, dims - k)))


def _spectral(affinities: Affinities, dims: int, rng: np.random.Generator) -> np.ndarray:
    """Leading non-trivial eigenvectors of D^(−½) P D^(−½): neighbours start side by side."""
    P = affinities.P
    n = len(affinities)
    degree = np.maximum(np.asarray(P.sum(1), np.float64).ravel(), 1e-12)
    scale = 1.0 / np.sqrt(degree)
    k = min(dims + 1, n)
    with one_blas_thread():
        if n <= 1500:
            from scipy.linalg import eigh

            dense = np.asarray(P if isinstance(P, np.ndarray) else P.toarray(), np.float64)
            _, vectors = eigh(scale[:, None] * dense * scale, subset_by_index=[n - k, n - 1])
            vectors = vectors[:, ::-1]
        else:
            from scipy.sparse.linalg import LinearOperator, eigsh

            # float32 throughout: at this tolerance it serves, and half the bytes are half the time
            s = scale.astype(np.float32)
            operator: Any = LinearOperator  # made by a factory that pyright does not see
            S = operator((n, n), matvec=lambda x: s * (P @ (s * x.ravel())), dtype=np.float32)
            first = rng.random(n).astype(np.float32)
            values, vectors = eigsh(S, k=k, v0=first, tol=1e-3, which="LA")  # type: ignore[arg-type]
            vectors = vectors[:, np.argsort(-values)].astype(np.float64)
    Y = vectors[:, 1:k] * scale[:, None]
    peak = np.abs(Y).argmax(0)
    Y = Y * np.where(Y[peak, np.arange(Y.shape[1])] < 0, -1.0, 1.0)
    # axes alike in spread: where one eigenvector is all outlier, the start would be a line that stays one
    Y = Y / np.maximum(Y.std(0), 1e-12 * np.abs(Y).max())
    return np.pad(Y, ((0, 0), (0, dims - Y.shape[1])))
