"""Copies that a large map does not hold; results stay what they were, to the bit."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from langscape.affinity.points import neighbour_rows
from langscape.engine.embed import _sums
from langscape.engine.grid_descent import _Reordered
from langscape.kernels import ivf_search, neighbours
from langscape.kernels.linear import principal_axes
from langscape.kernels.perplexity import conditional_rows
from langscape.kernels.sparse import symmetric_neighbours
from langscape.metrics import space
from langscape.metrics.compare import compare

rng = np.random.default_rng(0)


def most_held(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives, and the most bytes of arrays that it held at once."""
    call()  # compiled
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def joint(n: int, k: int) -> csr_array:
    index = np.array([rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)], np.int32)
    starts, columns, values = symmetric_neighbours(rng.random((n, k)).astype(np.float32), index)
    return csr_array((values / values.sum(), columns, starts), shape=(n, n))


def test_distances_to_all_cells_are_held_for_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X = rng.normal(size=(9000, 5)).astype(np.float32)
    home = ivf_search.Cells(X, 5, 0.9)
    asked: list[int] = []
    plain = ivf_search._squared_from

    def seen(centres: np.ndarray, rows: np.ndarray) -> np.ndarray:
        asked.append(len(rows))
        return plain(centres, rows)

    monkeypatch.setattr(ivf_search, "_squared_from", seen)
    again = ivf_search.Cells(X, 5, 0.9)
    assert max(asked) == ivf_search._TILE
    np.testing.assert_array_equal(again.arrays()["rows"], home.arrays()["rows"])


def test_a_search_copies_all_rows_for_comparing_all_pairs_only_where_cells_held_too_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbours, "EXACT_BELOW", 1000)
    X = rng.normal(size=(6000, 8)).astype(np.float32)
    made: list[int] = []
    plain = neighbours._flat
    monkeypatch.setattr(neighbours, "_flat", lambda X: (made.append(len(X)), plain(X))[1])
    neighbours.nearest(X, 5)
    assert not made
    neighbours.nearest(np.repeat(X[:6], 1000, 0) + X / 1000, 1300, recall=0.5)
    assert made == [6000]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centred_part_by_part_is_centred_as_a_whole(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    X = rng.normal(size=(1000, 7)).astype(dtype) + 5
    whole = np.ascontiguousarray(X - X.mean(0), np.float32)
    monkeypatch.setattr(neighbours, "PART", 64)
    np.testing.assert_array_equal(neighbours._centred(X, X.mean(0)), whole)


def test_probabilities_take_the_place_of_distances() -> None:
    X = rng.normal(size=(500, 6)).astype(np.float32)
    wanted = np.full(500, 8.0)
    found = neighbours.nearest(X, 24)
    apart, betas, reached = np.empty((500, 24), np.float32), np.empty(500), np.empty(500)
    conditional_rows(found.squared, 0, np.log(wanted), False, apart, betas, reached)
    made = neighbour_rows(X, wanted, 0.95, 0)
    np.testing.assert_array_equal(made.P, apart)
    np.testing.assert_array_equal(made.perplexity, np.exp(reached))


def test_a_joint_p_is_made_within_one_list_of_both_directions() -> None:
    n, k = 3000, 30
    index = np.array([rng.choice(n - 1, k, replace=False) for _ in range(n)], np.int32)
    index += index >= np.arange(n)[:, None]
    P = rng.random((n, k)).astype(np.float32)
    (starts, columns, values), held = most_held(lambda: symmetric_neighbours(P, index))
    assert held < 1.15 * 2 * n * k * 8
    assert len(columns) == len(values) == starts[-1] < 2 * n * k
    one_way = csr_array((P.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    want = one_way + one_way.T
    want.sort_indices()
    np.testing.assert_array_equal(starts, want.indptr)
    np.testing.assert_array_equal(columns, want.indices)
    np.testing.assert_array_equal(values, want.data)


def test_every_order_of_a_descent_is_made_from_the_given_p_in_the_same_memory() -> None:
    P = joint(400, 12)
    places = rng.normal(size=(400, 2))
    ordered = _Reordered(P, places)
    assert np.shares_memory(ordered._given[1], P.indices)
    assert np.shares_memory(ordered._given[2], P.data)
    columns, values = ordered.csr[1:]
    for _ in range(3):
        ordered.sort(rng.normal(size=(400, 2)).astype(np.float32))
        assert ordered.csr[1] is columns
        assert ordered.csr[2] is values
    starts = ordered.csr[0].astype(int)
    for i in range(0, 400, 7):
        row = slice(P.indptr[ordered.order[i]], P.indptr[ordered.order[i] + 1])
        entries = slice(starts[i], starts[i] + row.stop - row.start)
        np.testing.assert_array_equal(ordered.order[columns[entries]], P.indices[row])
        np.testing.assert_array_equal(values[entries], P.data[row])
        assert not values[entries.stop : starts[i + 1]].any()


def test_sums_of_a_sparse_p_do_not_widen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_sums.__globals__, "_ENTRIES", 10_000)
    P = joint(2000, 40)
    (rows, columns), held = most_held(lambda: _sums(P))
    assert held < P.data.nbytes
    np.testing.assert_allclose(rows, P.toarray().sum(1, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(columns, P.toarray().sum(0, dtype=np.float64), rtol=1e-6)


def test_principal_axes_hold_one_copy_of_the_vectors() -> None:
    X = rng.normal(size=(20_000, 30)).astype(np.float32)
    (scores, axes), held = most_held(lambda: principal_axes(X, 2))
    assert held < 1.2 * X.size * 8
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(scores, (wide - wide.mean(0)) @ axes.T)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_space_of_float32_is_that_of_float64_without_a_copy_of_it(
    monkeypatch: pytest.MonkeyPatch, metric: Any
) -> None:
    X = rng.normal(size=(20_000, 20)).astype(np.float32)
    X[[3, 17_000]] = 0
    monkeypatch.setattr(space, "_PART", 30_000)
    whole = space.vectors(X.astype(np.float64), metric)
    monkeypatch.setattr(space, "_PART", 1000)
    made, held = most_held(lambda: space.vectors(X, metric))
    np.testing.assert_array_equal(made.columns, whole.columns)
    assert held < (1.4 if metric == "euclidean" else 2.4) * X.size * 8
    if metric == "cosine":
        assert made.columns is not None
        assert np.flatnonzero(made.columns[20]).tolist() == [3, 17_000]


def test_rows_of_very_many_points_are_judged_in_whole_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    high, low = (space.vectors(rng.normal(size=(300, d))) for d in (5, 2))
    rows = np.arange(0, 300, 7)
    want = compare(high, low, rows, 4)
    asked: list[int] = []
    plain = space.Space.squared
    monkeypatch.setattr("langscape.metrics.compare._BLOCK", 10)
    monkeypatch.setattr(
        space.Space, "squared", lambda self, some: (asked.append(len(some)), plain(self, some))[1]
    )
    made = compare(high, low, rows, 4)
    assert max(asked) == space.GROUP
    for one, other in zip(made, want, strict=True):
        np.testing.assert_array_equal(one, other)
