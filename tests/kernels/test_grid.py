"""Repulsion on the grid against all pairs, from the smallest map to a loose one."""

import math

import numpy as np
import pytest

from langscape.kernels import grid, reference


def exact(Y: np.ndarray) -> tuple[np.ndarray, float]:
    Y = Y.astype(np.float64)
    q, Z = reference.student(Y)
    qq = q * q
    return qq.sum(1)[:, None] * Y - qq @ Y, Z


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 0.1, 1.0, 5.0, 20.0, 60.0])
@pytest.mark.parametrize("shape", ["round", "flat"])
def test_forces_and_normaliser_equal_those_of_all_pairs(scale, shape):
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(2500, 2)).astype(np.float32) * np.float32(scale)
    if shape == "flat":
        Y[:, 1] *= 0.02
    R = np.empty_like(Y)
    Z = grid.Repulsion(len(Y))(Y, R)
    want, Z_want = exact(Y)
    # the bar is openTSNE's own 4 %
    assert np.sqrt(((R - want) ** 2).sum() / (want**2).sum()) < 0.04
    assert pytest.approx(Z_want, rel=2e-3) == Z


def test_an_isolated_point_does_not_push_itself():
    rng = np.random.default_rng(3)
    places = np.stack(np.meshgrid(np.arange(12), np.arange(12)), -1).reshape(-1, 2) * 40.0
    Y = (places + rng.random(places.shape)).astype(np.float32)
    R = np.empty_like(Y)
    grid.Repulsion(len(Y))(Y, R)
    want, _ = exact(Y)
    assert np.sqrt(((R - want) ** 2).sum(1).mean()) < 1e-3  # 0.012 without the table


def test_the_grid_follows_a_map_that_grows_and_shrinks():
    rng = np.random.default_rng(5)
    base = rng.normal(size=(800, 2))
    repulsion = grid.Repulsion(800)
    for scale in (1e-3, 1.0, 1.05, 30.0, 29.0, 90.0, 3.0, 1e-4):
        Y = (base * scale + 7 * scale).astype(np.float32)
        R = np.empty_like(Y)
        Z = repulsion(Y, R)
        want, Z_want = exact(Y)
        assert pytest.approx(Z_want, rel=1e-3) == Z
        assert np.sqrt(((R - want) ** 2).sum() / (want**2).sum()) < 0.05


def test_a_far_outlier_does_not_take_all_the_memory():
    Y = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    Y[0] = 1e7
    repulsion = grid.Repulsion(300)
    repulsion(Y, np.empty_like(Y))
    assert math.prod(repulsion._size) < 5e6


@pytest.mark.parametrize("place", [0.0, 1.0, -1e4, 1e-30])
def test_identical_points_feel_no_force(place):
    Y = np.full((50, 2), place, np.float32)
    R = np.empty_like(Y)
    Z = grid.Repulsion(50)(Y, R)
    assert pytest.approx(50 * 49) == Z
    assert np.abs(R).max() < 1e-2


def test_a_coordinate_that_is_no_number_is_named_not_followed():
    Y = np.zeros((10, 2), np.float32)
    Y[3] = np.nan
    with pytest.raises(FloatingPointError):
        grid.Repulsion(10)(Y, np.empty_like(Y))


def test_the_hilbert_order_is_a_permutation_that_keeps_neighbours_near():
    Y = np.random.default_rng(0).random((4000, 2)).astype(np.float32)
    order = grid.hilbert_order(Y)
    assert np.array_equal(np.sort(order), np.arange(4000))
    steps = np.linalg.norm(np.diff(Y[order], axis=0), axis=1)
    assert np.median(steps) < 0.03  # 0.5 in random order
