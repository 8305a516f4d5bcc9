"""Edits change what they name, nothing before it, and leave the model as it was."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.families import DECODERS, ENCODERS, ODD, OUTSIDE, PAIRS, built, tokenizer

from langscape import Edit, capture
from langscape.errors import DataError, SettingsError
from langscape.models import Model, stream, wrap_model
from langscape.models.attention_hook import editing
from langscape.models.forward import forward

IDS = [7, 12, 9, 21, 12, 9, 30, 8, 12]
FAMILIES = (
    "gpt2",
    "llama",
    "opt",
    "gpt_neox",
    "gemma2",
    "qwen2",
    "qwen3",
    "bert",
    "distilbert",
    "albert",
    "modernbert",
)
PROJECTIONS = {
    "gpt2": "attn.c_proj", "llama": "self_attn.o_proj", "opt": "self_attn.out_proj",
    "gpt_neox": "attention.dense", "gemma2": "self_attn.o_proj", "qwen3": "self_attn.o_proj",
    "bert": "attention.output.dense",
}  # fmt: skip
HIDDEN = ("hidden",)


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: wrap_model(built({**ENCODERS, **DECODERS}[name]), name=name) for name in FAMILIES}


def hidden(model: Model, *edits: Any) -> np.ndarray:
    return capture(model, IDS, HIDDEN, edits=edits)["hidden"]


def given(model: Model, layer: int) -> np.ndarray:
    """What the heads of a layer give in a plain run, (token, head, dim)."""
    kept: list[Any] = []

    def keep(at: int, call: Any, output: Any) -> Any:
        kept.append(output[0].numpy().copy())
        return call.weights, output

    ids = torch.tensor([IDS])
    with model.running(), editing(model.network, keep):
        forward(model.network, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    return kept[layer]


@pytest.mark.parametrize("name", FAMILIES)
def test_replacing_a_part_by_itself_changes_no_bit(models: dict[str, Model], name: str) -> None:
    model = models[name]
    plain = capture(model, IDS, ("hidden", "attention", "v"))
    own = given(model, 1)
    everywhere = range(len(IDS))
    same = hidden(model, Edit.head(1, 2, everywhere, own[:, 2]), Edit.residual(2, everywhere, plain))
    assert np.array_equal(same, plain["hidden"])
    from_capture = hidden(model, Edit.head(1, 2, everywhere, plain))
    np.testing.assert_allclose(from_capture, plain["hidden"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_stands_before_an_edit_stays_and_what_follows_moves(models: dict[str, Model], name: str) -> None:
    model = models[name]
    plain = hidden(model)
    for edit in (Edit.head(1, 1), Edit.mlp(1, to="zero"), Edit.residual(2, 3), Edit.edge(1, None, 5, 4)):
        changed = hidden(model, edit)
        assert np.array_equal(changed[:2], plain[:2]), edit
        assert not np.allclose(changed[-1], plain[-1], atol=1e-6), edit
    assert np.array_equal(hidden(model), plain)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_a_head_set_to_zero_equals_a_model_whose_projection_takes_nothing_of_it(
    models: dict[str, Model], name: str
) -> None:
    model = models[name]
    other = copy.deepcopy(model.network)
    projection: Any = model.parts.blocks[1]
    block = dict(other.named_modules())[
        next(path for path, one in model.network.named_modules() if one is projection)
    ]
    projection = block.get_submodule(PROJECTIONS[name])
    columns = slice(3 * 8, 4 * 8)
    with torch.no_grad():
        if name == "gpt2":
            projection.weight[columns] = 0
        else:
            projection.weight[:, columns] = 0
    edited = hidden(model, Edit.head(1, 3, range(len(IDS)), "zero"))
    np.testing.assert_allclose(edited, hidden(wrap_model(other)), rtol=1e-4, atol=1e-5)


def test_cutting_all_edges_of_a_query_is_setting_its_head_to_zero_there(models: dict[str, Model]) -> None:
    for name in ("llama", "bert"):
        model = models[name]
        cut = capture(
            model, IDS, ("hidden", "attention"), edits=[Edit.edge(1, 2, 6, key) for key in range(9)]
        )
        np.testing.assert_allclose(
            cut["hidden"], hidden(model, Edit.head(1, 2, 6, "zero")), rtol=1e-4, atol=1e-5
        )
        assert not cut["attention"][1, 2, 6].any()
        assert cut["attention"][1, 2, 5].sum() > 0.99


def test_an_mlp_set_to_zero_leaves_the_stream_as_it_was_after_attention(models: dict[str, Model]) -> None:
    model = models["llama"]
    nodes = stream(model, IDS).capture["stream"]
    edited = hidden(model, Edit.mlp(1, range(len(IDS)), "zero"))
    np.testing.assert_allclose(edited[2], nodes[3], rtol=1e-5, atol=1e-6)


def test_the_mean_is_that_of_the_unedited_run_over_all_tokens_but_the_first(models: dict[str, Model]) -> None:
    model = models["gpt2"]
    mean = given(model, 2)[1:, 0].mean(0)
    first = Edit.head(0, 0, to="zero")
    np.testing.assert_allclose(
        hidden(model, first, Edit.head(2, 0)), hidden(model, first, Edit.head(2, 0, to=mean)), atol=1e-6
    )


def test_the_stream_of_an_edited_run_adds_up(models: dict[str, Model]) -> None:
    seen = stream(models["llama"], IDS, edits=[Edit.head(1, 1), Edit.mlp(0, to="zero")])
    parts = [seen.capture["embedding"].sum(0), seen.capture["heads"].sum((0, 1)), seen.capture["mlp"].sum(0)]
    np.testing.assert_allclose(sum(parts), seen.capture["stream"][-1], rtol=1e-4, atol=1e-4)
    assert seen.capture.notes[0].startswith("Edited run: head 1.1 replaced by its mean")
    assert np.ptp(seen.capture["heads"][1, 1, 1:], axis=0).max() < 1e-6


def test_a_capture_says_what_was_edited(models: dict[str, Model]) -> None:
    other = capture(models["llama"], IDS[::-1], ("attention", "v"))
    seen = capture(models["llama"], IDS, edits=["head 1.0 zero at 2,4-5", Edit.head(0, 1, to=other)])
    assert seen.metadata["edits"][0] == "head 1.0 replaced by zero at tokens 2, 4, 5"
    assert seen.notes[0].startswith("Edited run: head 1.0 replaced by zero at tokens 2, 4, 5; head 0.1 ")
    assert "head 1.0 replaced by zero" in str(seen.view(layer=1, head=0).properties["notes"])


def test_nothing_stays_changed_after_an_error(models: dict[str, Model]) -> None:
    model = models["llama"]
    plain = hidden(model)
    hooks = [len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.network.modules()]
    implementation = model.network.config._attn_implementation
    with pytest.raises(SettingsError, match="token 50 is not there"):
        hidden(model, Edit.residual(1, 2), Edit.mlp(0), Edit.head(2, 0, 50))
    with pytest.raises(DataError, match="takes 8 values"):
        hidden(model, Edit.head(0, 0, to=np.zeros(5)))
    again = [len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.network.modules()]
    assert again == hooks
    assert not any("forward" in vars(one) for one in model.network.modules())
    assert model.network.config._attn_implementation == implementation
    assert np.array_equal(hidden(model), plain)


@pytest.mark.parametrize("name", ["deberta", "gptj", "bloom", "diffllama", "mamba"])
def test_families_that_do_not_go_through_the_interface_are_refused_by_name(name: str) -> None:
    model = wrap_model(built({**OUTSIDE, **ODD}[name]), name=f"my {name}")
    with pytest.raises(DataError, match=f"my {name} cannot be edited: .+"):
        capture(model, IDS, HIDDEN, edits=[Edit.head(0, 0)])


def test_heads_of_each_side_of_an_encoder_decoder_can_be_edited() -> None:
    model = wrap_model(built(PAIRS["bart"]), tokenizer(), name="bart")
    plain = capture(model, "the red lamp", HIDDEN, target="the green lamp")
    for side, moved in (
        ("encoder", "encoder_hidden"),
        ("decoder", "decoder_hidden"),
        ("cross", "decoder_hidden"),
    ):
        edited = capture(
            model,
            "the red lamp",
            HIDDEN,
            target="the green lamp",
            edits=[Edit.head(0, 1, side=side)],  # type: ignore[arg-type]
        )
        assert not np.allclose(edited[moved], plain[moved], atol=1e-6)
    assert np.array_equal(edited["encoder_hidden"], plain["encoder_hidden"])
    with pytest.raises(DataError, match="bart is of kind encoder-decoder"):
        capture(model, "the red lamp", HIDDEN, edits=[Edit.mlp(0)])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("head 1", "names no head"),
        ("mlp 1.2", "names a head"),
        ("edge 1.2", "no query>key"),
        ("edge 1.2 3>4 zero", "an edge is cut"),
        ("head 1.2 at 5-", "are not understood"),
        ("everything", "is not understood; write head 16.0 mean"),
        ("head 9.0", "layer 9 is not there"),
        ("head 1.9", "head 9 is not there"),
        ("residual 7", "layer 7 is not there"),
        (3, "a int is no edit"),
    ],
)
def test_what_cannot_be_edited_is_said(models: dict[str, Model], wrong: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        capture(models["llama"], IDS, HIDDEN, edits=[wrong])
