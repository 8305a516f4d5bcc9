"""Effects: what is computed quickly equals what plain edited runs give, and estimates follow it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t
from scipy.stats import spearmanr
from tests.models.families import DECODERS, ENCODERS, PAIRS, PLACES, SIZES, WIDE, built

from langscape import Edit, capture
from langscape.errors import DataError, SettingsError
from langscape.models import Model, contributions, stream, wrap_model
from langscape.models.effect_estimates import estimated_effects, shares
from langscape.models.effect_measures import Measure
from langscape.models.effects import PartName, exact_effects, group_effect, parts_of
from langscape.models.logits import direct_effects
from langscape.models.part_groups import group_members, numbered_parts, part_numbers, random_groups
from langscape.models.unedited import read_unedited
from langscape.models.word_effects import word_effects

IDS = [7, 12, 9, 21, 12, 9, 30, 8, 12, 9, 44, 31, 7, 12]
FAMILIES = ("gpt2", "llama", "opt", "gpt_neox", "gemma2", "qwen2", "qwen3", "bert", "albert")


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


def classifier(labels: int = 3, problem: str | None = None) -> Model:
    config = t.BertConfig(**SIZES, **WIDE, **PLACES, num_labels=labels, problem_type=problem)
    return wrap_model(built(lambda: t.BertForSequenceClassification(config)), name="a classifier")


def answers(model: Model, *edits: Edit) -> torch.Tensor:
    """The logits of the classes from the model's own forward, with heads replaced before the projection."""
    plain = read_unedited(model, IDS)
    inputs = {"input_ids": torch.tensor([IDS]), "attention_mask": torch.ones(1, len(IDS), dtype=torch.long)}
    hooks = []
    for one in edits:
        heads = plain.heads[one.layer]
        head, width = one.head_number, heads.shape[-1]
        assert head is not None

        def put(
            module: Any, args: Any, mean: Any = heads[0, 1:, head].mean(0), at: int = head * width
        ) -> Any:
            given = args[0].clone()
            given[0, 1:, at : at + len(mean)] = mean
            return (given, *args[1:])

        inner = model.network.get_submodule(f"bert.encoder.layer.{one.layer}.attention.output.dense")
        hooks.append(inner.register_forward_pre_hook(put))
    try:
        with torch.no_grad():
            return model.network.eval()(**inputs).logits[0].double()
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize(
    "problem", ["single_label_classification", "multi_label_classification", "regression"]
)
def test_effects_on_classes_are_those_of_the_models_own_answers(problem: str) -> None:
    model = classifier(1 if problem == "regression" else 3, problem)
    run = read_unedited(model, IDS)
    measure = Measure(run, "classes")
    before, after = answers(model), answers(model, Edit.head(1, 2))
    if problem == "regression":
        wanted = float((after - before).abs())
    elif problem == "single_label_classification":
        p, q = before.log_softmax(-1), after.log_softmax(-1)
        wanted = float((p.exp() * (p - q)).sum())
    else:
        p, q = before.sigmoid(), after.sigmoid()
        wanted = float((p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()).sum())
    found = exact_effects(run, [PartName("head", 1, 2)], measure).effect[0]
    assert found == pytest.approx(wanted, rel=1e-3, abs=1e-7)
    assert found > measure.floor
    parts = parts_of(model, ("head", "mlp"))
    exact = exact_effects(run, parts, measure).effect
    assert spearmanr(estimated_effects(run, parts, measure, draws=40), exact)[0] > 0.7


@pytest.mark.parametrize("mode", ["mean", "first", "max", "last"])
def test_the_pooled_vector_moves_as_that_of_two_captures(
    models: dict[str, Model], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langscape.models import effect_measures
    from langscape.models.pooling import Pooling

    monkeypatch.setattr(
        effect_measures, "pooling_of", lambda model, pool: Pooling(mode, True, mode == "mean")
    )
    model = models["bert"]
    vectors = []
    for edits in ((), [Edit.head(0, 1)]):
        states = capture(model, IDS, "hidden", edits=edits)["hidden"][-1]
        vector = {"mean": states.mean(0), "first": states[0], "max": states.max(0), "last": states[-1]}[mode]
        vectors.append(vector / np.linalg.norm(vector) if mode == "mean" else vector)
    run = read_unedited(model, IDS)
    measure = Measure(run, "pooled")
    found = exact_effects(run, [PartName("head", 0, 1)], measure).effect[0]
    wanted = np.linalg.norm(vectors[1] - vectors[0]) / np.linalg.norm(vectors[0])
    assert found == pytest.approx(float(wanted), rel=1e-3)
    parts = parts_of(model, ("head", "mlp"))
    exact = exact_effects(run, parts, measure).effect
    assert spearmanr(estimated_effects(run, parts, measure, draws=40), exact)[0] > 0.6


def test_what_a_model_does_not_have_is_not_measured(models: dict[str, Model]) -> None:
    run = read_unedited(models["bert"], IDS)
    with pytest.raises(SettingsError, match="bert writes no next words"):
        Measure(run, "words")
    with pytest.raises(SettingsError, match="bert is no encoder with a classifier"):
        Measure(run, "classes")
    assert Measure(read_unedited(models["llama"], IDS), "states").measured == "states"
    assert "pooling: mean" in Measure(run, "pooled").said


def test_groups_are_read_as_they_are_written(models: dict[str, Model]) -> None:
    model = models["llama"]
    roles = {"induction": [PartName("head", 2, 1), PartName("head", 1, 0)], "itself": []}

    def read(written: str) -> list[str]:
        return [str(one) for one in group_members(model, written, roles)]

    assert read("2.1 0.3, mlp 1 and 1.0") == ["0.3", "1.0", "MLP 1", "2.1"]
    assert read("Induction") == ["1.0", "2.1"]
    assert read("layer 1") == ["1.0", "1.1", "1.2", "1.3"]
    assert read("all but 0.0 layer 1 layer 2") == ["0.1", "0.2", "0.3"]
    assert len(read("all but induction")) == 10
    for written, message in {
        "itself": "no head is 'itself' over these texts; there are heads of induction",
        "sinks": "is not understood; .* roles over these texts: induction",
        "9.0": "layer 9",
        "0.7": "head 7",
        "mlp 8": "MLP 8",
        "all but mlp 1": "is of heads",
        "all but layer 0 layer 1 layer 2": "has no part",
    }.items():
        with pytest.raises(SettingsError, match=message):
            read(written)
    parts = [PartName("head", 0, 1), PartName("mlp", 2)]
    assert numbered_parts(model, part_numbers(model, parts)) == parts


def test_random_groups_have_as_many_heads_in_each_layer_and_are_others(models: dict[str, Model]) -> None:
    model = models["llama"]
    group = group_members(model, "0.0 2.3 mlp 1")
    drawn = random_groups(model, group, 12, seed=3)
    assert len({frozenset(one) for one in drawn}) == 12
    for one in drawn:
        assert sorted(part.layer for part in one if part.kind == "head") == [0, 2]
        assert sum(part.kind == "mlp" for part in one) == 1
        assert not set(one) & set(group), "there are enough others in these layers"
    assert random_groups(model, group, 12, seed=3) == drawn
    assert random_groups(model, group_members(model, "layer 1"), 5) == [], "there is no other such group"
    kept = random_groups(model, group_members(model, "all but 0.0"), 20)
    assert len(kept) == 3, "of four heads of a layer, each of the three others may stay instead"


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
