"""Who is near in the data: the nearest of every item, which travel with its map so that it can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.metrics.scores import K, neighbours
from langscape.metrics.space import Metric
from langscape.metrics.space import vectors as space_of

STORED, MANY = 20, 20_000
"""Neighbours kept of each item, beyond the ten that are counted; of more than so many items, only those."""

_EXACT = 3000
_BLOCK = 256


def true_neighbours(vectors: Any, metric: Metric = "euclidean") -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, k) of the nearest in the data, nearest first, and how far they are; −1 and NaN for none.

    Up to 3,000 items they are those that `local` counts, ties broken by index; above, found in float32.

    >>> true_neighbours([[0.0], [1.0], [3.0]])[0].tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    X = np.asarray(vectors)
    n = len(X)
    k = min(n - 1, STORED if n <= MANY else K)
    if k < 1:
        return np.empty((n, 0), np.int32), np.empty((n, 0), np.float32)
    if n <= _EXACT:
        rows = _exact(X, metric, k)
    else:
        from langscape.kernels.neighbours import nearest

        rows = nearest(_directions(X) if metric == "cosine" else X, k).index
    return rows.astype(np.int32), _distances(X, rows, metric)


def _exact(X: np.ndarray, metric: Metric, k: int) -> np.ndarray:
    space = space_of(X, metric)
    n = space.n
    found = np.empty((n, k), np.intp)
    for start in range(0, n, _BLOCK):
        some = np.arange(start, min(n, start + _BLOCK))
        far = space.squared(some)[:, :n].copy()
        far[np.arange(len(some)), some] = np.inf
        found[some] = np.argsort(far, axis=1, kind="stable")[:, :k]
    return found


def _directions(X: np.ndarray) -> np.ndarray:
    X = np.asarray(X, np.float64)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)


def _distances(X: np.ndarray, rows: np.ndarray, metric: Metric) -> np.ndarray:
    """How far each neighbour is: Euclidean, or 1 − cosine."""
    X = _directions(X) if metric == "cosine" else np.asarray(X, np.float64)
    out = np.empty(rows.shape, np.float32)
    for start in range(0, len(X), _BLOCK):
        part = slice(start, start + _BLOCK)
        away = X[rows[part]] - X[part][:, None]
        squared = np.einsum("nkd,nkd->nk", away, away)
        out[part] = squared / 2 if metric == "cosine" else np.sqrt(squared)
    return out


@dataclass(frozen=True, eq=False)
class KeptFalseMissing:
    """Of each item's k nearest on the map: rows (n, k), which are true, and which true ones are missing.

    near     (n, k) the nearest on the map
    false    (n, k) whether each of these is none of the k nearest in the data
    true     (n, k) the nearest in the data
    missing  (n, k) whether each of those is none of the k nearest on the map
    """

    near: np.ndarray
    false: np.ndarray
    true: np.ndarray
    missing: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        """(n,) how many of the true neighbours are near on the map."""
        return (~self.missing & (self.true >= 0)).sum(axis=1)


def kept_false_missing(xy: Any, true: Any, k: int | None = None) -> KeptFalseMissing:
    """Which true neighbours a map keeps, which it misses, and which it makes up.

    xy (n, dims) are the places and true (n, ≥ k) the rows of the nearest in the data, as a map carries them
    in `Map.neighbours`. k is 10, or fewer than half the items.

    >>> found = kept_false_missing([[0.0], [1.0], [9.0]], [[1, 2], [2, 0], [1, 0]], k=1)
    >>> found.kept.tolist(), found.near[found.false].tolist(), found.true[found.missing].tolist()
    ([1, 0, 1], [0], [2])
    """
    Y, T = np.asarray(xy, np.float64), np.asarray(true)
    n = len(Y)
    k = neighbours(n) if k is None else k
    if T.ndim != 2 or len(T) != n or T.shape[1] < k:
        raise DataError(f"neighbours have shape {T.shape} for {n} places; ({n}, {k}) or more are needed")
    near = nearest_places(Y, k)
    T = T[:, :k]
    same = near[:, :, None] == T[:, None, :]
    return KeptFalseMissing(near, ~same.any(axis=2), T, ~same.any(axis=1) & (T >= 0))


def nearest_places(xy: Any, k: int) -> np.ndarray:
    """(n, k) rows of the nearest on the map, nearest first.

    >>> nearest_places([[0.0], [1.0], [3.0]], 1).ravel().tolist()
    [1, 0, 1]
    """
    Y = np.asarray(xy, np.float64)
    return _exact(Y, "euclidean", k) if len(Y) <= _EXACT else _near_on_plane(Y, k)


def _near_on_plane(Y: np.ndarray, k: int) -> np.ndarray:
    from scipy.spatial import KDTree

    found = np.asarray(KDTree(Y).query(Y, k + 1)[1])
    own = found == np.arange(len(Y))[:, None]
    own[~own.any(axis=1), -1] = True  # where many lie on one place the item itself may be left out
    return found[~own].reshape(len(Y), k)
