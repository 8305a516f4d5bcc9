"""Effects: what is computed quickly equals what plain edited runs give, and estimates follow it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from tests.models.families import DECODERS, ENCODERS, PAIRS, built

from langscape import Edit, capture
from langscape.errors import DataError, SettingsError
from langscape.models import Model, contributions, stream, wrap_model
from langscape.models.effect_estimates import estimated_effects, shares
from langscape.models.effects import Measure, PartName, exact_effects, group_effect, parts_of
from langscape.models.logits import direct_effects
from langscape.models.unedited import read_unedited
from langscape.models.word_effects import word_effects

IDS = [7, 12, 9, 21, 12, 9, 30, 8, 12, 9, 44, 31, 7, 12]
FAMILIES = ("gpt2", "llama", "opt", "gpt_neox", "gemma2", "qwen2", "bert", "albert")


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: wrap_model(built({**ENCODERS, **DECODERS}[name]), name=name) for name in FAMILIES}


def plainly(model: Model, *edits: Any) -> float:
    """The effect from two captures: KL of the softmax of logits, or movement of the last hidden states."""
    if model.kind == "encoder":
        before, after = (capture(model, IDS, "hidden", edits=some)["hidden"][-1] for some in ((), edits))
        return float((np.linalg.norm(after - before, axis=-1) / np.linalg.norm(before, axis=-1)).mean())
    before, after = (
        torch.tensor(capture(model, IDS, "logits", edits=some)["logits"]).double().log_softmax(-1)
        for some in ((), edits)
    )
    return float((before.exp() * (before - after)).sum(-1)[1:].mean())


@pytest.mark.parametrize("name", FAMILIES)
def test_effects_equal_those_of_plain_edited_runs(models: dict[str, Model], name: str) -> None:
    model = models[name]
    run = read_unedited(model, IDS)
    measure = Measure(run)
    assert measure.floor < 1e-4
    parts = [PartName("head", 0, 1), PartName("head", 2, 3), PartName("head", 2, 0), PartName("mlp", 1)]
    edits = [Edit.head(0, 1), Edit.head(2, 3), Edit.head(2, 0), Edit.mlp(1)]
    found = exact_effects(run, parts, measure)
    np.testing.assert_allclose(found.effect, [plainly(model, one) for one in edits], atol=1e-5, rtol=1e-4)
    together = group_effect(run, parts, measure)
    np.testing.assert_allclose(together.effect[0], plainly(model, *edits), atol=1e-5, rtol=1e-4)


def test_a_layer_taken_away_equals_a_stream_that_goes_past_it(models: dict[str, Model]) -> None:
    model = models["llama"]
    states = capture(model, IDS, "hidden")["hidden"]
    added = states[2] - states[1]
    past = states[1] + added[1:].mean(0)
    found = exact_effects(read_unedited(model, IDS), [PartName("layer", 1)])
    np.testing.assert_allclose(found.effect[0], plainly(model, Edit.residual(2, to=past[1:])), rtol=1e-3)


def test_the_change_of_the_loss_is_that_of_the_logits(models: dict[str, Model]) -> None:
    for name in ("llama", "gemma2"):  # the second bends its logits
        model, following = models[name], torch.tensor(IDS[1:])
        losses = [
            float(torch.nn.functional.cross_entropy(torch.from_numpy(one["logits"][:-1].copy()), following))
            for one in (capture(model, IDS, "logits"), capture(model, IDS, "logits", edits=["1.2"]))
        ]
        found = exact_effects(read_unedited(model, IDS), [PartName("head", 1, 2)])
        assert found.loss_change[0] == pytest.approx(losses[1] - losses[0], abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "gemma2", "bert"])
def test_estimates_follow_what_taking_parts_away_gives(models: dict[str, Model], name: str) -> None:
    model = models[name]
    run = read_unedited(model, IDS)
    measure = Measure(run)
    parts = parts_of(model, ("head", "mlp"))
    exact = exact_effects(run, parts, measure).effect
    estimate = estimated_effects(run, parts, measure, draws=24)
    assert spearmanr(estimate, exact)[0] > 0.8
    shuffled = np.random.default_rng(0).permutation(estimate)
    assert spearmanr(shuffled, exact)[0] < 0.6
    assert np.array_equal(
        estimated_effects(run, parts, measure, draws=2), estimated_effects(run, parts, measure, draws=2)
    )
    assert all(one.grad is None for one in model.network.parameters())


def test_the_estimate_is_exact_for_small_changes(models: dict[str, Model]) -> None:
    """Second order: a hundredth of the change has a ten-thousandth of the effect, to a few per cent."""
    model = models["llama"]
    run = read_unedited(model, IDS)
    measure = Measure(run)
    part = PartName("head", 2, 1)
    own = run.heads[2][0, :, 1].numpy()
    mean = own[1:].mean(0)
    near = own + 0.03 * (mean - own)
    small = plainly(model, Edit.head(2, 1, range(1, len(IDS)), near[1:])) / 0.03**2
    estimate = estimated_effects(run, [part], measure, draws=600)[0]
    # in the last layer a token's change moves that token alone, so that no products of tokens are left out
    assert estimate == pytest.approx(small, rel=0.15)


def test_the_share_is_what_a_part_adds_beyond_its_mean(models: dict[str, Model]) -> None:
    seen = stream(models["llama"], IDS)
    added = seen.capture["heads"][1, 2]
    lengths = np.linalg.norm(seen.capture["stream"][2], axis=-1)
    away = np.linalg.norm(added - added[1:].mean(0), axis=-1)
    found = shares(seen, [PartName("head", 1, 2)])
    assert found[0] == pytest.approx(float((away / lengths)[1:].mean()), rel=1e-5)


def test_what_has_no_effects_is_refused() -> None:
    with pytest.raises(SettingsError, match="effects are of decoders and encoders"):
        read_unedited(wrap_model(built(PAIRS["bart"]), name="bart"), IDS)
    albert = wrap_model(built(ENCODERS["albert"]), name="albert")
    with pytest.raises(DataError, match="albert shares its layers"):
        parts_of(albert, ("layer",))
    with pytest.raises(SettingsError, match="one token"):
        read_unedited(albert, [7])


@pytest.mark.parametrize("name", ["llama", "gemma2", "bert"])
def test_total_effects_on_a_word_are_those_of_edited_runs_and_the_direct_ones_add_nothing_later(
    models: dict[str, Model], name: str
) -> None:
    model = models[name]
    parts = [PartName("head", 0, 1), PartName("head", 2, 3), PartName("mlp", 1), PartName("mlp", 2)]
    edits = [Edit.head(0, 1), Edit.head(2, 3), Edit.mlp(1), Edit.mlp(2)]
    token, words = len(IDS) - 2, [3, 17]
    found = word_effects(model, IDS, token, words, parts)
    if name != "bert":
        before, *after = (
            capture(model, IDS, "logits", edits=some)["logits"][token, words]
            for some in ([], *([one] for one in edits))
        )
        np.testing.assert_allclose(found.scores, before, atol=1e-5)
        np.testing.assert_allclose(found.total, [before - one for one in after], atol=1e-4)
    # the direct effect is what `contributions` credits, less what it would credit the part's mean with
    seen = stream(model, IDS)
    credited = contributions(seen, np.tile(words, (len(IDS), 1))).mlp[2, token]
    mean = np.repeat(seen.capture["mlp"][2, 1:].mean(0)[None], len(IDS), 0)
    mlps = np.array(seen.capture["mlp"])
    mlps[2] = mean
    level = replace(seen, capture=seen.capture.but(arrays={**seen.capture.arrays, "mlp": mlps}))
    left = contributions(level, np.tile(words, (len(IDS), 1))).mlp[2, token]
    np.testing.assert_allclose(found.direct[3], credited - left, atol=1e-5)
    assert np.abs(direct_effects(level, parts, token, words)[3]).max() < 1e-5
