"""Distances between Gaussians against POT, and the figures of ellipse maps against their definitions."""

import numpy as np
import ot
import pytest
from scipy.stats import spearmanr

from langscape import metrics
from langscape.errors import DataError

rng = np.random.default_rng(0)


def covariance(dim, rank=None):
    root = rng.normal(size=(dim, rank or dim))
    return root @ root.T


def by_pot(a, A, b, B):
    return float(ot.gaussian.bures_wasserstein_distance(a, b, A, B)) ** 2


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_full_covariances_agree_with_pot(dim):
    a, b, A, B = *rng.normal(size=(2, dim)), covariance(dim), covariance(dim)
    assert metrics.wasserstein2(a, A, b, B) == pytest.approx(by_pot(a, A, b, B), rel=1e-9)


def test_diagonal_covariances_agree_with_pot_and_with_the_full_formula():
    a, b = rng.normal(size=(2, 6))
    s, t = rng.uniform(0.1, 3, size=(2, 6))
    found = metrics.wasserstein2(a, s, b, t)
    assert found == pytest.approx(by_pot(a, np.diag(s), b, np.diag(t)), rel=1e-9)
    assert found == pytest.approx(metrics.wasserstein2(a, np.diag(s), b, t), rel=1e-9)
    assert found == pytest.approx(metrics.euclidean2(a, b) + metrics.hellinger2(s, t))


def test_a_distribution_without_spread_is_a_point():
    a, b, B = rng.normal(size=3), rng.normal(size=3), covariance(3)
    expected = metrics.euclidean2(a, b) + np.trace(B)
    assert metrics.wasserstein2(a, np.zeros(3), b, B) == pytest.approx(expected)
    assert metrics.wasserstein2(a, np.zeros((3, 3)), a, np.zeros(3)) == 0
    # rank one, where roots of tiny negative eigenvalues would be NaN
    C = covariance(3, rank=1)
    assert metrics.wasserstein2(a, C, a, C) == pytest.approx(0, abs=1e-6)


def test_ellipses_of_a_map_are_as_far_apart_as_their_gaussians():
    xy, shapes = rng.normal(size=(5, 2)), np.stack([covariance(2) for _ in range(4)] + [np.zeros((2, 2))])
    found = metrics.ellipse_distances(xy, shapes)
    for i in range(5):
        for j in range(5):
            one = metrics.wasserstein2(xy[i], shapes[i], xy[j], shapes[j])
            assert found[i, j] == pytest.approx(one, abs=1e-9)


def test_reconstruction_is_what_is_printed_with_the_bures_part_spelled_out():
    means, full = rng.normal(size=(4, 5)), np.stack([covariance(5) for _ in range(4)])
    U = np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    P = U.T @ U
    centred = means - means.mean(0)
    lost = ((centred - centred @ P) ** 2).sum(1)
    bures = [metrics.wasserstein2(np.zeros(5), S, np.zeros(5), P @ S @ P) for S in full]
    E, W = metrics.reconstruction(means, full, U)
    assert pytest.approx(lost.mean()) == E
    assert pytest.approx(np.mean(lost + bures)) == W
    diagonal = metrics.reconstruction(means, np.einsum("ndd->nd", full), U)
    assert diagonal[0] == pytest.approx(E)


def test_area_variance_is_the_rank_correlation_of_areas():
    shapes = np.stack([covariance(2) for _ in range(30)])
    spread = rng.uniform(size=30)
    expected = spearmanr(np.sqrt(np.linalg.det(shapes)), spread).statistic
    assert float(metrics.area_variance(shapes, spread)) == pytest.approx(expected)
    assert float(metrics.area_variance(shapes, np.linalg.det(shapes))) == pytest.approx(1)
    assert float(metrics.area_variance(shapes, np.ones(30))) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([0, 0], [1, -1], [0, 0], [1, 1]), "variances are 0 or more"),
        (([0, 0], [[1, 2], [0, 1]], [0, 0], [1, 1]), "not symmetric"),
        (([0, 0], [[1, 2], [2, 1]], [0, 0], [1, 1]), "eigenvalue -1"),
        (([0, 0], [1, 1, 1], [0, 0], [1, 1]), "cov_a is of 3 dimensions"),
        (([0, np.nan], [1, 1], [0, 0], [1, 1]), "mean_a"),
        (([0, 0], [1, 1], [0], [1, 1]), "2 and 1 dimensions"),
    ],
)
def test_what_is_no_gaussian_is_refused_by_name(given, said):
    with pytest.raises(DataError, match=said):
        metrics.wasserstein2(*given)
