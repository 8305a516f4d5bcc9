"""The step between Gaussians in the plane: against finite differences, the metric, and the 4-D step."""

import numpy as np
import pytest

from langscape import metrics
from langscape.kernels import bures, exact
from langscape.kernels.pairwise_forces import FAR, widened

rng = np.random.default_rng(0)


def some(n=12):
    """Items (5, n) inside the cone, and a joint P."""
    Y = rng.normal(size=(5, n))
    Y[2] = np.abs(Y[2]) + np.hypot(Y[3], Y[4]) + 0.1
    P = rng.uniform(size=(n, n))
    P = P + P.T
    np.fill_diagonal(P, 0)
    return (P / P.sum()).astype(np.float32), Y


def kl(P, Y):
    totals, shares = np.empty(Y.shape[1]), np.empty(Y.shape[1])
    bures.kl_rows(P, Y, totals, shares)
    return totals.sum() + np.log(shares.sum())


def gradient(P, Y):
    Y = Y.astype(np.float32)
    A, R = np.empty_like(Y), np.empty_like(Y)
    Z = bures.forces_rows(P, Y, A, R, np.empty(1))
    return 4 * (A - R / Z)


@pytest.mark.slow
def test_the_gradient_is_the_finite_difference_in_every_coordinate():
    P, Y = some()
    found = gradient(P, Y)
    step = 1e-6
    for d in range(5):
        for i in range(Y.shape[1]):
            up, down = Y.copy(), Y.copy()
            up[d, i] += step
            down[d, i] -= step
            slope = (kl(P, up) - kl(P, down)) / (2 * step)
            assert found[d, i] == pytest.approx(slope, rel=2e-3, abs=2e-5), (d, i)


def test_distances_are_those_of_the_ellipses():
    P, Y = some()
    D = metrics.ellipse_distances(Y[:2].T, bures.covariances(Y))
    q = 1 / (1 + D)
    np.fill_diagonal(q, 0)
    some_p = P > 0
    expected = (P[some_p] * np.log(P[some_p] * q.sum() / q[some_p])).sum()
    assert kl(P, Y) == pytest.approx(expected, rel=1e-7)  # P sums to 1 in float32


def test_deviations_lie_along_the_angle_and_across_it():
    angle, long, short = 0.7, 3.0, 0.5
    a, size = (long + short) / np.sqrt(2), (long - short) / np.sqrt(2)
    Y = np.array([[0.0], [0.0], [a], [size * np.cos(2 * angle)], [size * np.sin(2 * angle)]])
    values, axes = np.linalg.eigh(bures.covariances(Y)[0])
    np.testing.assert_allclose(values, [short**2, long**2])
    assert abs(axes[:, 1] @ [np.cos(angle), np.sin(angle)]) == pytest.approx(1)


def test_with_parallel_axes_it_is_the_step_of_the_4_d_map():
    P, Y = some(30)
    Y[4] = 0
    A, R = (np.empty_like(Y, np.float32) for _ in range(2))
    Z = bures.forces_rows(P, Y.astype(np.float32), A, R, np.empty(1))
    # a and b₁ are the deviations turned by 45 degrees
    n, flat = Y.shape[1], widened(Y[:4], FAR)
    A4, R4 = (np.zeros_like(flat) for _ in range(2))
    assert exact.Forces(n, 4)(widened(P, 0.0), flat, A4, R4) == pytest.approx(Z, rel=1e-5)
    np.testing.assert_allclose(A[:4], A4[:, :n], atol=1e-5)
    np.testing.assert_allclose(R[:4], R4[:, :n], atol=1e-4)
    np.testing.assert_allclose(A[4], 0, atol=1e-6)


def test_deviations_never_fall_below_their_floor():
    n = 200
    Y = rng.normal(size=(5, n)).astype(np.float32)
    zero = np.zeros_like(Y)
    before = Y.copy()
    settings = (np.float32(1), np.float32(1), np.float32(0.5), False, np.float32(0.01), np.float32(0))
    bures.update(Y, zero.copy(), np.ones_like(Y), zero, zero, 1.0, *settings, np.float32(0.1))
    deviations = (Y[2] + np.array([[1], [-1]]) * np.hypot(Y[3], Y[4])) / np.sqrt(2)
    assert deviations.min() >= 0.1 - 1e-6
    inside = (before[2] - np.hypot(before[3], before[4])) / np.sqrt(2) >= 0.1
    np.testing.assert_allclose(Y[2:, inside], before[2:, inside], atol=1e-6)
    # the nearest point of the cone: what was moved stands at a right angle to where it went
    outside = ~inside & (deviations[0] > 0.11)
    tip = np.array([0.1 * np.sqrt(2), 0, 0])[:, None]
    moved, place = (before - Y)[2:, outside], Y[2:, outside] - tip
    np.testing.assert_allclose((moved * place).sum(0), 0, atol=1e-5)
