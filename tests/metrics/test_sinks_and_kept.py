"""Sinks are found from the weights; what a map keeps is as plain NumPy has it, and falls with damage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from langscape.errors import DataError
from langscape.metrics import find_sinks, head_scores, kept, parked_weight, shuffled_weights
from langscape.metrics.kept import evenness, partners
from langscape.metrics.null import Null
from langscape.metrics.scores import SCORES


def causal(weights: np.ndarray) -> np.ndarray:
    weights = np.tril(weights)
    return weights / weights.sum(axis=1, keepdims=True)


def peaked(n: int = 60, seed: int = 0) -> np.ndarray:
    """Tokens on a line that attend to those near them."""
    at = np.random.default_rng(seed).permutation(n)
    weights = np.exp(-(((at[:, None] - at) / 4.0) ** 2))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seen", ["all", "before"])
@pytest.mark.parametrize(("place", "share"), [(0, 0.9), (8, 0.71), (8, 0.3)])
def test_a_planted_sink_is_found_with_its_weight_and_no_other_token_is(seen, place, share):
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.full(60, 0.5), 60)
    weights = causal(weights) if seen == "before" else weights
    rows = np.arange(60) > place if seen == "before" else np.ones(60, bool)
    weights[rows] *= 1 - share
    weights[rows, place] += share
    found = find_sinks(weights[None, None])[0, 0]
    assert np.flatnonzero(found).tolist() == [place]
    parked = parked_weight(weights[None, None], found[None, None], asked=rows)[0, 0]
    assert parked == pytest.approx(share + (1 - share) * 0.02, abs=0.03)
    scores = head_scores(weights[None, None], sinks=found[None, None])
    assert scores["parked"][0, 0] >= share * rows.mean() - 0.02


def test_heads_without_a_sink_have_none():
    for weights in (peaked(), np.full((60, 60), 1 / 60), causal(np.ones((60, 60)))):
        assert not find_sinks(weights[None, None]).any()
    # what a third of the queries or fewer look at is a finding
    few = np.full((60, 60), 0.5 / 60)
    few[:15, 30] += 0.5
    few[15:, :] *= 2
    assert not find_sinks(few[None, None]).any()


def test_separators_are_one_sink_where_together_they_take_what_one_would():
    stops = np.arange(60) % 10 == 9
    weights = np.full((60, 60), 0.3 / 54)
    weights[:, stops] = 0.7 / 6
    assert find_sinks(weights[None, None], separators=stops)[0, 0].tolist() == stops.tolist()


def plain_kept(P: np.ndarray, xy: np.ndarray, k: int) -> np.ndarray:
    out = []
    for i in range(len(P)):
        others = [j for j in range(len(P)) if j != i]
        strongest = sorted(others, key=lambda j: (-P[i, j], j))[:k]
        near = sorted(others, key=lambda j: (float(((xy[i] - xy[j]) ** 2).sum()), j))[:k]
        strongest = [j for j in strongest if P[i, j] > 0]
        out.append(len(set(strongest) & set(near)) / max(len(strongest), 1))
    return np.array(out)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_kept_is_equal_to_plain_numpy(k):
    rng = np.random.default_rng(k)
    weights = rng.dirichlet(np.full(40, 0.3), 40) * (rng.random((40, 40)) < 0.4)
    P, xy = weights + weights.T, rng.normal(size=(40, 2))
    found = kept(P, xy, k)
    np.testing.assert_array_equal(found.per_point, plain_kept(P, xy, k))
    assert found.k == k


def test_kept_falls_with_planted_damage_and_is_chance_for_places_at_random():
    weights = peaked(120)
    P = weights + weights.T
    true = np.random.default_rng(0).permutation(120)
    line = np.c_[true, np.zeros(120)].astype(float)
    moved, values = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0], []
    for share in moved:
        rng = np.random.default_rng(3)
        xy, gone = line.copy(), rng.random(120) < share
        xy[gone] = xy[rng.permutation(np.flatnonzero(gone))]
        values.append(kept(P, xy).mean)
    assert spearmanr(moved, values)[0] <= -0.99
    assert values[0] > 0.85
    random = [kept(P, np.random.default_rng(s).normal(size=(120, 2))).mean for s in range(20)]
    assert np.mean(random) == pytest.approx(10 / 119, abs=0.01)


def test_shuffled_weights_keep_how_peaked_rows_are_and_nothing_else():
    for weights in (peaked(), causal(np.random.default_rng(0).random((40, 40)))):
        dealt = shuffled_weights(weights, seed=1)
        np.testing.assert_allclose(np.sort(dealt, axis=1), np.sort(weights, axis=1))
        np.testing.assert_array_equal(np.diag(dealt), np.diag(weights))
        assert partners(dealt) == pytest.approx(partners(weights))
        assert not np.allclose(dealt, weights)
    assert not np.triu(shuffled_weights(causal(np.ones((9, 9)))), 1).any()


def test_evenness_and_verdicts():
    assert evenness(np.full((30, 30), 1 / 30)) == pytest.approx(1)
    assert evenness(causal(np.ones((30, 30)))) == pytest.approx(1)
    assert evenness(peaked()) < 0.7
    score = SCORES["kept"]
    null = Null(0.2, 0.15, 0.25)
    assert [score.verdict(value, null) for value in (0.9, 0.53, 0.5, 0.29, 0.27, 0.1)] == [
        "good", "good", "partly", "partly", "not to be read", "not to be read",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("P", "xy", "k"),
    [(np.ones((3, 2)), np.ones((3, 2)), 1), (np.ones((1, 1)), np.ones((1, 2)), 1),
     (np.ones((4, 4)), np.ones((4, 2)), 4)],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused(P, xy, k):
    with pytest.raises(DataError):
        kept(P, xy, k)
