"""Direct and total effects on words, and the routes that lead to them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from tests.models.families import DECODERS, ENCODERS, MASKED, MIXTURES, built

from langscape import Edit, capture
from langscape.models import contributions, stream, wrap_model
from langscape.models.effects import PartName
from langscape.models.logits import neuron_shares, query_key_scores
from langscape.models.routes import routes
from langscape.models.unedited import read_unedited
from langscape.models.word_effects import effects_on_words

IDS = [7, 12, 9, 21, 12, 9, 30, 8]
FAMILIES = {
    **{name: DECODERS[name] for name in ("gpt2", "llama", "gemma2")},
    "mixtral": MIXTURES["mixtral"],
    "masked bert": MASKED["bert"],
}
PARTS = [PartName("head", 0, 1), PartName("head", 2, 3), PartName("mlp", 1), PartName("mlp", 2)]
EDITS = [
    Edit.head(0, 1, to="zero"), Edit.head(2, 3, to="zero"), Edit.mlp(1, to="zero"), Edit.mlp(2, to="zero"),
]  # fmt: skip
WORDS = np.random.default_rng(1).integers(0, 60, size=(len(IDS), 3))


@cache
def seen(name):
    return stream(wrap_model(built({**FAMILIES, **ENCODERS}[name]), name=name), IDS)


@pytest.mark.parametrize("name", FAMILIES)
def test_total_effects_are_what_plain_edited_runs_change_of_the_logits(name):
    held = seen(name)
    found = effects_on_words(held, read_unedited(held.model, IDS), PARTS, WORDS).total
    cap = held.bend.cap

    def logits(edits=()):
        """Before a cap bends them, as sums of parts are."""
        found = capture(held.model, IDS, "logits", edits=edits)["logits"].astype(np.float64)
        return cap * np.arctanh(found / cap) if cap else found

    for at, edit in enumerate(EDITS):
        fell = np.take_along_axis(logits() - logits([edit]), WORDS, 1)
        np.testing.assert_allclose(found[at], fell, atol=3e-5)


def test_chances_with_all_parts_and_without_each_are_those_of_the_edited_runs():
    """Those of every part, not only of the parts that move scores most."""
    held = seen("gemma2")
    found = effects_on_words(held, read_unedited(held.model, IDS), PARTS, WORDS[-1:], tokens=[7])
    edits = [[], *([edit] for edit in EDITS)]
    for logs, edit in zip([found.own, *found.log_chance], edits, strict=True):
        logits = capture(held.model, IDS, "logits", edits=edit)["logits"]
        chances = torch.from_numpy(logits[7].copy()).log_softmax(-1).numpy()
        np.testing.assert_allclose(logs[0], chances[WORDS[-1]], atol=3e-5)


def test_the_word_that_comes_first_without_a_part_is_that_of_the_edited_run():
    held = seen("llama")
    found = effects_on_words(held, read_unedited(held.model, IDS), PARTS, WORDS)
    for at, edit in enumerate(EDITS):
        without = capture(held.model, IDS, "logits", edits=[edit])["logits"]
        chances = torch.from_numpy(without.copy()).softmax(-1).numpy()
        np.testing.assert_array_equal(found.first[at], chances.argmax(-1))
        np.testing.assert_allclose(found.first_chance[at], chances.max(-1), atol=1e-5)


def test_the_last_mlp_differs_from_its_direct_effect_only_by_the_final_scale():
    """No part comes after it: of a model without a final norm both would be one number."""
    held = seen("llama")
    direct = contributions(held, WORDS).mlp[2]
    total = effects_on_words(held, read_unedited(held.model, IDS), [PartName("mlp", 2)], WORDS).total[0]
    norm = held.norms[-1]
    before = torch.from_numpy(held.capture["stream"][5].copy())
    scaled = held.words[torch.from_numpy(WORDS)] * norm.gain
    anew = torch.rsqrt(before.pow(2).mean(-1, keepdim=True) + norm.epsilon)
    residual = torch.einsum("td,tkd->tk", before, scaled).numpy()
    kept = residual * (norm.factor - anew).numpy()
    np.testing.assert_allclose(total[1:], (direct + kept)[1:], atol=2e-5)
    np.testing.assert_allclose(total[0], 0, atol=1e-5)  # the first token keeps what it has


@pytest.mark.parametrize("name", ["llama", "gemma2", "bert"])
def test_the_edges_into_a_node_have_shares_of_one_sum(name):
    held = seen(name)
    found = routes(held, [7], least=0.0)
    for layer in range(3):
        into = (found.heads[:, 0] == layer) & (found.heads[:, 3] == 7)
        assert found.head_importance[into].sum() + found.residual[2 * layer + 1, 7] == pytest.approx(
            1, abs=1e-4
        )
        assert found.mlps[layer, 7] + found.residual[2 * layer + 2, 7] == pytest.approx(1, abs=1e-4)
    few = routes(held, [7], least=0.1)
    assert (few.head_importance >= 0.1).all()
    kept = {tuple(edge) for edge in found.heads.tolist()}
    assert {tuple(edge) for edge in few.heads.tolist()} <= kept


def test_a_token_that_brings_nothing_has_no_edge():
    """The values of one token are made nought: nothing flows from it, whatever weight it has."""
    held = seen("llama")
    silent = [values.clone() for values in held.values]
    for values in silent:
        values[:, 3] = 0
    found = routes(type(held)(**{**vars(held), "values": tuple(silent)}), [7], least=1e-6)
    assert 3 not in set(found.heads[:, 2].tolist())
    assert 3 in set(routes(held, [7], least=1e-6).heads[:, 2].tolist())


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2"])
def test_the_softmax_of_q_and_k_is_the_weight(name):
    held = seen(name)
    scores = query_key_scores(held, 1, 6)
    shares = np.exp(scores - np.nanmax(scores, -1, keepdims=True))
    shares = np.nan_to_num(shares / np.nansum(shares, -1, keepdims=True))
    np.testing.assert_allclose(shares, held.capture["attention"][1][:, 6], atol=1e-5)


@pytest.mark.parametrize("name", ["llama", "gemma2", "masked bert"])
def test_all_neurons_together_are_what_the_mlp_adds_less_its_bias(name):
    held = seen(name)
    shares = neuron_shares(held, 1, 6, WORDS[6])
    strongest = contributions(held, WORDS)
    top = np.sort(np.abs(shares), -1)[:, ::-1][:, :6]
    np.testing.assert_allclose(np.abs(strongest.neuron_values[1, 6]), top, rtol=1e-4)
    if name != "masked bert":
        np.testing.assert_allclose(shares.sum(-1), strongest.mlp[1, 6], atol=1e-5)
