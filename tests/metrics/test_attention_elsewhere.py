"""How much of a token's attention goes elsewhere, and what rows that were dealt anew have."""

import numpy as np
import pytest

from langscape.errors import DataError
from langscape.metrics import attention_elsewhere, elsewhere_by_chance
from langscape.metrics.scores import SCORES

TOKENS = 40
ROWS = np.arange(TOKENS)


def head(seed, causal=False, sink=0.0):
    """Peaked rows over random keys, and a share of each on the first."""
    logits = 4 * np.random.default_rng(seed).normal(size=(TOKENS, TOKENS))
    if causal:
        logits[np.triu_indices(TOKENS, 1)] = -np.inf
    weights = np.exp(logits)
    weights /= weights.sum(1, keepdims=True)
    weights *= 1 - sink
    weights[:, 0] += sink
    return weights


def test_the_same_head_looks_nowhere_else_and_no_key_in_common_is_all_of_it():
    weights = head(0)
    assert attention_elsewhere(weights, weights).tolist() == [0.0] * TOKENS
    assert attention_elsewhere(np.eye(4), np.roll(np.eye(4), 1, axis=1)).tolist() == [1.0] * 4
    # what goes to a learned sink is attention, too
    assert attention_elsewhere(np.eye(2), np.eye(2) / 2).tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match="the same tokens"):
        attention_elsewhere(np.eye(2), np.eye(3))


@pytest.mark.parametrize("causal", [False, True])
def test_the_same_head_is_far_less_elsewhere_than_dealt_rows(causal):
    weights = head(0, causal)
    null = elsewhere_by_chance(weights, weights, ROWS)
    assert SCORES["attention_elsewhere"].in_words(0.0, null) == "far less than attention dealt anew"


@pytest.mark.parametrize("sink", [0.0, 0.6])
def test_a_head_with_its_rows_shuffled_is_called_no_better_than_the_null(sink):
    called = []
    for seed in range(100):
        weights = head(seed, sink=sink)
        other = weights[np.random.default_rng(seed + 1000).permutation(TOKENS)]
        null = elsewhere_by_chance(weights, other, ROWS, seed)
        called.append(attention_elsewhere(weights, other).mean() < null.low)
    assert np.mean(called) <= 0.12  # one in twenty is meant


@pytest.mark.parametrize("tokens", [6, 10, TOKENS])
@pytest.mark.parametrize("sink", [0.0, 0.6])
def test_unrelated_heads_of_a_decoder_are_called_no_better_than_the_null(tokens, sink):
    # dealt as whole rows, which reach keys that a token does not see, most of these were called alike
    called = []
    for seed in range(100):
        one, other = (head(at, True, sink)[:tokens, :tokens] for at in (seed, seed + 1000))
        null = elsewhere_by_chance(one, other, np.arange(tokens), seed)
        called.append(attention_elsewhere(one, other).mean() < null.low)
    assert np.mean(called) <= 0.12


def test_weight_that_both_park_on_one_key_is_in_the_null_as_well():
    one, other = head(0, sink=0.6), head(1, sink=0.6)
    null = elsewhere_by_chance(one, other, ROWS)
    value = attention_elsewhere(one, other).mean()
    assert value < 0.4
    assert SCORES["attention_elsewhere"].verdict(value, null) == "not to be read"


def test_a_half_changed_head_lies_between_the_same_and_another():
    one, other = head(0), head(1)
    half = np.where((ROWS < TOKENS // 2)[:, None], one, other)
    means = [attention_elsewhere(one, second).mean() for second in (one, half, other)]
    assert means[0] == 0
    assert means[1] == pytest.approx(means[2] / 2, rel=0.15)
