"""A tuned lens: affine maps that are found where there are any, and judged on what was held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

from langscape.errors import DataError, SettingsError
from langscape.io.codec import read_noun, write_noun
from langscape.models import lens, stream, wrap_model
from langscape.models import tuned_lens as module
from langscape.models.tuned_lens import PIECE, TunedLens, fit_lens, tuned_lens


def text(tokens: int, seed: int = 0) -> str:
    """Words of the small vocabulary in a random order."""
    words = [word for word in tokenizer().get_vocab() if word.isalpha()]
    return " ".join(np.random.default_rng(seed).choice(words, tokens))


@pytest.fixture(scope="module")
def fitted():
    network = built(DECODERS["llama"])
    with torch.no_grad():  # layers that do something, so that directions turn on the way
        for name, parameter in network.named_parameters():
            if "layers" in name and parameter.ndim == 2:
                parameter.mul_(6)
    model = wrap_model(network, tokenizer=tokenizer())
    return model, fit_lens(model, [text(16 * PIECE)], "random words")


def test_the_lens_comes_nearer_to_the_model_than_the_logit_lens_on_tokens_it_was_not_fitted_to(fitted):
    _, found = fitted
    logit, tuned = found.kl
    assert (tuned[:-1] < logit[:-1]).all()
    assert tuned[:-1].mean() < 0.8 * logit[:-1].mean()
    assert (found.first[1, :-1] >= found.first[0, :-1]).mean() > 0.5
    # reading a node says more than reading none
    assert tuned.max() < found.null


def test_at_the_last_node_both_lenses_are_the_model_itself(fitted):
    model, found = fitted
    seen = stream(model, text(12, seed=5))
    plain, tuned = lens(seen, 5), tuned_lens(seen, found, 5)
    np.testing.assert_array_equal(plain.ids[-1], tuned.ids[-1])
    np.testing.assert_allclose(plain.values[-1], tuned.values[-1], rtol=1e-3)
    assert found.kl[:, -1].max() < 1e-4
    np.testing.assert_array_equal(found.first[:, -1], 1)


def test_a_lens_comes_back_from_a_file_equal(fitted, tmp_path):
    _, found = fitted
    write_noun(found, tmp_path / "lens")
    again = read_noun(tmp_path / "lens")
    assert isinstance(again, TunedLens)
    np.testing.assert_array_equal(again.weights, found.weights)
    np.testing.assert_array_equal(again.kl, found.kl)
    assert again.tokens == found.tokens


def sums_of(given: torch.Tensor, final: torch.Tensor) -> list[module._Sums]:
    folds = [module._Sums(), module._Sums()]
    half = given.shape[1] // 2
    for fold, some in zip(folds, (slice(half), slice(half, None)), strict=True):
        fold.add(given[:, some], final[some])
    return folds


def test_a_map_that_is_there_is_found_and_one_that_is_not_is_not_made_up():
    chance = torch.Generator().manual_seed(0)
    given = torch.randn(2, 600, 8, generator=chance)
    turn, shift = torch.randn(8, 8, generator=chance), torch.randn(8, generator=chance)
    planted = given[0] @ turn + shift  # an affine function of node 0, nothing of node 1
    weights, strengths = module._solved(sums_of(given, planted))
    np.testing.assert_allclose(weights[0, :-1], turn - torch.eye(8), atol=0.05)
    np.testing.assert_allclose(weights[0, -1], shift, atol=0.05)
    assert strengths[0] == min(module.STRENGTHS)
    # what does not depend on the node is taken away again: u + D u is near 0
    left = torch.eye(8) + torch.from_numpy(weights[1, :-1].astype(np.float32))
    assert left.norm() < 0.25 * turn.norm()
    np.testing.assert_allclose(weights[1, -1], planted.mean(0), atol=0.35)


def test_the_error_that_strengths_are_chosen_by_is_that_of_the_tokens_themselves():
    chance = torch.Generator().manual_seed(1)
    given, final = torch.randn(1, 50, 4, generator=chance), torch.randn(50, 4, generator=chance)
    fold = sums_of(given, final)[0]
    turn, shift = torch.randn(4, 4, generator=chance).double(), torch.randn(4, generator=chance).double()
    some = given[0, :25].double()
    direct = (some + some @ turn + shift - final[:25].double()).pow(2).sum()
    assert module._error(fold, 0, turn, shift) == pytest.approx(float(direct))


def test_what_cannot_be_fitted_is_said(fitted):
    model, found = fitted
    with pytest.raises(DataError, match="too short"):
        fit_lens(model, ["a few words"])
    encoder = wrap_model(built(ENCODERS["bert"]), tokenizer=tokenizer())
    with pytest.raises(SettingsError, match="predicts no words"):
        fit_lens(encoder, [text(12 * PIECE)])
    with pytest.raises(SettingsError, match="has no tokenizer"):
        fit_lens(wrap_model(built(DECODERS["llama"])), ["words"])
    with pytest.raises(SettingsError, match="fit one to this model"):
        tuned_lens(stream(model, text(5)), replace(found, weights=found.weights[2:]))
