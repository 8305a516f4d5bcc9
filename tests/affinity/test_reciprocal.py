"""Reciprocal neighbours, against the same words spelled out in loops."""

import numpy as np
import pytest

from langscape import affinity
from langscape.affinity.ranks import STEPS
from langscape.errors import SettingsError

rng = np.random.default_rng(0)


def by_the_book(X):
    """P at perplexity 30, pair by pair."""
    n = len(X)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    near = [[int(j) for j in np.argsort(D[i], kind="stable") if j != i][:50] for i in range(n)]
    weights = [next((w for last, w in STEPS if rank <= last), 0.0) for rank in range(1, 51)]
    named = np.array([sum(i in near[j][:10] for j in range(n)) for i in range(n)])
    share = (named + 1.0) ** 0.25
    C = np.zeros((n, n))
    for i in range(n):
        for rank, j in enumerate(near[i]):
            C[i, j] = weights[rank] * (2 if i in near[j][:25] else 1)
        C[i] *= share[i] / C[i].sum()
    answered = [sum(i in near[j][:25] for j in near[i]) for i in range(n)]
    return (C + C.T) / (C + C.T).sum(), answered


def test_p_follows_its_words():
    X = rng.normal(size=(150, 5)).astype(np.float32)
    P, answered = by_the_book(X.astype(float))
    found = affinity.reciprocal(X)
    np.testing.assert_allclose(found.P, P, rtol=1e-4, atol=1e-9)
    assert found.items.columns["answered"].tolist() == answered


def test_above_2500_points_p_is_sparse_and_proper():
    found = affinity.reciprocal(rng.normal(size=(2600, 4)), metric="cosine")
    assert found.P.sum() == pytest.approx(1, abs=1e-4)
    assert abs(found.P - found.P.T).max() < 1e-9
    assert np.diff(found.P.indptr).min() >= 50
    assert found.metric == "cosine"


def test_few_points_and_odd_settings_are_met_in_words():
    assert affinity.reciprocal(rng.normal(size=(5, 2)), 2).P.shape == (5, 5)
    with pytest.raises(SettingsError, match="manhattan"):
        affinity.reciprocal(rng.normal(size=(9, 2)), 2, "manhattan")
    with pytest.raises(SettingsError, match="perplexity -1"):
        affinity.reciprocal(rng.normal(size=(9, 2)), -1)
