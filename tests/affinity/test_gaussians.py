"""Affinities of distributions: P of W₂ by two routes, and of POT's distances."""

import numpy as np
import ot
import pytest

from langscape import affinity
from langscape.data import Gaussians, Items
from langscape.errors import DataError, SettingsError
from langscape.kernels import reference

rng = np.random.default_rng(0)


def joint(D, perplexity):
    C = reference.conditional(D, perplexity)
    return (C + C.T) / (C + C.T).sum()


def test_p_is_that_of_pots_distances_for_full_covariances():
    n, dim = 14, 3
    means, roots = rng.normal(size=(n, dim)), rng.normal(size=(n, dim, dim))
    S = roots @ roots.transpose(0, 2, 1)
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                D[i, j] = ot.gaussian.bures_wasserstein_distance(means[i], means[j], S[i], S[j]) ** 2
    a = affinity.gaussians(means, S, perplexity=4)
    np.testing.assert_allclose(a.P, joint(D, 4.0), rtol=2e-3, atol=1e-7)
    assert a.gaussians.covariance(3) == pytest.approx(S[3])


def test_variances_and_the_same_as_matrices_give_one_p():
    means, s = rng.normal(size=(40, 5)), rng.uniform(0, 2, size=(40, 5))
    flat = affinity.gaussians(means, s, perplexity=8)
    full = affinity.gaussians(means, np.einsum("nd,de->nde", s, np.eye(5)), perplexity=8)
    np.testing.assert_allclose(flat.P, full.P, rtol=1e-3, atol=1e-8)
    D = reference.squared_distances(means) + reference.squared_distances(np.sqrt(s))
    np.testing.assert_allclose(flat.P, joint(D, 8.0), rtol=2e-3, atol=1e-8)


def test_euclidean_leaves_the_covariances_out():
    means, s = rng.normal(size=(30, 4)), rng.uniform(0, 9, size=(30, 4))
    a = affinity.gaussians(means, s, 6, distance="euclidean")
    np.testing.assert_array_equal(a.P, affinity.points(means, 6).P)
    assert a.gaussians is not None


def test_points_without_spread_are_ordinary_points():
    means = rng.normal(size=(30, 4))
    a = affinity.gaussians(means, np.zeros((30, 4)), 6)
    np.testing.assert_allclose(a.P, affinity.points(means, 6).P, rtol=1e-4, atol=1e-9)


def test_what_is_given_twice_or_not_at_all_is_refused():
    means = rng.normal(size=(5, 2))
    g = Gaussians(means, np.ones((5, 2)), Items.numbered(5), np.ones(5))
    with pytest.raises(SettingsError, match="carry their covariances"):
        affinity.gaussians(g, np.ones((5, 2)), 2)
    with pytest.raises(SettingsError, match="covariances are missing"):
        affinity.gaussians(means, perplexity=2)
    with pytest.raises(DataError, match=r"expected \(5, 2\) or \(5, 2, 2\)"):
        affinity.gaussians(means, np.ones((5, 3)), 2)
    with pytest.raises(DataError, match="eigenvalue below 0"):
        affinity.gaussians(means, np.tile([[1.0, 2], [2, 1]], (5, 1, 1)), 2)
    with pytest.raises(SettingsError, match="distance 'cosine'"):
        affinity.gaussians(g, perplexity=2, distance="cosine")
