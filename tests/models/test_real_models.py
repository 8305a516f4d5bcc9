from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import transformers

from langscape import affinity
from langscape.models import (
    Model,
    capture,
    estimate,
    get_model,
    merge_words,
    model_path,
    model_size,
    packaged_models,
)
from langscape.models.catalog import CATALOG, CatalogModel
from langscape.sources import samples

pytestmark = pytest.mark.slow
SENTENCES = [
    "The red lamp hung over the north door.",
    "Unbelievable!",
    "Rain fell on the harbour all night, and in the morning the boats were gone.",
]


def plain(name: str, auto: str, ids: list[int]) -> transformers.utils.ModelOutput:
    """The packaged model as transformers opens it, with nothing of ours in the way."""
    network = (
        getattr(transformers, auto).from_pretrained(model_path(name), attn_implementation="eager").eval()
    )
    with torch.no_grad():
        return network(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)


def recomputed(q: np.ndarray, k: np.ndarray, causal: bool) -> np.ndarray:
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def test_minilm_is_captured_bit_for_bit(minilm: Model) -> None:
    captured = capture(minilm, samples.text("harbour"))
    want = plain("default", "AutoModel", captured.tokens.ids.tolist())
    np.testing.assert_array_equal(captured["attention"], torch.stack(want.attentions)[:, 0].numpy())
    np.testing.assert_array_equal(captured["hidden"], torch.stack(want.hidden_states)[:, 0].numpy())
    np.testing.assert_allclose(
        captured["attention"], recomputed(captured["q"], captured["k"], False), atol=3e-6
    )
    assert captured["attention"].shape[:2] == (6, 12)
    assert captured.tokens[0] == "[CLS]"
    assert estimate(minilm, len(captured.tokens)).held == sum(a.nbytes for a in captured.arrays.values())


def test_smollm_is_captured_bit_for_bit_and_stays_causal(smollm: Model) -> None:
    captured = capture(smollm, SENTENCES[2], want=("hidden", "attention", "q", "k", "v", "logits"))
    want = plain("decoder", "AutoModelForCausalLM", captured.tokens.ids.tolist())
    np.testing.assert_array_equal(captured["attention"], torch.stack(want.attentions)[:, 0].numpy())
    np.testing.assert_array_equal(captured["hidden"], torch.stack(want.hidden_states)[:, 0].numpy())
    np.testing.assert_array_equal(captured["logits"], want.logits[0].numpy())
    np.testing.assert_allclose(
        captured["attention"], recomputed(captured["q"], captured["k"], True), atol=3e-6
    )
    assert not np.triu(captured["attention"], 1).any()
    assert captured["k"].shape == (30, 9, len(captured.tokens), 64)


@pytest.mark.parametrize("name", ["minilm", "smollm"])
def test_batches_of_sentences_are_what_each_is_alone(name: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(name)
    for text, together in zip(SENTENCES, capture(model, SENTENCES), strict=True):
        alone = capture(model, text)
        assert together.tokens.labels == alone.tokens.labels
        for array in alone.arrays:
            scale = np.abs(alone[array]).max()
            np.testing.assert_allclose(together[array], alone[array], atol=2e-5 * max(1, scale))


def test_smollm_continues_its_text(smollm: Model) -> None:
    captured = capture(smollm, "The red lamp hung over the north door. The green", generate=4)
    assert list(captured.tokens.texts)[-4] == " lamp"
    assert captured.metadata["generated"] == 4
    assert captured["attention"].shape[-1] == len(captured.tokens)
    assert merge_words(captured).tokens[-4] == "lamp"


def test_known_heads_of_smollm_stand_at_their_numbers(smollm: Model) -> None:
    """Layers and heads numbered otherwise would put induction and previous-token heads elsewhere."""
    rng = np.random.default_rng(0)
    half = rng.integers(100, 40_000, 40)
    A = capture(smollm, [*half, *half], want="attention")["attention"]
    after = np.arange(40, 80)
    induction = A[:, :, after, after - 39].mean(-1)
    assert {
        (int(i), int(j))
        for i, j in zip(*np.unravel_index(np.argsort(-induction.ravel())[:8], (30, 9)), strict=True)
    } >= {
        (18, 6),
        (17, 4),
    }
    at = np.arange(1, 80)
    before = A[:, :, at, at - 1].mean(-1)
    assert {
        (int(i), int(j))
        for i, j in zip(*np.unravel_index(np.argsort(-before.ravel())[:8], (30, 9)), strict=True)
    } >= {
        (16, 0),
        (11, 1),
    }


def test_every_head_of_minilm_has_affinities(minilm: Model) -> None:
    captured = capture(minilm, samples.text("harbour"), want="attention")
    for layer in range(6):
        for head in range(12):
            for special in ("keep", "drop"):
                P = affinity.attention(captured, layer, head, special).P
                assert P.sum(dtype=np.float64) == pytest.approx(1, abs=1e-4)
                assert (P.sum(1) > 0).all()


@pytest.mark.parametrize("model", CATALOG.values(), ids=lambda model: model.name)
def test_the_catalogue_says_what_the_models_own_files_say(model: CatalogModel) -> None:
    get_model(model.name)
    config = json.loads((model.path / "config.json").read_text(encoding="utf-8"))
    if model.kind == "lstm":
        assert (config["layers"], config["hidden"]) == (model.layers, model.units)
        assert f"{len(config['words']):,} words" in model.about
    else:
        size = model_size(model.name)
        assert size == (model.layers, model.heads)
        assert config["max_position_embeddings"] == model.longest
        assert model.wheel is not None
        listed = next(one for one in packaged_models() if one.model is model)
        assert listed.size == pytest.approx(model.wheel.disk, rel=0.01)
