"""The vectors of a map in a byte a number, so that a page can tell true distances without its vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from langscape.data import Map

BYTES = 1_000_000
"""What a page carries of the vectors: of 1,000 items all of 384 dimensions, of 5,000 items 200 of them."""

LEAST = 0.9
"""The correlation with true distances, of an item's to all others on average, below which none are told."""

_SAMPLE, _OTHERS = 1000, 50


@dataclass(frozen=True, eq=False)
class Sketch:
    """Vectors as bytes, and how far distances told from them are off.

    bytes   (n, dims) along the axes on which items differ most, or as they are where there is room for all
    scales  (dims,) what a step is on each axis
    rest    (n,) the squared length that lies along no axis; of two items it adds up, as nothing they share
    error   of a sample of pairs: how far their distance is off in the middle, as a share of the distance
    """

    bytes: np.ndarray
    scales: np.ndarray
    rest: np.ndarray
    error: float

    def squared(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """(rows, others) the squared distances that are told."""
        X, Y = (self.bytes[one].astype(np.float64) * self.scales for one in (rows, others))
        rest = np.where(rows[:, None] == others, 0.0, self.rest[rows][:, None] + self.rest[others])
        return ((X[:, None] - Y[None]) ** 2).sum(axis=-1) + rest


def sketch_of(map: Map, most: int = BYTES) -> Sketch | None:
    """The vectors of a map in at most so many bytes; None without vectors, or if distances said too little.

    Distances are Euclidean, of directions where the map is by cosine.
    """
    if map.vectors is None or map.distances is None or len(map) < 3:
        return None
    X = np.asarray(map.vectors, np.float64)
    if map.metric == "cosine":
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    n, dim = X.shape
    dims = min(dim, most // n)
    if dims < min(2, dim):
        return None
    X = X - X.mean(axis=0)
    axes = None if dims == dim else _axes(X[:: -(-n // _SAMPLE)], dims)
    Y = X if axes is None else X @ axes.T
    rest = np.maximum(np.einsum("nd,nd->n", X, X) - np.einsum("nd,nd->n", Y, Y), 0.0)
    middle = (Y.max(axis=0) + Y.min(axis=0)) / 2
    scales = np.maximum((Y.max(axis=0) - Y.min(axis=0)) / 255, 1e-30)
    steps = np.clip(np.rint((Y - middle) / scales + 127.5), 0, 255).astype(np.uint8)
    found = Sketch(steps, scales.astype(np.float32), rest.astype(np.float32), 0.0)
    rows, others = (np.unique(np.linspace(0, n - 1, min(n, size)).astype(int)) for size in (_OTHERS, 500))
    true = ((X[rows][:, None] - X[others][None]) ** 2).sum(axis=-1)
    apart = (rows[:, None] != others) & (true > 0)
    if not apart.any():
        return None
    told = found.squared(rows, others)
    error = float(np.median(np.abs(np.sqrt(told[apart] / true[apart]) - 1)))
    follows = [_correlation(np.sqrt(told[at][one]), np.sqrt(true[at][one])) for at, one in enumerate(apart)]
    return replace(found, error=error) if np.mean(follows) >= LEAST else None


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    if len(a) < 2:
        return 1.0
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size > 0 else 1.0


def _axes(X: np.ndarray, count: int) -> np.ndarray:
    """(count, dim) the directions in which rows differ most, at most as many as there are rows."""
    return np.linalg.svd(X, full_matrices=False)[2][:count]
