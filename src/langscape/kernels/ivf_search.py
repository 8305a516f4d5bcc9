"""Nearest rows among nearby cells only: an inverted file whose cells are compared by matrix products.

Rows fall into cells by k-means. Of a tile of queries, those that look into a cell are multiplied with
its rows at once, so that most time is spent in BLAS and not in walking lists.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from langscape.kernels.linear import blocks, side_by_side
from langscape.kernels.maths import FAST

_TILE = 4096
_SAMPLED = 500


class Cells:
    """Searches X, (n, dim) float32, in cells of about √n/2 rows; `recall` is the share it finds.

    Cells are added until the recall of k neighbours is the one wanted, measured on 500 of `like`, queries
    such as will be asked (rows of X itself if left out).
    """

    def __init__(
        self, X: np.ndarray, k: int, wanted: float, seed: int = 0, like: np.ndarray | None = None
    ) -> None:
        n = len(X)
        self._centres = _centres(X, int(2 ** np.round(np.log2(2.0 * np.sqrt(n)))), seed)
        home = self._home_of(X)
        self._rows = np.argsort(home, kind="stable")
        self._starts = np.searchsorted(home[self._rows], np.arange(len(self._centres) + 1))
        self._X = np.ascontiguousarray(X[self._rows])
        self._norms = np.einsum("ij,ij->i", self._X, self._X)
        asked = X if like is None else like
        rows = np.random.default_rng(seed).choice(len(asked), min(len(asked), _SAMPLED), replace=False)
        self.probes, self.recall = self._enough(np.ascontiguousarray(asked[np.sort(rows)]), k, wanted)

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray], probes: int, recall: float) -> Cells:
        """What `arrays` gave of another; they may lie in a file and are read cell by cell."""
        cells = cls.__new__(cls)
        cells._centres, cells._rows, cells._starts = (arrays[name] for name in ("centres", "rows", "starts"))
        cells._X, cells._norms = arrays["vectors"], arrays["norms"]
        cells.probes, cells.recall = probes, recall
        return cells

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a search needs beside `probes`: the vectors in the order of the cells, and that order."""
        return {
            "centres": self._centres, "rows": self._rows, "starts": self._starts,
            "vectors": self._X, "norms": self._norms,
        }  # fmt: skip

    def vectors(self, rows: np.ndarray | slice) -> np.ndarray:
        """Rows of X by their own numbers."""
        at = np.empty(len(self._rows), np.intp)
        at[self._rows] = np.arange(len(at))
        return np.ascontiguousarray(self._X[at[rows]])

    def _home_of(self, X: np.ndarray) -> np.ndarray:
        """The cell of each row; distances to all cells are held for some rows at a time."""
        home = np.empty(len(X), np.intp)

        def work(part: slice) -> None:
            home[part] = _squared_from(self._centres, X[part]).argmin(1)

        side_by_side(work, blocks(len(X), _TILE))
        return home

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and indices of the k nearest rows of each query, nearest first.

        Where the cells held fewer than k rows the last indices are −1.
        """
        squared = np.full((len(queries), k), np.inf, np.float32)
        found = np.full((len(queries), k), -1, np.int64)
        side_by_side(
            lambda part: self._tile(queries[part], squared[part], found[part]), blocks(len(queries), _TILE)
        )
        return squared, found

    def _tile(self, queries: np.ndarray, squared: np.ndarray, found: np.ndarray) -> None:
        away = _squared_from(self._centres, queries)
        farthest = np.partition(away, self.probes - 1, axis=1)[:, self.probes - 1]
        looks = np.ascontiguousarray((away <= farthest[:, None]).T)
        for cell in range(len(self._centres)):
            start, stop = self._starts[cell], self._starts[cell + 1]
            here = np.flatnonzero(looks[cell])
            if start < stop and len(here):
                products = queries[here] @ self._X[start:stop].T
                _keep_nearest(products, self._norms[start:stop], self._rows[start:stop], here, squared, found)
        squared += np.einsum("ij,ij->i", queries, queries)[:, None]
        np.maximum(squared, 0.0, out=squared)

    def _enough(self, queries: np.ndarray, k: int, wanted: float) -> tuple[int, float]:
        """The fewest cells that reach the recall, and what they reach: one look at where neighbours live."""
        cells = len(self._centres)
        self.probes = cells
        _, true = self.search(queries, k)
        home = np.empty(len(self._rows), np.intp)
        home[self._rows] = np.repeat(np.arange(cells), np.diff(self._starts))
        order = _squared_from(self._centres, queries).argsort(1, kind="stable")
        turn = np.empty_like(order)
        np.put_along_axis(turn, order, np.arange(cells)[None, :], 1)
        turns = np.sort(np.take_along_axis(turn, home[true], 1), axis=None)
        # the sample estimates the recall to about half a point, so aim that much higher
        probes = int(turns[int(np.ceil(min(wanted + 0.005, 0.999) * (turns.size - 1)))]) + 1
        return probes, float(np.searchsorted(turns, probes) / turns.size)


def _centres(X: np.ndarray, cells: int, seed: int) -> np.ndarray:
    import faiss

    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(len(X), min(len(X), 64 * cells), replace=False))
    means = faiss.Kmeans(X.shape[1], cells, niter=8, seed=seed + 1, max_points_per_centroid=64)
    means.cp.min_points_per_centroid = 1

    def work(_: slice) -> None:
        faiss.omp_set_num_threads(1)  # of this thread: the same bits for any number of threads
        means.train(np.ascontiguousarray(X[sample]))

    side_by_side(work, [slice(0, 1)])
    return np.asarray(means.centroids)


def _squared_from(centres: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Squared distances of each row of X to the centres, less the row's own square: the order is the same."""
    away = X @ centres.T
    away *= -2.0
    away += np.einsum("ij,ij->i", centres, centres)
    return away


@njit(**FAST)
def _keep_nearest(products, norms, rows, here, squared, found):
    """Put rows nearer than a query's k-th into its list; squared holds ‖x‖² − 2q·x, without ‖q‖²."""
    k = squared.shape[1]
    for i in range(here.size):
        q = here[i]
        last = squared[q, k - 1]
        nearer = np.int32(0)
        for j in range(rows.size):  # a count vectorises, a search for the first does not
            nearer += np.int32(norms[j] - np.float32(2.0) * products[i, j] < last)
        if nearer == 0:
            continue
        for j in range(rows.size):
            value = norms[j] - np.float32(2.0) * products[i, j]
            if value < last:
                at = k - 1
                while at > 0 and squared[q, at - 1] > value:
                    squared[q, at] = squared[q, at - 1]
                    found[q, at] = found[q, at - 1]
                    at -= 1
                squared[q, at] = value
                found[q, at] = rows[j]
                last = squared[q, k - 1]
