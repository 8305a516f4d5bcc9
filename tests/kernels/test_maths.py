import numpy as np
from numba import njit

from langscape.kernels import maths


@njit(**maths.FAST)
def _exp_of(x, out):
    for i in range(x.size):
        out[i] = maths.exp(x[i])


@njit(**maths.FAST)
def _log_of(x, out):
    for i in range(x.size):
        out[i] = maths.log(x[i])


def test_exp_is_exact_to_rounding_down_to_where_nothing_counts():
    x = np.concatenate([[0.0], -np.logspace(-9, np.log10(699.0), 20_000)])
    out = np.empty_like(x)
    _exp_of(x, out)
    assert np.abs(out / np.exp(x) - 1).max() < 1e-12


def test_exp_far_below_is_as_good_as_zero():
    out = np.empty(2)
    _exp_of(np.array([-1e5, -1e300]), out)
    assert (out >= 0).all()
    assert (out < 1e-300).all()


def test_log_is_exact_to_rounding():
    x = np.concatenate([np.logspace(-300, 300, 20_001), np.linspace(0.5, 2.0, 20_001)])
    out = np.empty_like(x)
    _log_of(x, out)
    np.testing.assert_allclose(out, np.log(x), rtol=1e-14, atol=1e-15)
