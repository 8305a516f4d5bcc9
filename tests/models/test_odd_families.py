"""Families that do something else with attention, or nothing: captured right, or said."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.families import DECODERS, ODD, built, tokenizer

from langscape.errors import DataError
from langscape.models import Model, capture, wrap_model

IDS = [7, 8, 9, 20, 21, 7, 8, 9]


@cache
def opened(name: str) -> Model:
    return wrap_model(built({**ODD, **DECODERS}[name]))


def test_scores_before_softmax_become_weights() -> None:
    model = opened("squeezebert")
    seen = capture(model, IDS)
    with torch.no_grad():
        scores = model.network(torch.tensor([IDS]), output_attentions=True).attentions
    expected = torch.softmax(torch.stack(scores)[:, 0], -1).numpy()
    np.testing.assert_allclose(seen["attention"], expected, atol=1e-6)
    assert "hands over scores before softmax" in seen.notes[0]


def test_a_layer_that_uses_its_weights_twice_is_one_layer() -> None:
    model = opened("diffllama")
    seen = capture(model, IDS)
    assert seen["attention"].shape == (3, 4, 8, 8)
    assert seen["hidden"].shape[0] == 4
    model.network.set_attn_implementation("eager")
    with torch.no_grad():
        own = model.network(torch.tensor([IDS]), output_attentions=True).attentions
    np.testing.assert_array_equal(seen["attention"], torch.stack(own)[:, 0].numpy())
    assert any("several parts of its values" in note for note in seen.notes)


@pytest.mark.parametrize("name", ["t5gemma", "two berts"])
def test_pairs_made_of_two_models_have_all_three_sides(name: str) -> None:
    seen = capture(opened(name), IDS, target=[12, 13, 14])
    for side, shape in (("encoder", (8, 8)), ("decoder", (4, 4)), ("cross", (4, 8))):
        held = seen.attention(side)  # type: ignore[arg-type]
        assert held.weights.shape[2:] == shape
        np.testing.assert_allclose(held.weights.sum(-1), 1, atol=1e-5)


def test_learned_sinks_are_a_column_of_their_own() -> None:
    seen = capture(opened("gpt_oss"), IDS)
    sink, A = seen["attention_sink"], seen["attention"]
    assert seen.axes["attention_sink"] == ("layer", "head", "query")
    np.testing.assert_allclose(A.sum(-1) + sink, 1, atol=1e-5)
    assert sink.mean() > 0.05
    scores = np.einsum("hqd,hkd->hqk", seen["q"][0], seen["k"][0]) * seen.metadata["scaling"]["q"][0]
    own = opened("gpt_oss").network.model.layers[0].self_attn.sinks.detach().numpy()
    # the first token sees itself and the sink alone
    first = np.exp(own) / (np.exp(own) + np.exp(scores[:, 0, 0]))
    np.testing.assert_allclose(sink[0, :, 0], first, atol=1e-5)
    assert any("% of the weight goes to learned sinks" in note for note in seen.notes)


@pytest.mark.parametrize("name", ["mamba", "rwkv"])
def test_models_without_attention_give_hidden_states(name: str) -> None:
    model = opened(name)
    seen = capture(model, IDS)
    assert list(seen.arrays) == ["hidden"]
    assert seen["hidden"].shape == (3, 8, 32)
    assert "has no attention" in seen.notes[0]
    assert "0 layers" in repr(model)
    with pytest.raises(DataError, match='no attention; capture want="hidden" alone'):
        capture(model, IDS, want="attention")


def test_rows_that_do_not_sum_to_one_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers.models.llama.modeling_llama as llama

    from langscape.models import attention_hook

    def halved(*args: Any, **settings: Any) -> Any:
        output, weights = whole(*args, **settings)
        return output, weights / 2

    whole = llama.eager_attention_forward
    model = wrap_model(built(DECODERS["llama"]))
    monkeypatch.setattr(llama, "eager_attention_forward", halved)
    attention_hook._own_eager.cache_clear()
    try:
        notes = capture(model, IDS).notes
    finally:
        attention_hook._own_eager.cache_clear()
    assert "rows of attention sum to 0.50 at least and 0.50 at most, not to 1" in notes


@pytest.mark.parametrize("tensors", [None, "pt", "np"])
def test_what_a_tokenizer_gave_is_read(tensors: str | None) -> None:
    words = tokenizer()
    model = wrap_model(built(DECODERS["llama"]), words)
    text = "the red lamp"
    one = capture(model, words(text, return_tensors=tensors))
    assert one.tokens.labels == capture(model, text).tokens.labels
    both = capture(model, words([text, "the boat hung over"], padding=True, return_tensors=tensors))
    assert [len(seen.tokens) for seen in both] == [5, 6]
    with pytest.raises(DataError, match="without input_ids"):
        capture(model, {"ids": [1, 2]})


def test_a_map_of_a_head_with_a_learned_sink_says_what_is_parked_there() -> None:
    from langscape.analyses.head import make_head

    seen = capture(opened("gpt_oss"), IDS, ("attention",))
    made = make_head(seen, 0, 1, sinks="keep", restarts=1, steps=30)
    share = float(seen["attention_sink"][0, 1].mean())
    assert f"learned sink, which is no token ({100 * share:.0f} %)" in " ".join(made.notes)
