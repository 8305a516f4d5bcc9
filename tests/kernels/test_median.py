"""Geometric medians: no point does better, whatever the arrangement."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from langscape.kernels.median import STEPS, median, medians


def solve(Y, w):
    z = np.empty(Y.shape[1])
    steps = median(np.ascontiguousarray(Y, np.float64), np.asarray(w, np.float64), z)
    return z, steps


def cost(Y, w, z):
    return (w * np.linalg.norm(Y - z, axis=1)).sum()


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 30), st.sampled_from([1.0, 3.0, 12.0]), st.sampled_from([2, 3]))
@example(17, 17, 12.0, 3)  # Weiszfeld alone creeps here, and stops short
def test_no_search_finds_a_better_place(seed, n, sharpness, dims):
    rng = np.random.default_rng(seed)
    Y, w = rng.normal(size=(n, dims)), rng.random(n) ** sharpness + 1e-6
    z, steps = solve(Y, w)
    found = minimize(
        lambda q: cost(Y, w, q), z, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    ).fun
    best = min(found, min(cost(Y, w, y) for y in Y))
    assert cost(Y, w, z) <= best * (1 + 1e-6)
    assert steps < STEPS


def test_a_heavy_point_is_its_own_median():
    Y = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    assert np.array_equal(solve(Y, [10.0, 1.0, 1.0])[0], Y[0])


def test_coinciding_points_count_together():
    Y = np.array([[0.0, 0.0], [0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    assert np.array_equal(solve(Y, [0.8, 0.8, 1.0, 1.0])[0], Y[0])


@pytest.mark.parametrize("n", [1, 5])
def test_identical_points_have_themselves_as_median(n):
    assert np.array_equal(solve(np.full((n, 2), 3.0), np.ones(n))[0], [3.0, 3.0])


def test_four_corners_meet_in_the_middle():
    z, _ = solve(np.array([[0, 0], [0, 2], [2, 0], [2, 2.0]]), np.ones(4))
    np.testing.assert_allclose(z, [1.0, 1.0], atol=1e-6)


def test_many_at_once_equal_one_at_a_time():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 2))
    index = rng.integers(0, 40, (30, 8))
    w = rng.random((30, 8))
    w[:, 5] = 0
    out, steps = np.empty((30, 2)), np.empty(30, np.int64)
    medians(Y, index, w, out, steps)
    for i in range(30):
        used = w[i] > 0
        np.testing.assert_allclose(out[i], solve(Y[index[i, used]], w[i, used])[0], atol=1e-9)
