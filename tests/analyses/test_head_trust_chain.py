"""A head that looks at one token is told by its map: the verdict does not count partners without weight."""

from collections.abc import Mapping

import numpy as np
import pytest

from langscape.analyses._head_trust import HeadProblem, null_scores, scored, shuffled_affinities, verdict_of
from langscape.analyses._restarts import embed_restarts, head_schedules
from langscape.metrics import weight_near, weight_near_by_chance


def head(n: int, on: float) -> HeadProblem:
    """Every token gives so much to the one before it, and the rest to any."""
    weights = np.exp(np.random.default_rng(0).normal(size=(n, n)))
    weights *= (1 - on) / weights.sum(axis=1, keepdims=True)
    weights[np.arange(n), np.maximum(np.arange(n) - 1, 0)] += on
    return HeadProblem(shuffled_affinities(weights), weights, np.ones(n))


def judged(problem: HeadProblem) -> tuple[str, Mapping[str, float]]:
    n = len(problem.weights)
    (made,), _ = embed_restarts([problem.affinities], 4, head_schedules(n, 1000), 0)
    found = scored(made, problem, null_scores([problem], 1000)[0])
    return verdict_of(found), found.quality


def test_the_map_of_a_planted_chain_is_good_though_it_keeps_no_more_partners_than_chance():
    verdict, quality = judged(head(30, 0.95))
    assert quality["kept"] < quality["kept_null_high"]
    assert quality["weight_near"] > 0.95 > 0.6 > quality["weight_near_null_high"]
    assert verdict == "good"


@pytest.mark.parametrize("on", [0.0, 0.3])
def test_the_map_of_weights_that_lie_anywhere_is_not_called_good(on):
    verdict, quality = judged(head(30, on))
    assert quality["weight_near"] < 0.9
    assert verdict != "good"


def test_by_chance_as_much_weight_lies_near_as_tokens_do():
    problem = head(30, 0.5)
    xy = np.random.default_rng(1).normal(size=(30, 2))
    null = weight_near_by_chance(problem.affinities.P, xy)
    assert null.mean == pytest.approx(10 / 29, abs=0.03)
    assert null.low < weight_near(problem.affinities.P, xy).mean < null.high
