"""The k nearest neighbours of every row, exactly or by an inverted file whose recall is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from langscape.data import Checkpoint, Progress, Step
from langscape.kernels.ivf_search import Cells
from langscape.kernels.linear import blocks, centre_of, side_by_side, squared_distances
from langscape.kernels.selection import smallest_in_rows

EXACT_BELOW = 25_000
"""Up to this many rows every pair is compared; above, only rows of nearby cells."""

PAIRS_UP_TO = 2 * 10**8
"""Rows times queries that a Finder compares one by one."""

_QUERIES = 1024
PART = 16_384
"""Rows whose neighbours are looked for between two reports: whole tiles of a search, for the same bits."""


Search = Callable[[Cells, int, int, str, Progress | None], Iterable[tuple[np.ndarray, np.ndarray]]]

SEARCH: ContextVar[Search | None] = ContextVar("neighbour_search", default=None)
"""Who looks for the k nearest of n rows in the cells instead of this process: index and squared distance,
part by part, in the order of the rows."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nearest first: index and squared distance, both (n, k), the row itself left out.

    recall is the share of true neighbours found, estimated on sampled rows (1.0 when exact).
    """

    index: np.ndarray
    squared: np.ndarray
    recall: float


def nearest(
    X: np.ndarray,
    k: int,
    *,
    recall: float = 0.95,
    seed: int = 0,
    doing: str = "neighbours",
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Neighbours:
    """The k nearest other rows of every row of X by Euclidean distance.

    A search of nearby cells tells `progress` how many rows are done, as `doing`, and goes on from what
    `checkpoint` has of them.
    """
    X = np.asarray(X)
    centre = centre_of(X)  # float32 loses digits far from the origin
    if len(X) <= EXACT_BELOW:
        return Neighbours(*_all_pairs(_centred(X, centre), k), recall=1.0)
    # a row is found in its own cell whatever is searched: it must not count as a neighbour found
    cells = Cells(_centred(X, centre), k + 1, (recall * k + 1) / (k + 1), seed)
    found = _part_by_part(cells, X, centre, k, doing, progress, checkpoint)
    return Neighbours(*found, recall=(cells.recall * (k + 1) - 1) / k)


def _part_by_part(
    cells: Cells,
    X: np.ndarray,
    centre: np.ndarray,
    k: int,
    doing: str,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Index and squared distance of the k nearest others, (n, k) each."""
    n, flat, search = len(X), cache(lambda: _flat(_centred(X, centre))), SEARCH.get()
    index, squared = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    done = 0
    if search is not None:
        for near, far in search(cells, n, k, doing, progress):
            part = slice(done, done + len(near))
            index[part], squared[part] = near, far
            done = part.stop
        return index, squared
    while checkpoint is not None and (kept := checkpoint.load(_kept_as(doing, k, done))) is not None:
        part = slice(done, done + len(kept["index"]))
        index[part], squared[part] = kept["index"], kept["squared"]
        done = part.stop
    saved = done
    while done < n:
        part = slice(done, min(n, done + PART))
        queries = _centred(X[part], centre)
        index[part], squared[part] = _without_self(*_filled(cells, flat, queries, k + 1), k, part.start)
        done = part.stop
        if progress is not None:
            progress(Step(done, n, doing))
        if checkpoint is not None and checkpoint.due():
            new = slice(saved, done)
            checkpoint.save(_kept_as(doing, k, saved), {"index": index[new], "squared": squared[new]})
            saved = done
    return index, squared


def neighbours_in(cells: Cells, first: int, count: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Index and squared distance of the k nearest others of some rows: those that `nearest` finds for them.

    `first` is a multiple of PART, so that the bits are the same.
    """
    rows = np.arange(first, first + count)
    flat = cache(lambda: _flat(cells.vectors(slice(None))))
    index, squared = np.empty((count, k), np.int32), np.empty((count, k), np.float32)
    for part in blocks(count, PART):
        queries = cells.vectors(rows[part])
        found = _filled(cells, flat, queries, k + 1)
        index[part], squared[part] = _without_self(*found, k, first + part.start)
    return index, squared


def _kept_as(doing: str, k: int, first: int) -> str:
    return f"{k} {doing} from {first}"


def nearest_to(base: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each query the k nearest rows of base: squared distances and indices, exact."""
    return Finder(base)(queries, k)


class Finder:
    """Finds nearest rows of `base`, again and again; `recall` says what share of the true ones.

    It is exact unless the number of queries announced makes that long: then only nearby cells are
    searched, enough of them for the wanted recall of k neighbours. `like` are some of those queries.
    """

    def __init__(
        self,
        base: np.ndarray,
        queries: int = 0,
        like: np.ndarray | None = None,
        *,
        k: int = 10,
        wanted: float = 0.95,
        seed: int = 0,
    ) -> None:
        self._centre = centre_of(base)  # float32 distances lose digits far from the origin
        X = _centred(base, self._centre)
        self._flat, self._cells, self.recall = _flat(X), None, 1.0
        if len(X) * queries > PAIRS_UP_TO and len(X) > 2000:
            self._cells = Cells(X, k, wanted, seed, None if like is None else _centred(like, self._centre))
            self.recall = self._cells.recall

    def __call__(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and indices of the k nearest rows of each query, nearest first."""
        X = _centred(queries, self._centre)
        if self._cells is None:
            return _search(self._flat, X, k)
        return _filled(self._cells, lambda: self._flat, X, k)


def _centred(X: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """X around a centre, contiguous float32; the difference is taken in X's own precision."""
    X = np.asarray(X)
    out = np.empty(X.shape, np.float32)
    for part in blocks(len(X), PART):
        out[part] = X[part] - centre
    return out


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


def _all_pairs(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Index and squared distance of the k other rows of X nearest to each row, nearest first.

    A product and a selection in whole rows take a third of the time of a search that keeps a heap.
    """
    n = len(X)
    squares = np.einsum("ij,ij->i", X, X)
    index, squared = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def work(part: slice) -> None:
        rows = squared_distances(X[part], X, squares)
        rows[np.arange(len(rows)), np.arange(part.start, part.stop)] = np.inf
        near, far = smallest_in_rows(rows, k)
        order = np.argsort(far, axis=1, kind="stable")
        index[part], squared[part] = (np.take_along_axis(one, order, axis=1) for one in (near, far))

    side_by_side(work, blocks(n))
    return index, squared


def _without_self(
    squared: np.ndarray, found: np.ndarray, k: int, first: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Drop each row, the first of which is `first`, from its own list; where duplicates hid it, the last."""
    n = len(found)
    own = found == np.arange(first, first + n)[:, None]
    own[~own.any(1), -1] = True
    keep = ~own
    return found[keep].reshape(n, k), np.maximum(squared[keep].reshape(n, k), 0.0)


def _filled(cells: Cells, flat: Callable[[], Any], X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What the cells hold; queries that found too few rows there are compared with everything.

    `flat` gives the index of everything, a copy of all rows that most searches never need.
    """
    squared, found = cells.search(X, k)
    lost = np.flatnonzero((found < 0).any(1))
    if len(lost):
        squared[lost], found[lost] = _search(flat(), X, k, lost)
    return squared, found
