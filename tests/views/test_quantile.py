import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from langscape.errors import DataError, SettingsError
from langscape.views.quantile import quantile_scale

numbers = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60)


@given(numbers, st.integers(1, 80))
def test_order_is_kept_and_the_scale_can_be_undone(values, k):
    scale = quantile_scale(values, k)
    ordered = np.sort(values)
    placed = scale.forward(ordered)
    assert (np.diff(placed) >= 0).all()
    assert (np.diff(scale.shares) > 0).all()
    assert (np.diff(scale.knots) > 0).all()
    assert placed.min() >= 0
    assert placed.max() <= 1
    np.testing.assert_allclose(scale.inverse(placed), ordered, rtol=1e-9, atol=1e-6)


def test_the_quantiles_stand_at_equal_distances():
    values = np.random.default_rng(0).lognormal(size=1000)
    for k in (1, 5, 100):
        shares = np.linspace(0, 1, k + 1)
        np.testing.assert_allclose(quantile_scale(values, k).forward(np.quantile(values, shares)), shares)


@pytest.mark.parametrize("k", [50, 51, 10_000])
def test_k_of_n_or_more_is_the_empirical_distribution_function(k):
    values = np.random.default_rng(0).normal(size=50)
    ranks = np.argsort(np.argsort(values))
    np.testing.assert_allclose(quantile_scale(values, k).forward(values), ranks / 49)


def test_k_of_one_is_linear_between_the_ends_and_clamped_beyond():
    np.testing.assert_allclose(quantile_scale([2, 3, 12], 1).forward([-5, 2, 7, 12, 90]), [0, 0, 0.5, 1, 1])


def test_equal_values_share_the_middle_of_their_places_and_the_ends_stay():
    scale = quantile_scale([0, 0, 0, 5, 7, 7, 7, 9, 9], 100)
    np.testing.assert_allclose(scale.forward([0, 5, 7, 9]), [0, 3 / 8, 5 / 8, 1])
    assert quantile_scale([4, 4, 4]).forward([4, 9]).tolist() == [0.5, 0.5]
    assert quantile_scale([4, 4, 4]).inverse(0.2) == 4


def test_matplotlib_puts_ticks_at_equal_steps_and_labels_them_with_the_values():
    values = np.random.default_rng(0).standard_cauchy(size=400)
    figure = Figure()
    axes = figure.subplots()
    axes.scatter(values, values)
    axes.set_xscale("quantile", values=values, k=100)
    figure.draw_without_rendering()
    ticks = axes.xaxis.get_major_ticks()
    places = [axes.transData.transform((tick.get_loc(), 0))[0] for tick in ticks]
    np.testing.assert_allclose(np.diff(places), np.diff(places).mean(), rtol=1e-6)
    wanted = np.quantile(values, np.linspace(0, 1, 11))
    shown = [float(tick.label1.get_text().replace("−", "-")) for tick in ticks]
    np.testing.assert_allclose(shown, wanted, rtol=0.006)


def test_what_has_no_quantiles_is_refused():
    with pytest.raises(SettingsError, match=r"k 0 of a quantile scale must be a whole number"):
        quantile_scale([1, 2], 0)
    with pytest.raises(SettingsError, match=r"k 2\.5"):
        quantile_scale([1, 2], 2.5)
    for bad in ([], [1, np.nan]):
        with pytest.raises(DataError, match="finite values"):
            quantile_scale(bad)
