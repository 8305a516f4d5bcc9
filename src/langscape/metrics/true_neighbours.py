"""Who is near in the data: the nearest of every item, which travel with its map so that it can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from langscape.data import Checkpoint, Map, Progress
from langscape.data.neighbourhood import Candidates, candidates_of, counted
from langscape.errors import DataError
from langscape.metrics.first_columns import smallest_columns
from langscape.metrics.scores import K, neighbours
from langscape.metrics.space import Metric
from langscape.metrics.space import vectors as space_of

STORED, MANY = 20, 20_000
"""Neighbours kept of each item, beyond the ten that are counted; of more than so many items, only those."""

RECALL = 0.99
"""The share of true neighbours to be found where items are so many that only nearby cells are searched."""

_EXACT = 3000
_BLOCK = 256
_PART = 65_536


class TrueNeighbours(NamedTuple):
    """Rows (n, k) of the nearest in the data, nearest first, how far they are, and what share was found."""

    rows: np.ndarray
    distances: np.ndarray
    recall: float = 1.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: that the search was approximate, and what share it found."""
        if self.recall >= 1:
            return ()
        return (
            f"true neighbours were found by approximate search: {100 * self.recall:.1f} % of them, measured "
            "on a sample",
        )


def true_neighbours(
    vectors: Any,
    metric: Metric = "euclidean",
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> TrueNeighbours:
    """Rows (n, k) of the nearest in the data, nearest first, and how far they are; −1 and NaN for none.

    Up to 3,000 items they are those that `local` counts, ties broken by index; up to 25,000, found in
    float32; above, by a search of nearby cells, whose recall is measured.

    >>> true_neighbours([[0.0], [1.0], [3.0]]).rows.tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    X = np.asarray(vectors)
    n = len(X)
    k = min(n - 1, STORED if n <= MANY else K)
    if k < 1:
        return TrueNeighbours(np.empty((n, 0), np.int32), np.empty((n, 0), np.float32))
    recall = 1.0
    if n <= _EXACT:
        rows = _exact(X, metric, k)
    else:
        from langscape.kernels.neighbours import nearest

        found = nearest(
            _directions(X) if metric == "cosine" else X, k, recall=RECALL, doing="true neighbours",
            progress=progress, checkpoint=checkpoint,
        )  # fmt: skip
        rows, recall = found.index, found.recall
    return TrueNeighbours(rows.astype(np.int32), _distances(X, rows, metric), recall)


def with_true_neighbours(
    map: Map, progress: Progress | None = None, checkpoint: Checkpoint | None = None
) -> Map:
    """The map with the nearest of every item among its vectors, where it has any."""
    if map.vectors is None:
        return map
    found = true_neighbours(map.vectors, map.metric, progress=progress, checkpoint=checkpoint)  # type: ignore[arg-type]
    return _judged_everywhere(
        map.but(neighbours=found.rows, distances=found.distances, notes=(*map.notes, *found.notes))
    )


def _judged_everywhere(map: Map) -> Map:
    """The map with `local` of every item: a sample was judged, but the neighbours of all are known.

    The other scores compare each item with all others and stay those of the sample.
    """
    sampled = map.per_point.get("local")
    if sampled is None or not np.isnan(sampled).any() or map.neighbours is None:
        return map
    k = int(map.quality["k"])
    if map.neighbours.shape[1] < k:
        return map
    local = kept_false_missing(map.xy, map.neighbours, k).kept / k
    quality = {**map.quality, "local": float(local.mean()), "local_sd": float(local.std())}
    note = f"local is of all {len(map):,} items, the other scores of {int(map.quality['rows']):,} among all"
    return map.but(quality=quality, per_point={**map.per_point, "local": local}, notes=(*map.notes, note))


def _exact(X: np.ndarray, metric: Metric, k: int) -> np.ndarray:
    space = space_of(X, metric)
    n = space.n
    found = np.empty((n, k), np.intp)
    for start in range(0, n, _BLOCK):
        some = np.arange(start, min(n, start + _BLOCK))
        far = space.squared(some)[:, :n].copy()
        far[np.arange(len(some)), some] = np.inf
        found[some] = smallest_columns(far, k)
    return found


def _directions(X: np.ndarray) -> np.ndarray:
    X = np.array(X, np.float64)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    return X


def _distances(X: np.ndarray, rows: np.ndarray, metric: Metric) -> np.ndarray:
    """How far each neighbour is: Euclidean, or 1 − cosine."""
    X = _directions(X) if metric == "cosine" else X
    out = np.empty(rows.shape, np.float32)
    for start in range(0, len(X), _BLOCK):
        part = slice(start, start + _BLOCK)
        away = np.asarray(X[rows[part]], np.float64) - np.asarray(X[part], np.float64)[:, None]
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


def kept_false_missing(
    xy: Any, true: Any, k: int | None = None, among: Candidates | None = None
) -> KeptFalseMissing:
    """Which true neighbours a map keeps, which it misses, and which it makes up.

    xy (n, dims) are the places and true (n, ≥ k) the rows of the nearest in the data, as a map carries them
    in `Map.neighbours`. k is 10, or fewer than half the items. With `among`, neighbours are looked for among
    the candidates of each item alone, and k is at most half of these; −1 fills the rest.

    >>> found = kept_false_missing([[0.0], [1.0], [9.0]], [[1, 2], [2, 0], [1, 0]], k=1)
    >>> found.kept.tolist(), found.near[found.false].tolist(), found.true[found.missing].tolist()
    ([1, 0, 1], [0], [2])
    """
    Y, T = np.asarray(xy, np.float64), np.asarray(true)
    n = len(Y)
    k = neighbours(n) if k is None else k
    if T.ndim != 2 or len(T) != n or T.shape[1] < k:
        raise DataError(f"neighbours have shape {T.shape} for {n} places; ({n}, {k}) or more are needed")
    T = T[:, :k]
    if among is not None:
        near, counted = _near_among(Y, k, among)
        T = np.where(np.arange(k) < counted[:, None], T, -1)
    else:
        near = nearest_places(Y, k)
    known = (T >= 0).any(axis=1, keepdims=True)
    here, there = np.empty(near.shape, bool), np.empty(T.shape, bool)
    for start in range(0, n, _PART):  # (n, k, k) at once would take a hundred bytes an item
        part = slice(start, start + _PART)
        same = (near[part, :, None] == T[part, None, :]) & (T[part] >= 0)[:, None, :]
        here[part], there[part] = same.any(axis=2), same.any(axis=1)
    return KeptFalseMissing(near, ~here & (near >= 0) & known, T, ~there & (T >= 0))


def neighbours_on(map: Map) -> KeptFalseMissing:
    """What became of the neighbours that a map carries, of all its items; `neighbourhood` is that of one.

    As many are counted as the map's scores count: of queries and keys five, of others what `local` takes.
    """
    if map.neighbours is None or not map.neighbours.shape[1]:
        raise DataError(
            "this map carries no true neighbours; make it again from its vectors or its attention"
        )
    return kept_false_missing(map.xy, map.neighbours, counted(map), candidates_of(map))


def _near_among(Y: np.ndarray, k: int, among: Candidates) -> tuple[np.ndarray, np.ndarray]:
    """(n, k) the nearest candidates of each, −1 beyond as many as count; (n,) how many count."""
    near, most = np.full((len(Y), k), -1, np.intp), np.zeros(len(Y), np.intp)
    order = np.argsort(among.sought, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(among.sought[order])) + 1):
        for start in range(0, len(rows), _BLOCK):
            some = rows[start : start + _BLOCK]
            items, may = among.of(some)
            if not len(items):
                continue
            far = np.where(may, ((Y[some, None] - Y[items][None]) ** 2).sum(axis=-1), np.inf)
            best = np.argsort(far, axis=1, kind="stable")[:, :k]
            most[some] = np.minimum(k, np.maximum(may.sum(axis=1) // 2, may.any(axis=1)))
            keeps = np.arange(best.shape[1]) < most[some, None]
            near[some, : best.shape[1]] = np.where(keeps, items[best], -1)
    return near, most


def nearest_places(xy: Any, k: int) -> np.ndarray:
    """(n, k) rows of the nearest on the map, nearest first.

    >>> nearest_places([[0.0], [1.0], [3.0]], 1).ravel().tolist()
    [1, 0, 1]
    """
    Y = np.asarray(xy, np.float64)
    return _exact(Y, "euclidean", k) if len(Y) <= _EXACT else _near_on_plane(Y, k)


def _near_on_plane(Y: np.ndarray, k: int) -> np.ndarray:
    from scipy.spatial import KDTree

    found = np.asarray(KDTree(Y).query(Y, k + 1, workers=-1)[1])
    own = found == np.arange(len(Y))[:, None]
    own[~own.any(axis=1), -1] = True  # where many lie on one place the item itself may be left out
    return found[~own].reshape(len(Y), k)
