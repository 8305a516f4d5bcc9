"""How far to trust a map of more words than fit into memory: their vectors are read part by part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from langscape.analyses._packed_vectors import packed_rows, read_packed
from langscape.data import Map
from langscape.kernels.linear import one_blas_thread, squared_distances
from langscape.kernels.rank_agreement import in_common, rank_correlations
from langscape.metrics.null import LEAST_DRAWS, Null
from langscape.metrics.point_scores import known_mean
from langscape.metrics.scores import neighbours

_ROWS, _BY_CHANCE = 1000, 100
_PART = 8192


def large_quality(map: Map, packed: Path) -> dict[str, float]:
    """Local and global quality of a thousand words, evenly spread over the map's rows.

    Their nearest are looked for among all words of the map; the order of distances is compared among the
    thousand themselves. `packed` holds the vectors of all words, in any order.
    """
    from scipy.spatial import KDTree

    n = len(map)
    if n < 3:
        return {}
    k = neighbours(n)
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(int))
    vectors = np.empty((0, 0))
    at = {int(row): i for i, row in enumerate(rows)}
    for there, part in _parts(map, packed):
        if not vectors.size:
            vectors = np.zeros((len(rows), part.shape[1]), np.float32)
        for row, vector in zip(there, part, strict=True):
            if row in at:
                vectors[at[row]] = vector
    centre = vectors.mean(0)  # float32 distances lose digits far from the origin
    vectors -= centre
    near, gap = np.full((len(rows), k), -1), np.full((len(rows), k), np.inf, np.float32)
    for there, part in _parts(map, packed):
        with one_blas_thread():
            squared = squared_distances(vectors, part - centre)
        squared[rows[:, None] == there] = np.inf  # a word is not its own neighbour
        both = np.concatenate([gap, squared], 1)
        index = np.concatenate([near, np.broadcast_to(there, squared.shape)], 1)
        best = np.argpartition(both, k - 1, axis=1)[:, :k]
        near, gap = np.take_along_axis(index, best, 1), np.take_along_axis(both, best, 1)
    found = np.asarray(KDTree(map.xy).query(map.xy[rows], k + 1)[1])
    own = found == rows[:, None]
    own[~own.any(1), -1] = True  # where words lie on one place the word itself may be left out
    on_map = found[~own].reshape(len(rows), k)
    local = in_common(near, on_map) / k
    rng = np.random.default_rng(0)
    dealt = [rng.permutation(len(rows)) for _ in range(LEAST_DRAWS)]
    by_chance = Null.of([(in_common(near, on_map[order]) / k).mean() for order in dealt])
    others = ~np.eye(len(rows), dtype=bool)

    def far(X: np.ndarray, some: slice = slice(None)) -> np.ndarray:
        return squared_distances(X[some], X)[others[some]].reshape(len(X[some]), -1)

    order = rank_correlations(far(vectors), far(map.xy[rows]))
    judged = slice(0, None, max(1, len(rows) // _BY_CHANCE))
    known = far(vectors, judged)
    order_by_chance = Null.of(
        [known_mean(rank_correlations(known, far(map.xy[rows[turn]], judged))) for turn in dealt]
    )
    return {
        "local": float(local.mean()),
        "global": known_mean(order),
        "local_sd": float(local.std()),
        "global_sd": float(order[np.isfinite(order)].std()) if np.isfinite(order).any() else float("nan"),
        **by_chance.beside("local"),
        **order_by_chance.beside("global"),
        "k": float(k),
        "rows": float(len(rows)),
    }


def _parts(map: Map, packed: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The map's rows and their vectors, a part of the file at a time; of unit length where cosines count."""
    place = {word: row for row, word in enumerate(map.labels)}
    for first in range(0, packed_rows(packed), _PART):
        words, matrix = read_packed(packed, first, _PART)
        there = np.array([place.get(word, -1) for word in words])
        part = np.asarray(matrix[there >= 0], np.float32)
        if map.metric == "cosine":
            part = part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-12)
        if len(part):
            yield there[there >= 0], part
