"""A space to be compared: rows whose distances can be asked for, given by vectors or by distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from langscape.errors import DataError, SettingsError

Metric = Literal["euclidean", "cosine"]

# Columns are padded to whole tiles, so that one code path computes every pair: equal points
# then have bitwise equal distances, and ties are broken by index alone.
TILE = 64
GROUP = 4

_PART = 16_384


@dataclass(frozen=True, eq=False)
class Space:
    """n points whose order of distances can be computed, row by row. Made by `vectors` or `distances`.

    columns  (dims, points), both padded with zeros, where the space was given by vectors
    matrix   (n, n) where it was given by distances
    """

    n: int
    columns: np.ndarray | None = None
    matrix: np.ndarray | None = None

    def squared(self, rows: np.ndarray) -> np.ndarray:
        """For the rows asked for, values (rows, ≥ n) that order all points as their distances do.

        Columns from n on are padding. Values of different rows can be compared too.
        """
        if self.matrix is not None:
            return self.matrix[rows]
        from langscape.metrics import kernels

        assert self.columns is not None
        padded = np.resize(rows, _up(len(rows), GROUP))
        out = np.empty((len(padded), self.columns.shape[1]))
        kernels.squared_distances(self.columns, padded, out)
        return out[: len(rows)]

    def dealt(self, order: np.ndarray) -> Space:
        """The same places dealt anew: point i lies where point order[i] lay."""
        if self.matrix is not None:
            return Space(self.n, matrix=self.matrix[np.ix_(order, order)])
        assert self.columns is not None
        columns = self.columns.copy()
        columns[:, : self.n] = columns[:, order]
        return Space(self.n, columns=columns)


def vectors(X: Any, metric: Metric = "euclidean") -> Space:
    """A space given by vectors, shape (n, dims).

    A vector of zeros has no direction: under "cosine" it is at right angles to every other.

    >>> vectors([[0.0, 0.0], [3.0, 4.0]]).n
    2
    """
    if metric not in ("euclidean", "cosine"):
        raise SettingsError(f"metric {metric!r} is not known here; choose 'euclidean' or 'cosine'")
    X = _numbers(X, "vectors", keep=np.float32)
    if X.ndim != 2 or X.shape[1] == 0:
        raise DataError(f"vectors have shape {X.shape}, but (points, dimensions) is needed")
    n, dims = X.shape
    # A power of two changes no rank, and keeps squares from over- and underflowing.
    exponent = _exponent(X)
    zero = np.zeros(n, bool)
    columns = np.zeros((_up(dims, GROUP), _up(n, TILE)))
    for start in range(0, n, _PART):  # float32 vectors are not held a second time as float64
        part = slice(start, min(n, start + _PART))
        some = np.ldexp(np.asarray(X[part], np.float64), -exponent)
        if metric == "cosine":
            some, zero[part] = _directions(some)
        columns[:dims, part] = some.T
    if zero.any():
        columns = np.pad(columns, ((0, _up(dims + 1, GROUP) - len(columns)), (0, 0)))
        columns[dims, :n] = zero
    return Space(n, columns=columns)


def distances(D: Any) -> Space:
    """A space given by its distances, shape (n, n); row i holds those from point i, the diagonal is ignored.

    Squared distances do as well: only their order counts.
    """
    D = _numbers(D, "distances")
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise DataError(f"distances have shape {D.shape}, but a square matrix (points, points) is needed")
    if D.min() < 0:
        i, j = np.unravel_index(int(D.argmin()), D.shape)
        raise DataError(f"the distance from point {i} to {j} is {D[i, j]:g}; distances cannot be negative")
    return Space(len(D), matrix=np.ldexp(D, -_exponent(D)) + 0.0)  # + 0.0: no negative zeros


def as_space(given: Any) -> Space:
    """What was given if it is a `Space`, else the Euclidean space of the vectors that were."""
    return given if isinstance(given, Space) else vectors(given)


def pair(high: Any, low: Any, least: int) -> tuple[Space, Space]:
    """Both spaces, checked to hold the same number of points, at least `least`."""
    high, low = as_space(high), as_space(low)
    if high.n != low.n:
        raise DataError(f"the two spaces hold {high.n} and {low.n} points; they must be the same points")
    if high.n < least:
        raise DataError(f"this figure needs at least {least} points, but there are {high.n}")
    return high, low


def chosen_rows(n: int, rows: Any, most_rows: int | None, seed: int) -> np.ndarray:
    """The points to judge, ascending: those named, or all, or a sample of `most_rows` drawn by `seed`."""
    if rows is not None:
        rows = np.unique(np.asarray(rows, dtype=np.intp))
        if rows.size == 0 or rows[0] < 0 or rows[-1] >= n:
            raise SettingsError(f"rows must name points from 0 to {n - 1}, at least one of them")
        return rows
    if most_rows is not None and most_rows < 1:
        raise SettingsError(f"most_rows is {most_rows}, but at least 1 point must be judged")
    if most_rows is None or n <= most_rows:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most_rows, replace=False))


def _numbers(given: Any, name: str, keep: Any = np.float64) -> np.ndarray:
    """As float64, or as `keep` where that is what it is."""
    try:
        array = np.asarray(given)
        array = array if array.dtype == keep else np.asarray(array, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be an array of numbers: {error}") from None
    if array.size == 0:
        raise DataError(f"{name} are empty, shape {array.shape}; give at least one point")
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"{name} hold {array[tuple(place)]} at {place.tolist()}; remove or replace such rows")
    return array


def _exponent(X: np.ndarray) -> int:
    return int(np.frexp(max(float(X.max()), -float(X.min())))[1])


def _directions(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows at length 1, and which have no direction."""
    # Each row is first brought near 1 by its own power of two, so that no norm under- or overflows.
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    zero = norms == 0
    return X / np.where(zero, 1.0, norms)[:, None], zero


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
