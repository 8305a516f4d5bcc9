"""Words as Gaussians of a real model: against captures, one context at a time."""

import numpy as np
import pytest

from langscape.data import Context
from langscape.errors import DataError, SettingsError
from langscape.models import capture, gaussians_of, word_gaussians
from langscape.models.gaussians import Welford, factors

TEXTS = [
    "She drank tea by the window. The tea was cold, and nobody minded.",
    "Tea grows in the hills. In the harbour lay a boat. A small boat carried unforgettable tea.",
    "They said the boat was unforgettable.",
]


class Texts:
    """The least that word_gaussians asks of a corpus."""

    def find(self, words, contexts, seed=0, progress=None):
        self.words = words
        found = []
        for word in words:
            at = [(text, text.lower().find(word)) for text in TEXTS]
            found.append([Context(text, i, i + len(word)) for text, i in at if i >= 0][:contexts])
        self.contexts = found
        self.occurrences = [len(some) for some in found]
        return self

    def notes(self):
        return ("from three texts",)


@pytest.fixture(scope="module")
def model(minilm):
    return minilm


def by_hand(model, context, layer):
    """The word's vector by an ordinary capture: the mean over tokens inside its characters."""
    seen = capture(model, context.text, want=("hidden",), layers=layer)
    rows = [
        i
        for i, (start, end) in enumerate(seen.tokens.offsets.tolist())
        if end > start and start >= context.start and end <= context.end
    ]
    return seen["hidden"][0][rows].mean(0), len(rows)


@pytest.mark.parametrize(("layer", "number"), [(-1, 6), (2, 2), (0, 0)])
def test_means_and_variances_are_those_of_captures(model, layer, number):
    words = ["tea", "unforgettable", "boat"]
    corpus = Texts()
    g = word_gaussians(model, corpus, words, contexts=3, layer=layer, rank=2)
    assert g.metadata["layer"] == number
    for i, word in enumerate(words):
        vectors = np.stack([by_hand(model, one, number)[0] for one in corpus.contexts[i]])
        np.testing.assert_allclose(g.means[i], vectors.mean(0), atol=2e-5)
        np.testing.assert_allclose(g.variances[i], vectors.var(0), atol=2e-5)
        np.testing.assert_allclose(g.samples_of(i), vectors, atol=3e-3)
        C = np.cov(vectors.T, bias=True)
        if len(vectors) <= 3:  # two factors hold the whole covariance of three vectors
            np.testing.assert_allclose(g.covariance(i), C, atol=5e-3)
        assert word in g.contexts[i][0].text.lower()
    assert g.items.columns["few"].tolist() == [True, True, True]
    assert g.notes == ("from three texts",)


def test_a_word_of_several_tokens_is_their_mean(model):
    corpus = Texts().find(["unforgettable"], 5)
    assert by_hand(model, corpus.contexts[0][0], 6)[1] > 1


def test_two_occurrences_in_one_sentence_have_a_vector_each(model):
    text = "The bank of the river is no bank for money."
    both = [Context(text, at, at + 4) for at in (4, 28)]
    g = gaussians_of(model, ["bank"], [both])
    for row, one in enumerate(both):
        np.testing.assert_allclose(g.samples_of(0)[row], by_hand(model, one, 6)[0], atol=3e-3)
    assert g.spread[0] > 1


def test_occurrences_in_two_windows_of_a_long_passage_are_both_read(model):
    text = "bank " + "x. " * 700 + "bank"
    both = [Context(text, 0, 4), Context(text, len(text) - 4, len(text))]
    g = gaussians_of(model, ["bank"], [both])
    assert g.counts.tolist() == [2]
    assert g.spread[0] > 0


def test_passages_shared_by_words_run_once_and_give_the_same(model):
    both = word_gaussians(model, Texts(), ["tea", "boat"], 5)
    alone = word_gaussians(model, Texts(), ["boat"], 5)
    np.testing.assert_allclose(both.means[1], alone.means[0], atol=1e-5)


def test_words_without_contexts_are_left_out_and_none_at_all_is_an_error(model):
    contexts = [[Context("tea", 0, 3)], []]
    g = gaussians_of(model, ["tea", "xyzzy"], contexts)
    assert g.labels == ("tea",)
    assert g.spread.tolist() == [0.0]
    with pytest.raises(DataError, match="none of the words"):
        gaussians_of(model, ["xyzzy"], [[]])
    with pytest.raises(
        SettingsError,
        match=r"hidden layer 9 is not there; default has hidden layers 0 \(the embedding\) to 6",
    ):
        gaussians_of(model, ["tea"], [[Context("tea", 0, 3)]], layer=9)


def test_a_passage_too_long_is_read_where_the_word_stands(model):
    text = "filler " * 900 + "tea"
    g = gaussians_of(model, ["tea"], [[Context(text, len(text) - 3, len(text))]])
    assert np.isfinite(g.means).all()
    assert np.abs(g.means).max() > 0


def test_running_sums_are_the_mean_and_variance_even_far_from_zero():
    X = np.random.default_rng(0).normal(size=(500, 3)) + 1e8
    one = Welford(3)
    for x in X:
        one.add(x)
    np.testing.assert_allclose(one.mean, X.mean(0), rtol=1e-14)
    np.testing.assert_allclose(one.variance, X.var(0), rtol=1e-6)


def test_factors_are_the_best_of_their_rank():
    X = np.random.default_rng(0).normal(size=(20, 6)) * [3, 2, 1, 0.5, 0.1, 0.1]
    C = np.cov(X.T, bias=True)
    F = factors(X, 2)
    values, axes = np.linalg.eigh(C)
    best = (axes[:, -2:] * values[-2:]) @ axes[:, -2:].T
    np.testing.assert_allclose(F @ F.T, best, atol=1e-12)
    assert factors(X[:1], 3).shape == (6, 3)
