"""What may be said of a picture depends on how far pictures without the information vary."""

import math

import numpy as np
import pytest
from papers.trust.few import Few, measured, pictures
from papers.trust.planted import _gaussians
from scipy.stats import binom

from langscape import metrics
from langscape.metrics.compare import compare
from langscape.metrics.held_out import held_out_area
from langscape.metrics.null import LEAST_DRAWS, Null
from langscape.metrics.random_layout import random_layouts
from langscape.metrics.scores import SCORES, TwoSpaces, applying, score_of


def test_the_range_is_left_by_one_in_twenty_whatever_the_distribution():
    rng = np.random.default_rng(1)
    for draw in (rng.normal, rng.exponential, lambda size: rng.integers(0, 4, size).astype(float)):
        for draws in (LEAST_DRAWS, 99):
            given = draw(size=(2000, draws + 1))
            nulls = [Null.of(one[1:]) for one in given]
            above = sum(one[0] > null.high for one, null in zip(given, nulls, strict=True))
            below = sum(one[0] < null.low for one, null in zip(given, nulls, strict=True))
            assert max(above, below) <= binom.ppf(0.999, 2000, 0.05)


def test_a_few_draws_are_taken_for_normal():
    rng = np.random.default_rng(1)
    given = rng.normal(size=(2000, 6))
    above = sum(one[0] > Null.of(one[1:]).high for one in given)
    assert binom.ppf(0.001, 2000, 0.05) <= above <= binom.ppf(0.999, 2000, 0.05)
    assert Null.of([0.5, 0.5, 0.5], least=0.1).high > 0.7


def test_six_ellipses_at_06_are_not_told_apart_from_chance():
    rng = np.random.default_rng(0)
    shapes = rng.uniform(1, 2, 6)[:, None, None] * np.eye(2)
    null = Null.of([metrics.area_variance(shapes, rng.normal(size=6) ** 2) for _ in range(199)])
    score = SCORES["area_held"]
    assert score.in_words(0.6, null) == "not told apart from chance"
    assert score.verdict(0.6, null) == "not to be read"
    assert "So much is reached by chance too." in score.explained(0.6, null)
    assert score.in_words(0.6, Null(0.0, -0.1, 0.1)) == "far better than chance"


def test_sizes_that_do_not_hold_on_other_rows_are_called_better_by_one_in_twenty_alone():
    rng = np.random.default_rng(3)
    found = [held_out_area(_gaussians(list(rng.normal(size=(12, 8, 3))))) for _ in range(500)]
    above = sum(one.value > one.null.high for one in found if one is not None)
    assert binom.ppf(0.001, 500, 0.05) <= above <= binom.ppf(0.999, 500, 0.05)


def test_worse_is_said_of_what_is_below_the_range_alone():
    score = SCORES["specific_order"]
    assert score.in_words(-0.3, Null(0.0, -0.4, 0.4)) == "not told apart from key popularity alone"
    assert score.in_words(-0.3, Null(0.0, -0.2, 0.2)) == "worse than key popularity alone"


def test_of_movement_it_is_said_what_moves_less_and_not_what_is_better():
    spread, moved, shared = (SCORES[name] for name in ("stability", "moved", "shared"))
    assert spread.in_words(0.2, Null(0.8, 0.7, 0.9)) == "far less than shuffled restarts"
    assert spread.in_words(0.6, Null(0.8, 0.5, 0.9)) == "not told apart from shuffled restarts"
    assert moved.in_words(1.13, Null(1.22, 1.2, 1.24)) == "hardly less than shuffled maps"
    assert shared.in_words(0.4, Null(0.05, 0.03, 0.07)) == "more than shuffled maps"


def test_a_score_a_little_beyond_its_null_is_said_to_be_hardly_so_and_never_the_contrary():
    moved = SCORES["moved"]
    assert moved.in_words(1.13, Null(1.22, 1.1, 1.34)) == "not told apart from shuffled maps"
    assert moved.in_words(1.26, Null(1.22, 1.2, 1.24)) == "hardly more than shuffled maps"


def test_without_a_range_nothing_is_said():
    for null in (Null(0.1), Null(math.nan), Null.of([]), Null.of([0.3])):
        score = SCORES["local"]
        assert (score.in_words(0.9, null), score.verdict(0.9, null), score.against(0.9, null)) == ("", "", "")


def test_a_draw_is_the_map_with_its_places_dealt_anew():
    rng = np.random.default_rng(2)
    high, low = metrics.vectors(rng.normal(size=(60, 5))), metrics.vectors(rng.integers(0, 5, (60, 2)))
    rows = np.arange(0, 60, 2)
    one = random_layouts(high, low, 7, seed=3, rows=rows)[0]
    dealt = np.random.default_rng(3)
    at = np.empty(60, int)
    at[rows] = rows[dealt.permutation(30)]
    at[rows + 1] = (rows + 1)[dealt.permutation(30)]
    # points on one place are taken by index, which dealing changes: what does not depend on it is equal
    _, correlations = compare(high, low.dealt(at), rows, 7)
    np.testing.assert_allclose(one.correlations, correlations, atol=1e-12)
    low = metrics.vectors(rng.normal(size=(60, 2)))
    one = random_layouts(high, low, 7, seed=3, rows=rows)[0]
    plain = TwoSpaces(high, low.dealt(at), rows, *compare(high, low.dealt(at), rows, 7))
    np.testing.assert_array_equal(one.ranks, plain.ranks)
    np.testing.assert_array_equal(one.places_on_map(), plain.places_on_map())


CHEAP = [one for one in pictures() if one.share == 1]


def test_every_score_with_a_null_is_tried_on_random_pictures():
    tried = {name.removeprefix("inserted_") for one in CHEAP for name in one.draw(12, 0, True)}
    assert {name for name, score in SCORES.items() if score.null} - {"kept"} == tried


@pytest.mark.parametrize("items", [4, 10])
@pytest.mark.parametrize("picture", CHEAP, ids=lambda one: one.picture)
def test_random_pictures_are_called_better_in_one_of_twenty_cases_at_most(picture: Few, items: int):
    for row in measured(picture, items, 30):
        assert row.by_chance * row.draws <= binom.ppf(0.999, row.draws, 0.05), row


@pytest.mark.parametrize("picture", CHEAP, ids=lambda one: one.picture)
def test_good_pictures_of_thirty_items_are_called_better(picture: Few):
    # what all queries attend to alike makes most of these three, and is in their null
    popular = {"order", "strongest", "anywhere"}
    for name, (value, null) in picture.draw(30, 0, True).items():
        if name not in popular:
            score = score_of(name)
            better = score.beyond[0]
            assert score.in_words(value, null).startswith((better, f"far {better}")), name


def test_a_3d_map_has_the_null_of_its_flat_picture():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 6))
    found, _ = metrics.quality(X, X[:, :3])
    for score in applying("map", computed=True):
        null = Null.read(found, f"flat_{score.name}")
        assert null.known
        assert null.low <= null.mean <= null.high
