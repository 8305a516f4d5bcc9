import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr

from langscape import metrics
from langscape.errors import DataError


def plain_global(high, low):
    from_high, from_low = cdist(high, high), cdist(low, low)
    return [
        spearmanr(np.delete(from_high[i], i), np.delete(from_low[i], i)).statistic for i in range(len(high))
    ]


def test_global_is_scipys_correlation_of_each_points_distances():
    rng = np.random.default_rng(0)
    high = rng.standard_normal((90, 6))
    low = high[:, :2] + 0.5 * rng.standard_normal((90, 2))
    figure = metrics.global_(high, low)
    np.testing.assert_allclose(figure.per_point, plain_global(high, low), atol=1e-12)
    assert figure.k is None


@given(st.integers(0, 2**32 - 1), st.integers(4, 40))
@settings(max_examples=40, deadline=None)
def test_ties_share_their_mean_rank_as_in_scipy(seed, n):
    rng = np.random.default_rng(seed)
    high, low = rng.integers(0, 3, (n, 2)), rng.integers(0, 3, (n, 3))
    high[0], low[0] = 10, 10  # so that no point has all others at one distance …
    high[1], low[1] = -10, -10
    expected = np.nan_to_num(plain_global(high, low))  # … but if it has, ours is 0 where scipy's is NaN
    np.testing.assert_allclose(metrics.global_(high, low).per_point, expected, atol=1e-12)


def test_spearman_is_scipys_over_the_upper_triangles():
    rng = np.random.default_rng(1)
    high, low = rng.standard_normal((70, 5)), rng.standard_normal((70, 2))
    low[:30] = high[:30, :2]
    expected = spearmanr(pdist(high), pdist(low)).statistic
    figure = metrics.spearman(high, low)
    assert float(figure) == pytest.approx(expected, abs=1e-12)
    assert not figure.sampled
    by_distance = metrics.spearman(metrics.distances(cdist(high, high)), metrics.distances(cdist(low, low)))
    assert by_distance.value == pytest.approx(expected, abs=1e-12)


def test_spearman_of_a_sample_is_that_of_the_sampled_points_alone():
    rng = np.random.default_rng(1)
    high, low = rng.standard_normal((300, 5)), rng.standard_normal((300, 2))
    figure = metrics.spearman(high, low, most_rows=50, seed=4)
    assert figure.sampled
    assert "50 of 300 points" in str(figure)
    alone = metrics.spearman(high[figure.rows], low[figure.rows])
    assert figure.value == pytest.approx(alone.value, abs=1e-12)


def test_reversed_order_is_minus_one_and_no_order_is_zero():
    D = cdist(*[np.random.default_rng(0).standard_normal((20, 3))] * 2)
    assert metrics.spearman(metrics.distances(D), metrics.distances(D.max() - D)).value == pytest.approx(-1)
    assert metrics.spearman(metrics.distances(D), np.zeros((20, 2))).value == 0.0
    assert metrics.global_(metrics.distances(D), np.zeros((20, 2))).mean == 0.0


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_points_have_no_order(n):
    for figure in (metrics.global_, metrics.spearman):
        with pytest.raises(DataError, match=f"there are {n}"):
            figure(np.zeros((n, 3)), np.zeros((n, 2)))
