"""Patches restore what they carry, and scores split into parts add up again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

from langscape import Edit, capture
from langscape.errors import DataError, SettingsError
from langscape.models import Model, wrap_model
from langscape.models.patching import patch_grid, read_prompts, word_id
from langscape.models.score_parts import score_parts, weight_without

FAMILIES = ("gpt2", "llama", "opt", "gpt_neox", "gemma2", "qwen2", "qwen3", "bert", "distilbert")
IDS = [7, 12, 9, 21, 12, 9, 30, 8, 12, 9]
CLEAN, CORRUPT = "the red lamp hung over water", "the green lamp hung over water"


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: wrap_model(built({**ENCODERS, **DECODERS}[name]), name=name) for name in FAMILIES}


@pytest.fixture(scope="module")
def decoder() -> Model:
    return wrap_model(built(DECODERS["llama"]), tokenizer(), name="tiny")


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("layer", [0, 2])
def test_the_parts_of_a_score_add_up_to_it(models: dict[str, Model], name: str, layer: int) -> None:
    split = score_parts(models[name], IDS, layer)
    assert split.error < 1e-4
    assert split.pairs(1, 8, 3).sum() == pytest.approx(split.own[1, 8, 3], abs=1e-4)
    assert len(set(split.names)) == len(split.names)
    assert ("1.3" in split.names) == (layer == 2)
    assert not any("forward" in vars(one) for one in models[name].network.modules())


def test_the_contrast_is_a_score_less_the_mean_of_the_others_in_sight(models: dict[str, Model]) -> None:
    split = score_parts(models["llama"], IDS, 2)
    own = split.own[0, 6]
    assert split.contrast(0, 6, 3).sum() == pytest.approx(own[3] - np.mean(own[[1, 2, 4, 5, 6]]), abs=1e-4)
    with pytest.raises(DataError, match="nothing to compare"):
        split.contrast(0, 1, 1)


def test_the_confirmation_is_the_weight_of_an_edited_run(models: dict[str, Model]) -> None:
    model = models["llama"]
    edited = capture(model, IDS, ("attention",), edits=[Edit.head(1, 3)])
    assert weight_without(model, IDS, "1.3", 2, 0, 6, 3) == edited["attention"][2, 0, 6, 3]


def test_patches_restore_all_where_prompts_differ_and_nothing_before(decoder: Model) -> None:
    prompts = read_prompts(decoder, CLEAN, CORRUPT, ["door", "stone"])
    differ = [
        at for at, (a, b) in enumerate(zip(prompts.clean.ids, prompts.corrupt.ids, strict=True)) if a != b
    ]
    assert len(differ) == 1
    grid = patch_grid(prompts)
    restored = grid.restored
    # the embedding of the changed token is all that differs, and the last token all that is read
    assert restored[0, differ[0]] == pytest.approx(1, abs=1e-4)
    assert np.abs(restored[:, : differ[0]]).max() < 1e-4
    noise = patch_grid(prompts, direction="noise")
    assert (noise.receiving, noise.giving) == (grid.giving, grid.receiving)
    assert noise.restored[0, differ[0]] == pytest.approx(1, abs=1e-4)


def test_a_patched_cell_equals_a_plain_edited_run(decoder: Model) -> None:
    prompts = read_prompts(decoder, CLEAN, CORRUPT, ["door", "stone"])
    clean = capture(decoder, CLEAN, ("hidden", "attention", "v"))
    first, second = prompts.words

    def difference(edit: Edit) -> float:
        logits = capture(decoder, CORRUPT, ("logits",), edits=[edit])["logits"][-1]
        return float(logits[first] - logits[second])

    everywhere = range(prompts.clean.tokens)
    found = patch_grid(prompts).values[2, 3]
    assert found == pytest.approx(difference(Edit.residual(2, 3, clean)), abs=1e-4)
    found = patch_grid(prompts, "heads").values[1, 2]
    assert found == pytest.approx(difference(Edit.head(1, 2, everywhere, clean)), abs=1e-4)
    added = prompts.clean.mlps[1][0].numpy()
    found = patch_grid(prompts, "mlp").values[1, 4]
    assert found == pytest.approx(difference(Edit.mlp(1, 4, added[4])), abs=1e-4)


def test_prompts_that_cannot_be_patched_are_refused(decoder: Model, models: dict[str, Model]) -> None:
    with pytest.raises(DataError, match="as many tokens"):
        read_prompts(decoder, CLEAN, CLEAN + " stone", ["door", "stone"])
    with pytest.raises(SettingsError, match="both prompts go on with"):
        read_prompts(decoder, CLEAN, CLEAN)
    with pytest.raises(SettingsError, match="is several tokens"):
        word_id(decoder, "unbelievable")
    with pytest.raises(SettingsError, match="3 words were given"):
        read_prompts(decoder, CLEAN, CORRUPT, ["door", "stone", "of"])
    with pytest.raises(SettingsError, match="patching needs a decoder"):
        read_prompts(models["bert"], CLEAN, CORRUPT)
