"""Local perplexity against document 002's own words, spelled out in loops."""

import importlib

import numpy as np
import pytest

from langscape import affinity
from langscape.errors import SettingsError
from langscape.kernels import reference

rng = np.random.default_rng(0)


def by_the_book(X, perplexity, k, at_least):
    """Eq. 4.2–4.3 in loops: scores, and the joint P."""
    n = len(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    S = unit @ unit.T
    local, scores = np.zeros((n, n)), np.zeros(n, int)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        bar = S[i, others].mean() + k * S[i, others].std()
        scores[i] = sum(S[i, j] >= bar for j in others)
        top = sorted(others, key=lambda j: -S[i, j])[: min(max(scores[i], at_least), n - 1)]
        for j in top:
            local[i, j] = max(S[i, j], 0)
        local[i] /= local[i].sum()
    C = 0.5 * reference.conditional(reference.squared_distances(X), perplexity) + 0.5 * local
    return scores, (C + C.T) / (C + C.T).sum()


@pytest.mark.parametrize(("k", "at_least"), [(3.0, 1), (2.0, 1), (3.0, 10)])
def test_scores_and_p_follow_the_equations(k, at_least):
    X = rng.normal(size=(120, 6)) + 0.5
    scores, P = by_the_book(X, 15.0, k, at_least)
    a = affinity.local(X, 15.0, k, at_least)
    assert np.array_equal(a.items.columns["score"], scores)
    np.testing.assert_allclose(a.P, P, rtol=2e-3, atol=1e-8)


def test_the_sparse_road_has_the_same_scores_and_a_proper_p(monkeypatch):
    X = rng.normal(size=(300, 6)) + 0.5
    want = affinity.local(X, 8.0, k=3.0, at_least=10)
    # the function of the same name hides the module
    monkeypatch.setattr(importlib.import_module("langscape.affinity.local"), "EXACT_UP_TO", 100)
    a = affinity.local(X, 8.0, k=3.0, at_least=10)
    assert np.array_equal(a.items.columns["score"], want.items.columns["score"])
    P = a.P.toarray()
    assert P.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(P, P.T)
    assert np.minimum(P, want.P).sum() > 0.9


def test_settings_out_of_range_are_named():
    X = rng.normal(size=(30, 4))
    with pytest.raises(SettingsError, match="at_least 0"):
        affinity.local(X, 5, at_least=0)
    with pytest.raises(SettingsError, match="k nan"):
        affinity.local(X, 5, k=float("nan"))


def test_the_metric_asked_for_is_that_of_the_ordinary_row():
    X = rng.normal(size=(120, 6)) * rng.lognormal(sigma=1, size=(120, 1)) + 0.5
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = affinity.local(X, 15.0, metric="cosine")
    np.testing.assert_allclose(found.P, affinity.local(unit, 15.0).P, rtol=1e-4, atol=1e-9)
    assert found.metric == "cosine"
    assert not np.allclose(found.P, affinity.local(X, 15.0).P, rtol=1e-2, atol=1e-6)
    with pytest.raises(SettingsError, match="manhattan"):
        affinity.local(X, 15.0, metric="manhattan")


def test_a_score_below_the_floor_is_stored_as_it_is_and_said():
    X = rng.normal(size=(200, 6)) + 0.5
    found = affinity.local(X, 15.0, k=3.0, at_least=10)
    scores = found.items.columns["score"]
    assert np.array_equal(scores, by_the_book(X, 15.0, 3.0, 1)[0])
    assert scores.min() < 10
    assert f"{100 * np.mean(scores < 10):.0f} % of words have fewer than 10" in found.notes[0]


def test_no_word_considers_more_than_a_hundred_however_many_stand_out():
    near = np.concatenate([rng.normal(size=(400, 3)) * 0.01 + 1, rng.normal(size=(2200, 3))])
    found = affinity.local(near, 10.0, k=1.0)
    assert (found.items.columns["score"] <= 100).all()
    assert np.diff(found.P.indptr).mean() < 2 * (100 + 30)
    assert "100 or more stand out" in " ".join(found.notes)
