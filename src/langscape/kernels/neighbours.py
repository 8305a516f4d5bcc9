"""The k nearest neighbours of every row, exactly or by an inverted file whose recall is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.kernels.linear import blocks, side_by_side

EXACT_BELOW = 25_000
"""Up to this many rows every pair is compared; above, only rows of nearby cells."""

PAIRS_UP_TO = 10**9
"""Rows times queries that a Finder compares one by one."""

_QUERIES = 1024


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nearest first: index and squared distance, both (n, k), the row itself left out.

    recall is the share of true neighbours found, estimated on sampled rows (1.0 when exact).
    """

    index: np.ndarray
    squared: np.ndarray
    recall: float


def nearest(X: np.ndarray, k: int, *, recall: float = 0.95, seed: int = 0) -> Neighbours:
    """The k nearest other rows of every row of X by Euclidean distance."""
    X = np.ascontiguousarray(X, np.float32)
    X = X - X.mean(0)  # float32 distances lose digits far from the origin
    n = len(X)
    if n <= EXACT_BELOW:
        found = _search(_flat(X), X, k + 1)
        return Neighbours(*_without_self(*found, k), recall=1.0)
    return _by_cells(X, k, recall, seed)


def nearest_to(base: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each query the k nearest rows of base: squared distances and indices, exact."""
    return Finder(base)(queries, k)


class Finder:
    """Finds nearest rows of `base`, again and again; `recall` says what share of the true ones.

    It is exact unless the number of queries announced makes that long: then only nearby cells are
    searched, at a recall of 0.98 for ten neighbours.
    """

    def __init__(self, base: np.ndarray, queries: int = 0, seed: int = 0) -> None:
        self._centre = base.mean(0)
        X = np.ascontiguousarray(base - self._centre, np.float32)
        self._flat = _flat(X)
        self._index, self.recall = self._flat, 1.0
        if len(X) * queries > PAIRS_UP_TO and len(X) > 2000:
            self._index, self.recall = _cells(X, 10, 0.98, seed)

    def __call__(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and indices of the k nearest rows of each query, nearest first."""
        X = np.ascontiguousarray(queries - self._centre, np.float32)
        squared, found = _search(self._index, X, k)
        lost = np.flatnonzero((found < 0).any(1))
        if len(lost):  # too few rows in the probed cells
            squared[lost], found[lost] = _search(self._flat, X, k, lost)
        return squared, found


def _flat(X: np.ndarray) -> Any:
    import faiss

    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)  # type: ignore[call-arg]
    return index


def _search(
    index: Any, X: np.ndarray, k: int, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    import faiss

    queries = X if rows is None else X[rows]
    squared = np.empty((len(queries), k), np.float32)
    found = np.empty((len(queries), k), np.int64)

    def work(part: slice) -> None:
        faiss.omp_set_num_threads(1)  # of this thread; the threads are ours
        squared[part], found[part] = index.search(queries[part], k)

    side_by_side(work, blocks(len(queries), _QUERIES))
    return squared, found


def _without_self(squared: np.ndarray, found: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Drop each row from its own list; where duplicates hid it, drop the last entry instead."""
    n = len(found)
    own = found == np.arange(n)[:, None]
    own[~own.any(1), -1] = True
    keep = ~own
    return found[keep].reshape(n, k), np.maximum(squared[keep].reshape(n, k), 0.0)


def _by_cells(X: np.ndarray, k: int, wanted: float, seed: int) -> Neighbours:
    index, reached = _cells(X, k, wanted, seed)
    squared, found = _search(index, X, k + 1)
    lost = np.flatnonzero((found < 0).any(1))
    if len(lost):  # too few rows in the probed cells: compare these with everything
        squared[lost], found[lost] = _search(_flat(X), X, k + 1, lost)
    return Neighbours(*_without_self(squared, found, k), recall=reached)


def _cells(X: np.ndarray, k: int, wanted: float, seed: int) -> tuple[Any, float]:
    """An inverted file: rows fall into cells by k-means, and cells are added until the recall is there."""
    import faiss

    n, dim = X.shape
    cells = int(2 ** np.round(np.log2(2.0 * np.sqrt(n))))
    rng = np.random.default_rng(seed)
    faiss.omp_set_num_threads(1)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(dim), dim, cells)
    index.cp.seed = seed + 1
    index.cp.niter = 8
    index.cp.max_points_per_centroid = 64
    index.cp.min_points_per_centroid = 1
    sample = np.sort(rng.choice(n, min(n, 64 * cells), replace=False))
    side_by_side(lambda _: (index.train(X[sample]), index.add(X)), [slice(0, 1)])  # type: ignore[call-arg]
    rows = np.sort(rng.choice(n, min(n, 500), replace=False))
    true = _search(_flat(X), X, k + 1, rows)[1]
    probes = max(4, cells // 64)
    while True:
        index.nprobe = min(probes, cells)
        got = _search(index, X, k + 1, rows)[1]
        shared = [len(np.intersect1d(a, b)) for a, b in zip(true, got, strict=True)]
        reached = float(np.mean(shared) / (k + 1))
        # 500 rows estimate the recall to about half a point, so aim that much higher
        if reached >= min(wanted + 0.005, 0.999) or probes >= cells:
            return index, reached
        probes = int(np.ceil(probes * 1.3))
