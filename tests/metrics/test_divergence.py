import numba
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, squareform
from sklearn.manifold._t_sne import _joint_probabilities, _kl_divergence

from langscape import Affinities, Items, metrics
from langscape.errors import DataError


def joint(n=80, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 5))
    return squareform(_joint_probabilities(cdist(X, X, "sqeuclidean"), 10.0, 0))


def plain_kl(P, xy):
    near = 1 / (1 + cdist(xy, xy, "sqeuclidean"))
    np.fill_diagonal(near, 0)
    Q = near / near.sum()
    some = P > 0
    return (P[some] * np.log(P[some] / Q[some])).sum()


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
@pytest.mark.parametrize("spread", [1e-4, 1.0, 50.0])
def test_kl_is_the_sum_over_all_pairs(dims, spread):
    P = joint()
    P = np.where(np.quantile(P, 0.5) > P, 0, P)
    P /= P.sum()
    xy = spread * np.random.default_rng(1).standard_normal((80, dims))
    expected = plain_kl(P, xy)
    assert metrics.kl(P, xy) == pytest.approx(expected, rel=1e-12)
    assert metrics.kl(csr_array(P), xy) == pytest.approx(expected, rel=1e-12)
    assert metrics.kl(P.astype(np.float32), xy.astype(np.float32)) == pytest.approx(expected, rel=1e-5)


def test_affinities_stand_for_their_p():
    a, xy = Affinities(joint(), Items.numbered(80)), np.random.default_rng(1).standard_normal((80, 2))
    assert metrics.kl(a, xy) == metrics.kl(a.P, xy)
    assert np.array_equal(metrics.kl_points(a, xy), metrics.kl_points(a.P, xy))


def test_kl_equals_scikit_learns_on_its_own_p():
    P = joint()
    xy = np.random.default_rng(1).standard_normal((80, 2))
    theirs, _ = _kl_divergence(xy.ravel(), squareform(P, checks=False), 1, 80, 2)
    assert metrics.kl(P, xy) == pytest.approx(theirs, rel=1e-10)


def test_kl_is_zero_where_q_equals_p():
    xy = np.random.default_rng(1).standard_normal((50, 2))
    P = 1 / (1 + cdist(xy, xy, "sqeuclidean"))
    np.fill_diagonal(P, 0)
    assert metrics.kl(P / P.sum(), xy) == pytest.approx(0, abs=1e-12)


def test_kl_has_the_same_bits_on_any_number_of_threads():
    P, xy = joint(700), np.exp(3 * np.random.default_rng(1).standard_normal((700, 2)))
    before = numba.get_num_threads()
    try:
        values = []
        for threads in range(1, before + 1):
            numba.set_num_threads(threads)
            values.append((metrics.kl(P, xy), metrics.kl(csr_array(P), xy)))
    finally:
        numba.set_num_threads(before)
    assert len(set(values)) == 1


@pytest.mark.parametrize(
    ("P", "xy", "said"),
    [
        (np.ones((3, 3)), np.zeros((3, 2)), "sums to 9"),
        (np.eye(3) / 3, np.zeros((3, 2)), "diagonal"),
        (np.full((3, 3), np.nan), np.zeros((3, 2)), "sums to nan"),
        (np.ones((2, 2)), np.zeros((3, 2)), "3 points"),
        (np.ones((3, 3)), np.full((3, 2), np.nan), "NaN"),
        (np.ones((3, 3)), np.zeros(3), "shape"),
    ],
)
def test_a_p_or_a_map_that_is_none_is_named(P, xy, said):
    with pytest.raises(DataError, match=said):
        metrics.kl(P, xy)
