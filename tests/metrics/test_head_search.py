"""Heads that were planted to follow a pattern are found, and heads that follow what is popular are not."""

from __future__ import annotations

import numpy as np
import pytest

from langscape.errors import DataError, SettingsError
from langscape.metrics.head_search import WordPairs, search_heads

SENTENCES, LONG = 12, 10
KINDS = ["noun", "verb", "pronoun", "noun", "name"] * 2


@pytest.fixture(scope="module")
def pairs() -> WordPairs:
    """Twelve sentences of ten words, each seen by every other; the first word comes again at the end."""
    n = SENTENCES * LONG
    query, key = (axis.ravel() for axis in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    sentence = np.arange(n) // LONG
    kept = (sentence[query] == sentence[key]) & (query != key)
    words = [f"w{i % LONG if i % LONG < 9 else 0}" for i in range(n)]
    word, kinds = np.arange(n) % LONG, KINDS * SENTENCES
    return WordPairs(query[kept], key[kept], sentence, word, word, words, words, kinds, kinds)


def normed(pairs: WordPairs, weight: np.ndarray) -> np.ndarray:
    noisy = weight + np.random.default_rng(0).uniform(0, 0.05, len(weight))
    return noisy / np.bincount(pairs.query, noisy)[pairs.query]


def test_each_planted_head_is_found_for_its_pattern_and_popularity_is_not_taken_for_one(pairs):
    query, key = pairs.query, pairs.key
    kind = np.array(pairs.kind)
    text = np.array(pairs.text)
    planted = {
        "next word": pairs.word[key] == pairs.word[query] + 1,
        "same word": text[query] == text[key],
        "noun → pronoun": (kind[query] == "noun") & (kind[key] == "pronoun"),
    }
    popular = kind[key] == "pronoun"  # everybody looks at pronouns, nouns no more than others
    even = np.zeros(len(query))
    weights = [normed(pairs, one.astype(float)) for one in (*planted.values(), popular, even)]
    heads = [(0, at) for at in range(len(weights))]
    found = search_heads(pairs, weights, heads, list(planted))
    assert found.patterns == tuple(planted)
    for row in range(3):
        assert found.best(row)[0] == row
        assert found.weight[row, row] > 0.6
        assert found.low[row, row] < found.weight[row, row] < found.high[row, row]
        assert not found.sure[row, 4]
    assert found.weight[2, 3] > 0.6
    assert not found.sure[2, 3]
    assert found.queries.tolist() == [108, 24, 48]
    assert found.sentences.tolist() == [12, 12, 12]


def test_without_names_all_patterns_with_occasions_are_asked(pairs):
    found = search_heads(pairs, [normed(pairs, np.zeros(len(pairs.query)))], [(0, 0)])
    assert {"same word", "next word", "previous word", "noun → name"} <= set(found.patterns)
    assert not found.sure.any()


def test_what_cannot_be_asked_is_said(pairs):
    weights = [normed(pairs, np.zeros(len(pairs.query)))]
    with pytest.raises(SettingsError, match="'colour' is no class of these tokens; use name, noun"):
        search_heads(pairs, weights, [(0, 0)], ["colour > noun"])
    few = WordPairs(*(getattr(pairs, name) for name in pairs.__dataclass_fields__))
    object.__setattr__(few, "text", [str(i) for i in range(len(pairs.text))])
    object.__setattr__(few, "key_text", [str(i) for i in range(len(pairs.text))])
    with pytest.raises(DataError, match="'same word' has 0 queries in 0 sentences"):
        search_heads(few, weights, [(0, 0)], ["same word"])
    found = search_heads(few, weights, [(0, 0)])
    assert "same word" not in found.patterns
    assert found.left_out == ("same word (0 queries in 0 sentences)",)
    assert search_heads(pairs, weights, [(0, 0)]).left_out == ()
