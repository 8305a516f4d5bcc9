import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes

from langscape import metrics
from langscape.data import Items, Map
from langscape.errors import DataError
from langscape.metrics.stability import _nearest_turns, chance_of_each, stability_of_each


def moved(xy, seed):
    """The same map, turned (or mirrored), scaled and moved."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.standard_normal((xy.shape[1],) * 2))
    return np.exp(rng.standard_normal()) * xy @ turn + rng.standard_normal(xy.shape[1])


def test_align_is_scipys_procrustes():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 2)), rng.standard_normal((40, 2))
    standard, theirs, disparity = procrustes(a, b)
    ours = metrics.align(standard, b)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert ((ours - standard) ** 2).sum() == pytest.approx(disparity)


def test_points_that_have_nothing_to_do_with_the_others_keep_their_size_when_asked():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 400, 2)) - 3
    radius = lambda xy: np.sqrt(((xy - xy.mean(axis=0)) ** 2).sum(axis=1).mean())  # noqa: E731
    assert radius(metrics.align(a, 7 * b)) < 0.2 * radius(a)
    equal = metrics.align(a, 7 * b, same_size=True)
    assert radius(equal) == pytest.approx(radius(a))
    np.testing.assert_allclose(equal.mean(axis=0), a.mean(axis=0))
    np.testing.assert_allclose(metrics.align(a, moved(a, 3), same_size=True), a, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(3, 30))
@settings(max_examples=40, deadline=None)
def test_copies_that_were_only_moved_turned_mirrored_or_scaled_do_not_wander(seed, dims, n):
    xy = np.random.default_rng(seed).standard_normal((n, dims))
    spread = metrics.stability([moved(xy, seed + i) for i in range(4)])
    np.testing.assert_allclose(spread.per_point, 0, atol=1e-7)
    assert spread.aligned.shape == (4, n, dims)


def test_the_point_that_wanders_is_the_one_found():
    xy = np.random.default_rng(0).standard_normal((200, 2))
    maps = [xy.copy() for _ in range(6)]
    for i, one in enumerate(maps):
        one[17] = 3 * np.array([np.cos(i), np.sin(i)])
        maps[i] = moved(one, i)
    spread = metrics.stability(maps)
    assert spread.per_point.argmax() == 17
    assert spread.per_point[17] > 20 * np.median(spread.per_point)


def test_two_maps_spread_as_procrustes_distance_says():
    # Two unit maps at angle t about their mean: Σ spread² / n = 1 − mean of ‖mean map‖².
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((50, 2)), rng.standard_normal((50, 2))
    _, _, disparity = procrustes(a, b)
    agreement = np.sqrt(1 - disparity)  # Σ of singular values between the two unit maps
    expected = (1 - agreement) / 2  # ‖(a − b)/2‖² of two unit maps
    assert (metrics.stability([a, b]).per_point ** 2).mean() == pytest.approx(expected)


def test_unrelated_maps_wander_by_about_their_radius():
    rng = np.random.default_rng(0)
    spread = metrics.stability(rng.standard_normal((30, 500, 2)))
    assert 0.9 < spread.mean < 1.0


def test_maps_are_taken_as_maps_too_and_the_order_does_not_matter():
    rng = np.random.default_rng(3)
    base = rng.standard_normal((60, 2))
    arrays = [base + 0.1 * rng.standard_normal((60, 2)) for _ in range(5)]
    maps = [Map(xy=xy, items=Items.numbered(60)) for xy in arrays]
    one, other = metrics.stability(maps), metrics.stability(arrays[::-1])
    np.testing.assert_allclose(one.per_point, other.per_point, atol=1e-6)
    assert "5 maps, 60 points" in str(one)


def test_collapsed_maps_and_single_points_have_spread_zero():
    assert metrics.stability([np.ones((5, 2)), np.zeros((5, 2))]).mean == 0.0
    assert metrics.stability([[[1.0, 2.0]], [[3.0, 4.0]]]).mean == 0.0
    np.testing.assert_array_equal(metrics.align([[1.0, 2], [3, 4]], np.zeros((2, 2))), [[2, 3], [2, 3]])


@pytest.mark.parametrize(
    ("maps", "said"),
    [
        ([np.zeros((3, 2))], "at least two"),
        ([np.zeros((3, 2)), np.zeros((4, 2))], "shapes"),
        ([np.zeros((3, 2)), np.full((3, 2), np.nan)], "NaN"),
        ([np.zeros(3), np.zeros(3)], "shapes"),
    ],
)
def test_maps_that_cannot_be_compared_are_named(maps, said):
    with pytest.raises(DataError, match=said):
        metrics.stability(maps)


def test_shapes_that_cannot_be_aligned_are_named():
    with pytest.raises(DataError, match="aligned"):
        metrics.align(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(DataError, match="finite"):
        metrics.align(np.zeros((3, 2)), np.full((3, 2), np.inf))


def test_many_groups_at_once_are_each_as_it_is_alone():
    rng = np.random.default_rng(4)
    groups = [[rng.standard_normal((n, 2)) for _ in range(5)] for n in (20, 33, 8)]
    for one, maps in zip(stability_of_each(groups), groups, strict=True):
        np.testing.assert_array_equal(one.per_point, metrics.stability(maps).per_point)
    alone = [chance_of_each([maps])[0] for maps in groups]
    np.testing.assert_array_equal(chance_of_each(groups), alone)
    for maps, once in zip(groups, alone, strict=True):
        null = metrics.stability_by_chance(maps)
        assert abs(once - null.mean) <= null.high - null.low


def test_the_nearest_turn_on_a_plane_is_that_of_the_singular_vectors():
    rng = np.random.default_rng(5)
    for one in rng.standard_normal((50, 2, 2)):
        left, _, right = np.linalg.svd(one)
        np.testing.assert_allclose(_nearest_turns(one), left @ right, atol=1e-12)
    np.testing.assert_array_equal(_nearest_turns(np.zeros((2, 2))), np.eye(2))
