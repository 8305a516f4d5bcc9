import numpy as np
import pytest

from langscape.kernels import neighbours, reference
from langscape.kernels.ivf_search import Cells


def test_exact_neighbours_are_those_of_all_pairs_without_the_row_itself():
    X = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32)
    found = neighbours.nearest(X, 9)
    D = reference.squared_distances(X)
    np.fill_diagonal(D, np.inf)
    assert np.array_equal(np.sort(found.index), np.sort(np.argsort(D, 1)[:, :9]))
    np.testing.assert_allclose(found.squared, np.sort(D, 1)[:, :9], rtol=1e-3, atol=1e-4)


def test_duplicates_do_not_make_a_row_its_own_neighbour():
    X = np.zeros((40, 3), np.float32)
    found = neighbours.nearest(X, 5)
    assert not (found.index == np.arange(40)[:, None]).any()
    assert found.index.shape == (40, 5)


def test_cells_reach_the_recall_they_report(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_BELOW", 1000)
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(60, 20))[rng.integers(0, 60, 6000)] * 3 + rng.normal(size=(6000, 20))).astype(
        np.float32
    )
    found = neighbours.nearest(X, 30, recall=0.95)
    rows = np.arange(0, 6000, 7)
    true = []
    for i in rows:
        d = ((X - X[i]) ** 2).sum(1)
        d[i] = np.inf
        true.append(np.argsort(d)[:30])
    share = np.mean([len(np.intersect1d(found.index[i], t)) / 30 for i, t in zip(rows, true, strict=True)])
    assert share >= 0.94
    assert found.recall == pytest.approx(share, abs=0.02)


def test_all_cells_searched_find_what_all_pairs_give():
    rng = np.random.default_rng(2)
    X, queries = rng.normal(size=(3000, 7)).astype(np.float32), rng.normal(size=(90, 7)).astype(np.float32)
    cells = Cells(X, 8, 1.0, like=queries)
    cells.probes = 128
    squared, found = cells.search(queries, 8)
    D = ((queries[:, None] - X[None]) ** 2).sum(-1)
    assert np.array_equal(found, np.argsort(D, 1)[:, :8])
    np.testing.assert_allclose(squared, np.sort(D, 1)[:, :8], atol=1e-4)


def test_queries_that_look_into_too_few_rows_are_compared_with_everything(monkeypatch):
    monkeypatch.setattr(neighbours, "PAIRS_UP_TO", 10)
    X = np.random.default_rng(3).normal(size=(2500, 5)).astype(np.float32)
    found = neighbours.Finder(X, 50, X[:50], k=1, wanted=0.5)(X[:50], 400)[1]
    assert (found >= 0).all()
    assert np.array_equal(found[:, 0], np.arange(50))


def test_recall_is_measured_on_the_queries_that_are_asked():
    rng = np.random.default_rng(4)
    X = (rng.normal(size=(40, 16))[rng.integers(0, 40, 4000)] * 2 + rng.normal(size=(4000, 16))).astype(
        np.float32
    )
    queries = rng.normal(size=(400, 16)).astype(np.float32) * 2  # between the clusters
    cells = Cells(X, 10, 0.95, like=queries)
    D = ((queries[:, None] - X[None]) ** 2).sum(-1)
    found = cells.search(queries, 10)[1]
    share = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, np.argsort(D, 1)[:, :10], strict=True)])
    assert share / 10 == pytest.approx(cells.recall, abs=0.005)
    assert cells.probes > Cells(X, 10, 0.95).probes


def test_the_neighbours_of_some_rows_in_given_cells_are_those_of_the_whole_search(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_BELOW", 1000)
    monkeypatch.setattr(neighbours, "PART", 4096)
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(40, 16))[rng.integers(0, 40, 9000)] * 2 + rng.normal(size=(9000, 16))).astype("f4")
    whole = neighbours.nearest(X, 12, recall=0.9)
    cells = Cells(neighbours._centred(X, neighbours.centre_of(X)), 13, (0.9 * 12 + 1) / 13)
    cells = Cells.restored(cells.arrays(), cells.probes, cells.recall)
    for first, count in ((0, 4096), (4096, 4904)):
        index, squared = neighbours.neighbours_in(cells, first, count, 12)
        np.testing.assert_array_equal(index, whole.index[first : first + count])
        np.testing.assert_array_equal(squared, whole.squared[first : first + count])
