import numpy as np
import pytest

from langscape.kernels import neighbours, plain


def test_exact_neighbours_are_those_of_all_pairs_without_the_row_itself():
    X = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32)
    found = neighbours.nearest(X, 9)
    D = plain.squared_distances(X)
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
