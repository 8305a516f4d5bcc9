"""The test bench of scores on planted truth, small."""

import numpy as np
import pytest
from papers.trust.__main__ import lines, measured, told
from papers.trust.ellipses import area_and_rows, turned
from papers.trust.planted import Trial, one_spread, trials
from papers.trust.query_key import table

from langscape import affinity, embed
from langscape.data import Gaussians, Items
from langscape.engine.context_ellipses import context_shapes
from langscape.metrics.scores import SCORES

SMALL = trials(120)


@pytest.mark.parametrize("trial", SMALL, ids=lambda one: f"{one.picture}, {one.damage}")
def test_scores_fall_with_the_picture_and_have_nothing_left_where_it_has_not(trial):
    rows = measured(trial, levels=6, seeds=2)
    assert [one.name for one in rows if not one.holds] == [], "\n".join(lines(rows))


def test_every_score_with_a_null_is_on_the_bench():
    seen = {name.removeprefix("inserted_") for trial in SMALL for name in trial.measure(0.0, 0)}
    assert {score.name for score in SCORES.values() if score.null} <= seen


def test_a_score_that_is_true_by_construction_fails():
    trial = Trial("ellipses", "sizes exchanged", lambda damage, seed: {"area_variance": (1.0, 0.0)})
    (row,) = measured(trial, levels=5, seeds=2)
    assert not row.holds


def test_a_score_with_something_left_where_the_picture_has_nothing_fails():
    damages = np.linspace(0, 1, 5)
    values = 1 - 0.5 * damages[None]
    assert not told(SMALL[0], "local", damages, values, 0.02).holds
    assert told(SMALL[0], "local", damages, 1 - 0.98 * damages[None], 0.02).holds


def test_few_rows_do_not_look_certain():
    rows = np.random.default_rng(0).integers(2, 40, 150)
    plain, drawn = area_and_rows(one_spread(rows))
    assert plain > 0.35  # the variance over n rows is too small by (n − 1)/n
    assert abs(drawn) < 0.2


def outward(share: float, n: int = 120, dim: int = 30) -> Gaussians:
    """Items that all vary along the direction from the middle, and in one direction of their own."""
    rng = np.random.default_rng(1)
    means = rng.normal(size=(n, dim)) * np.r_[4.0, 4.0, np.full(dim - 2, 0.3)]
    u = (means - means.mean(axis=0)) / np.linalg.norm(means - means.mean(axis=0), axis=1, keepdims=True)
    rows = means[:, None] + share * rng.normal(size=(n, 40, 1)) * u[:, None]
    rows = rows + 0.3 * rng.normal(size=(n, 40, dim))
    return Gaussians(
        rows.mean(axis=1), rows.var(axis=1), Items.numbered(n), np.full(n, 40), samples=rows.reshape(-1, dim)
    )


def test_the_direction_that_all_share_turns_no_ellipse():
    given = outward(3.0)
    made = embed(affinity.gaussians(given, perplexity=15), shape="contexts")
    assert made.settings["common"] > 0.5
    cosines, _ = turned(made, context_shapes(made.xy, given))
    assert len(cosines) < 60
    left_in, _ = turned(made, context_shapes(made.xy, given, shared=None))
    assert len(left_in) > 2 * len(cosines)
    assert (left_in > 0.9).mean() > 0.8
    assert "along which all vary alike" in _meaning(made)
    plain = embed(affinity.gaussians(outward(0.0), perplexity=15), shape="contexts")
    assert plain.settings["common"] == 0
    assert "along which all vary alike" not in _meaning(plain)


def _meaning(made):
    from langscape.views import ellipses

    return ellipses(made).properties["outline_meaning"]


def test_a_map_whose_area_is_variance_by_construction_does_not_print_that_as_trust():
    made = embed(affinity.gaussians(outward(0.0), perplexity=15), shape="contexts")
    assert "area_variance" not in made.quality
    assert made.quality["area_held_rows"] == 40
    from langscape.views import ellipses

    first = ellipses(made).properties["quality"][0]
    assert first["name"] == "area_held"
    assert "of 40 rows each" in first["shown"]


@pytest.mark.slow
def test_the_table_of_queries_and_keys_names_the_blind_picture():
    text = ["The cat sat on the mat by the old red door.", "A dog saw the cat and it ran to the far wall."]
    found = "\n".join(table("default", 2, {"two": text}))
    assert "key popularity alone" in found
    assert "blind higher on" in found
