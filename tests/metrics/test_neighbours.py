import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness as sklearn_trustworthiness
from sklearn.metrics import ndcg_score
from sklearn.neighbors import NearestNeighbors

from langscape import metrics
from langscape.errors import DataError, SettingsError


def pair_of_spaces(n=120, dims=7, seed=0):
    rng = np.random.default_rng(seed)
    high = rng.standard_normal((n, dims)) * np.exp(rng.standard_normal((n, 1)))
    return high, high[:, :2] + 0.3 * rng.standard_normal((n, 2))


def plain_local(high, low, k, metric="euclidean"):
    sets = []
    for space, name in ((high, metric), (low, "euclidean")):
        found = NearestNeighbors(n_neighbors=k, metric=name).fit(space).kneighbors(return_distance=False)
        sets.append([set(row) for row in found])
    return np.array([len(a & b) / k for a, b in zip(*sets, strict=True)])


@pytest.mark.parametrize("k", [1, 10, 119])
def test_local_is_the_overlap_of_two_neighbour_searches(k):
    high, low = pair_of_spaces()
    figure = metrics.local(high, low, k)
    np.testing.assert_array_equal(figure.per_point, plain_local(high, low, k))
    assert figure.mean == pytest.approx(plain_local(high, low, k).mean())
    assert figure.sd == pytest.approx(plain_local(high, low, k).std())


def test_cosine_neighbours_are_those_of_a_cosine_search():
    high, low = pair_of_spaces()
    figure = metrics.local(metrics.vectors(high, "cosine"), low, 10)
    np.testing.assert_array_equal(figure.per_point, plain_local(high, low, 10, "cosine"))


def test_distances_give_the_same_figures_as_the_vectors_they_came_from():
    high, low = pair_of_spaces()
    by_distance = metrics.distances(cdist(high, high))
    for figure in (metrics.local, metrics.ndcg, metrics.trustworthiness, metrics.global_):
        np.testing.assert_array_equal(figure(high, low).per_point, figure(by_distance, low).per_point)


def test_counting_the_point_itself_lifts_local_as_the_document_did():
    high, low = pair_of_spaces()
    without = metrics.local(high, low, 9).per_point
    np.testing.assert_allclose(
        metrics.local(high, low, 10, count_self=True).per_point, (1 + 9 * without) / 10
    )
    assert metrics.local(high, low, 1, count_self=True).mean == 1.0


def test_local_of_four_points_by_hand():
    # Nearest in the line 0, 1, 3, 7: 1, 0, 1, 3. After moving the last to −7: 1, 0, 1, 0.
    figure = metrics.local([[0.0], [1], [3], [7]], [[0.0], [1], [3], [-7]], k=1)
    assert figure.per_point.tolist() == [1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [1, 5, 59])
def test_trustworthiness_equals_scikit_learns(metric, k):
    high, low = pair_of_spaces()
    ours = metrics.trustworthiness(metrics.vectors(high, metric), low, k)
    assert ours.mean == pytest.approx(
        sklearn_trustworthiness(high, low, n_neighbors=k, metric=metric), abs=1e-12
    )


@pytest.mark.parametrize("k", [1, 10, 50])
@pytest.mark.parametrize("full", [False, True])
def test_ndcg_equals_scikit_learns_score_of_the_same_relevance(k, full):
    high, low = pair_of_spaces(60)
    n = len(high)
    from_high, from_low = cdist(high, high), cdist(low, low)
    expected = []
    for i in range(n):
        others = np.delete(np.arange(n), i)
        places = from_high[i, others].argsort().argsort()
        relevance = np.maximum((n - 1 if full else k) - places, 0)
        expected.append(ndcg_score([relevance], [-from_low[i, others]], k=k))
    figure = metrics.ndcg(high, low, k, full=full)
    np.testing.assert_allclose(figure.per_point, expected, atol=1e-12)


def test_ndcg_of_a_swapped_pair_by_hand():
    # Seen from 0, the two nearest (worth 2 and 1) have changed places.
    figure = metrics.ndcg([[0.0], [1], [2.5], [9]], [[0.0], [2.6], [1], [9]], k=2, rows=[0])
    assert figure.mean == pytest.approx((1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3)))


def test_a_space_compared_with_itself_scores_one():
    high, _ = pair_of_spaces()
    for figure in (metrics.local, metrics.ndcg, metrics.trustworthiness, metrics.global_):
        np.testing.assert_allclose(figure(high, high).per_point, 1.0)


def test_judging_named_rows_gives_their_values_among_all():
    high, low = pair_of_spaces()
    every = metrics.local(high, low)
    some = metrics.local(high, low, rows=[7, 3, 100])
    assert some.rows.tolist() == [3, 7, 100]
    np.testing.assert_array_equal(some.per_point, every.per_point[[3, 7, 100]])
    assert some.sampled
    assert not every.sampled
    assert "3 of 120 points" in str(some)


def test_a_sample_is_the_same_for_the_same_seed_and_says_so():
    high, low = pair_of_spaces()
    one, same, other = (metrics.local(high, low, most_rows=40, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.rows, same.rows)
    np.testing.assert_array_equal(one.per_point, same.per_point)
    assert set(one.rows) != set(other.rows)
    assert len(one.rows) == 40
    assert np.isnan(one.everywhere()).sum() == 80


def test_equal_distances_are_taken_by_index():
    # Around the middle of a square all corners are equally near.
    square = [[0.0, 0], [1, 1], [-1, 1], [1, -1], [-1, -1]]
    moved = [[0.0, 0], [9, 9], [-1, 1], [1, -1], [-8, -8]]
    assert metrics.local(square, moved, 2, rows=[0]).mean == 0.5  # {1, 2} and {2, 3}


def test_points_that_all_coincide_have_defined_figures():
    same, other = np.ones((30, 4)), np.zeros((30, 2))
    assert metrics.local(same, other, 5).mean == 1.0
    assert metrics.trustworthiness(same, other, 5).mean == 1.0
    assert metrics.global_(same, other).mean == 0.0
    high, _ = pair_of_spaces(30)
    for figure in (metrics.local, metrics.ndcg, metrics.trustworthiness, metrics.global_):
        assert np.isfinite(figure(high, other).per_point).all()


def test_distances_that_float32_cannot_tell_apart_are_still_ordered():
    rng = np.random.default_rng(3)
    n = 300
    D = 1.0 + rng.permuted(np.tile(np.arange(n), (n, 1)), axis=1) * 1e-12
    figure = metrics.global_(metrics.distances(D), metrics.distances(D.max() - D))
    np.testing.assert_allclose(figure.per_point, -1.0)


def test_a_vector_of_zeros_is_at_right_angles_to_all_under_cosine():
    space = metrics.vectors([[1.0, 0], [1, 0.1], [0, 0], [-1, 0.2]], "cosine")
    nearest = space.squared(np.array([0]))[0, :4].argsort()
    assert nearest.tolist() == [0, 1, 2, 3]
    assert space.squared(np.array([2]))[0, :2].tolist() == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_extreme_magnitudes_neither_overflow_nor_vanish(scale):
    high, low = pair_of_spaces()
    for metric in ("euclidean", "cosine"):
        plain = metrics.local(metrics.vectors(high, metric), low)
        scaled = metrics.local(metrics.vectors(high * (scale / 100), metric), low)
        assert scaled.mean == pytest.approx(plain.mean, abs=0.002)


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_figures_follow_a_permutation_and_ignore_rotation_and_scale(seed, n, dims):
    rng = np.random.default_rng(seed)
    high, low = rng.standard_normal((n, dims)), rng.standard_normal((n, 2))
    order = rng.permutation(n)
    turn, _ = np.linalg.qr(rng.standard_normal((2, 2)))
    k = (n - 1) // 2
    for figure, more in (
        (metrics.local, {"k": k}),
        (metrics.ndcg, {"k": k}),
        (metrics.trustworthiness, {"k": k}),
        (metrics.global_, {}),
    ):
        plain = figure(high, low, **more).per_point
        np.testing.assert_allclose(
            figure(high[order], low[order], **more).per_point, plain[order], atol=1e-12
        )
        moved = 1234.5 * low @ turn + [5.0, -3.0]
        np.testing.assert_allclose(figure(high, moved, **more).per_point, plain, atol=1e-12)
        assert (plain >= -1 - 1e-12).all()
        assert (plain <= 1 + 1e-12).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
@settings(max_examples=40, deadline=None)
def test_heavily_tied_distances_rank_as_a_stable_sort_does(seed, n):
    rng = np.random.default_rng(seed)
    high, low = rng.integers(0, 3, (n, 2)), rng.integers(0, 3, (n, 2))
    k = rng.integers(1, n)
    expected = []
    for i in range(n):
        others = np.delete(np.arange(n), i)
        tops = [
            set(others[((space[others] - space[i]) ** 2).sum(axis=1).argsort(kind="stable")[:k]])
            for space in (high, low)
        ]
        expected.append(len(tops[0] & tops[1]) / k)
    np.testing.assert_array_equal(metrics.local(high, low, int(k)).per_point, expected)


def test_distances_between_vectors_are_symmetric_to_the_bit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((133, 10)) * np.exp(5 * rng.standard_normal((133, 10)))
    squares = metrics.vectors(X).squared(np.arange(133))[:, :133]
    np.testing.assert_array_equal(squares, squares.T)
    assert not squares.diagonal().any()


@pytest.mark.parametrize("k", [0, -1, 120, 2.5])
def test_an_impossible_number_of_neighbours_is_named(k):
    high, low = pair_of_spaces()
    for figure in (metrics.local, metrics.ndcg, metrics.trustworthiness):
        with pytest.raises(SettingsError, match=f"{k}"):
            figure(high, low, k)


def test_trustworthiness_needs_more_than_twice_as_many_points_as_neighbours():
    high, low = pair_of_spaces()
    with pytest.raises(SettingsError, match="k = 59 or less"):
        metrics.trustworthiness(high, low, 60)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_points_give_a_figure_or_a_clear_error(n):
    high, low = pair_of_spaces(n)
    for figure, least in ((metrics.local, 2), (metrics.ndcg, 2), (metrics.trustworthiness, 3)):
        if n < least:
            with pytest.raises(DataError, match=f"there are {n}"):
                figure(high, low, 1)
        else:
            assert 0 <= figure(high, low, 1).mean <= 1


@pytest.mark.parametrize(
    ("high", "low", "said"),
    [
        ([[0.0], [np.nan], [1.0]], [[0.0], [1.0], [2.0]], "nan"),
        ([[0.0], [1.0], [2.0]], [[0.0], [np.inf], [2.0]], "inf"),
        ([[0.0], [1.0]], [[0.0], [1.0], [2.0]], "2 and 3 points"),
        ([0.0, 1.0], [[0.0], [1.0]], "shape"),
        ([], [], "empty"),
        (["tea", "oslo"], [[0.0], [1.0]], "numbers"),
    ],
)
def test_data_that_cannot_be_compared_is_named(high, low, said):
    with pytest.raises(DataError, match=said):
        metrics.local(high, low, 1)


def test_wrong_settings_and_distances_are_named():
    high, low = pair_of_spaces()
    with pytest.raises(SettingsError, match="manhattan"):
        metrics.vectors(high, "manhattan")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="most_rows"):
        metrics.local(high, low, most_rows=0)
    with pytest.raises(SettingsError, match="0 to 119"):
        metrics.local(high, low, rows=[120])
    with pytest.raises(DataError, match="square"):
        metrics.distances(high)
    with pytest.raises(DataError, match="negative"):
        metrics.distances([[0.0, -1.0], [1.0, 0.0]])
