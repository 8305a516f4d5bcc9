"""The Newton search finds the same rows as bisection, and says something defined where none exist."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langscape.kernels import reference
from langscape.kernels.perplexity import conditional_rows


def rows(D: np.ndarray, perplexity) -> np.ndarray:
    n = len(D)
    P = np.empty((n, n))
    wanted = np.broadcast_to(np.asarray(perplexity, float), (n,))
    conditional_rows(D, 0, np.log(wanted), True, P, *np.empty((2, n)))
    return P


def perplexities(P: np.ndarray) -> np.ndarray:
    return 2.0 ** -np.where(P > 0, P * np.log2(np.maximum(P, 1e-300)), 0.0).sum(1)


@pytest.mark.parametrize("perplexity", [1.5, 5.0, 30.0, 98.0])
def test_rows_equal_those_of_bisection(perplexity):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6)) * rng.lognormal(sigma=2, size=(100, 1))
    D = reference.squared_distances(X)
    P = rows(D, perplexity)
    np.testing.assert_allclose(P, reference.conditional(D, perplexity), atol=2e-5)
    np.testing.assert_allclose(P.sum(1), 1.0, atol=1e-12)
    assert np.diag(P).max() == 0


def test_every_point_may_have_its_own_perplexity():
    rng = np.random.default_rng(1)
    wanted = rng.uniform(2, 40, 80)
    P = rows(reference.squared_distances(rng.normal(size=(80, 3))), wanted)
    np.testing.assert_allclose(perplexities(P), wanted, rtol=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(6, 40),
    st.floats(1.2, 4.9),
    st.sampled_from([1e-12, 1e-3, 1.0, 1e6, 1e12]),
)
def test_the_perplexity_asked_for_is_met_at_any_scale(seed, n, perplexity, scale):
    rng = np.random.default_rng(seed)
    P = rows(reference.squared_distances(rng.normal(size=(n, 3)) * scale), perplexity)
    np.testing.assert_allclose(np.log2(perplexities(P)), np.log2(perplexity), atol=2e-5)


def test_more_ties_than_neighbours_asked_for_share_evenly():
    D = np.ones((50, 50))
    D[:20, :20] = 0
    np.fill_diagonal(D, 0)
    P = rows(D, 5.0)
    np.testing.assert_allclose(P[0, 1:20], 1 / 19, rtol=1e-6)
    assert P[0, 20:].max() < 1e-12


def test_identical_points_are_each_others_even_neighbours():
    P = rows(np.zeros((9, 9)), 3.0)
    np.testing.assert_allclose(P + np.eye(9) / 8, 1 / 8)
