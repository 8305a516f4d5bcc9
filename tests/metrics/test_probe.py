"""Linear probes: they read what is there, nothing from noise, and their nulls say so."""

from __future__ import annotations

import numpy as np
import pytest

from langscape.errors import DataError
from langscape.metrics.probe import (
    best_probe,
    control_labels,
    fit_probe,
    interval_over_texts,
    majority_accuracy,
    split_by_text,
    unit_accuracies,
    word_accuracy,
)


@pytest.fixture(scope="module")
def material():
    """90 texts of 8 words; the answer is written into a direction of the vectors, under noise."""
    chance = np.random.default_rng(5)
    texts = np.repeat(np.arange(90), 8)
    y = chance.integers(3, size=len(texts))
    X = chance.normal(size=(len(texts), 12))
    X[np.arange(len(y)), y] += 3.0
    words = [f"w{one}" for one in chance.integers(30, size=len(texts))]
    return X, y, texts, words


def test_the_discriminant_is_scikit_learns_where_nothing_is_shrunk(material):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y, _, _ = material
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    ours = fit_probe(X, y, 3, 0.0)
    np.testing.assert_allclose(ours.chances(X), theirs.predict_proba(X), atol=1e-9)


def test_a_probe_reads_what_is_written_and_nothing_from_noise(material):
    X, y, texts, _ = material
    split = split_by_text(texts, 0)
    for vectors, readable in ((X, True), (np.random.default_rng(1).normal(size=X.shape), False)):
        made = best_probe(vectors[split.train], y[split.train], 3, texts[split.train], 0)
        right = made.answers(vectors[split.test]) == y[split.test]
        low, high = interval_over_texts(right, texts[split.test], 0)
        assert low <= right.mean() <= high
        assert (low > 0.7) is readable
        assert (low > majority_accuracy(y, split) + 0.05) is readable


def test_no_text_is_on_both_sides_and_three_are_needed(material):
    _, _, texts, _ = material
    split = split_by_text(texts, 3)
    assert not set(texts[split.train]) & set(texts[split.test])
    with pytest.raises(DataError, match="at least 3 texts"):
        split_by_text(np.array([0, 0, 1]), 0)


def test_the_word_alone_tells_what_hangs_on_it_and_nothing_else(material):
    _, y, texts, words = material
    split = split_by_text(texts, 0)
    by_word, right = word_accuracy(y, words, split)
    assert by_word == right.mean() < 0.5
    fixed = control_labels(y, words, 0)
    assert word_accuracy(fixed, words, split)[0] == 1.0
    assert {(word, one) for word, one in zip(words, fixed, strict=True)}.__len__() == len(set(words))


def test_the_unit_that_holds_an_answer_stands_out(material):
    X, y, texts, _ = material
    split = split_by_text(texts, 0)
    alone = unit_accuracies(X, (y == 1).astype(int), 2, split)
    assert alone.argmax() == 1
    dealt = (y == 1).astype(int)
    dealt[split.train] = np.random.default_rng(0).permutation(dealt[split.train])
    assert alone.max() > unit_accuracies(X, dealt, 2, split).max() + 0.1
