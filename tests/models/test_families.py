from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.models.families import (
    DECODERS,
    ENCODERS,
    GPT,
    GROUPED,
    OUTSIDE,
    PAIRS,
    PLACES,
    SIZES,
    WIDE,
    built,
    vit,
)

from langscape.data import Capture
from langscape.errors import DataError, SettingsError
from langscape.models import Model, capture, wrap_model
from langscape.models.attention_hook import NAME
from langscape.models.model import kind_of
from langscape.models.size import size_of

IDS = [7, 8, 9, 20, 21, 7, 8, 9, 33, 40, 41]
TARGET = [12, 13, 14, 15]
HEARD = {**ENCODERS, **DECODERS}


@cache
def opened(name: str) -> Model:
    return wrap_model(built({**HEARD, **PAIRS, **OUTSIDE}[name]))


def plain(network: Any, **inputs: Any) -> Any:
    """The network's own answer with eager attention, nothing of ours near it."""
    network.set_attn_implementation("eager")
    with torch.no_grad():
        return network(**inputs, output_attentions=True, output_hidden_states=True)


def layers(states: Any) -> np.ndarray:
    return torch.stack(list(states))[:, 0].numpy()


def softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def recomputed(captured: Capture, visible: np.ndarray, cap: float | None = None) -> np.ndarray:
    q, k = captured["q"].astype(np.float64), captured["k"].astype(np.float64)
    scores = (
        np.einsum("lhqd,lhkd->lhqk", q, k)
        * np.asarray(captured.metadata["scaling"]["q"])[:, None, None, None]
    )
    scores = cap * np.tanh(scores / cap) if cap else scores
    return softmax(np.where(visible, scores, -np.inf))


@pytest.mark.parametrize("name", HEARD)
def test_outputs_are_those_of_the_plain_eager_model_bit_for_bit(name: str) -> None:
    network = opened(name).network
    captured = capture(opened(name), IDS, want=("hidden", "attention", "q", "k", "v", "logits"))
    want = plain(network, input_ids=torch.tensor([IDS]), attention_mask=torch.ones(1, len(IDS)))
    np.testing.assert_array_equal(captured["attention"], layers(want.attentions))
    np.testing.assert_array_equal(captured["hidden"], layers(want.hidden_states))
    if hasattr(want, "logits"):
        np.testing.assert_array_equal(captured["logits"], want.logits[0].numpy())
    else:
        assert any(note.startswith("logits not there") for note in captured.notes)
    assert captured["q"].shape == captured["k"].shape == captured["v"].shape == (3, 4, len(IDS), 8)
    assert captured["hidden"].shape == (4, len(IDS), 32)


@pytest.mark.parametrize("name", [*HEARD, *PAIRS])
def test_the_configuration_alone_tells_how_many_layers_and_heads_there_are(name: str) -> None:
    model = opened(name)
    assert size_of(model.network.config.to_dict()) == (model.layers, model.heads)
    if name in PAIRS:
        inside = capture(model, IDS, ("attention",), target=TARGET)["decoder_attention"]
        assert size_of(model.network.config.to_dict(), "decoder") == inside.shape[:2]


@pytest.mark.parametrize("name", HEARD)
def test_softmax_of_queries_times_keys_gives_the_weights(name: str) -> None:
    captured = capture(opened(name), IDS)
    at = np.arange(len(IDS))
    far = np.abs(at[:, None] - at)
    everyone = np.ones((3, 1, len(IDS), len(IDS)), bool)
    visible = everyone & (at[:, None] >= at) if name in DECODERS else everyone
    if name == "modernbert":  # every layer but each third looks around itself only
        visible = everyone & (np.array([False, True, True])[:, None, None, None] <= (far <= 2))
    if name == "mistral":
        visible = visible & (far < 4)
    if name == "gemma2":  # every other layer has a window
        visible = visible & (np.array([True, False, True])[:, None, None, None] <= (far < 4))
    cap = 50.0 if name == "gemma2" else None
    np.testing.assert_allclose(captured["attention"], recomputed(captured, visible, cap), atol=2e-6)
    assert any("soft-capped" in note for note in captured.notes) == (name == "gemma2")


@pytest.mark.parametrize("name", HEARD)
def test_weights_times_values_is_what_the_next_layer_receives(name: str) -> None:
    """v belongs to the weights: their product is what the model's output projection is given."""
    network = built(HEARD[name])
    model = wrap_model(network)
    given: list[torch.Tensor] = []
    ends = ("attention.output.dense", "out_lin", "attention.dense", "attn.Wo", "c_proj", "out_proj", "o_proj")
    projections = [m for n, m in network.named_modules() if n.endswith(ends) and "mlp" not in n]
    for projection in projections:
        projection.register_forward_pre_hook(lambda module, args: given.append(args[0][0].detach()))
    captured = capture(model, IDS)
    mixed = np.einsum("lhqk,lhkd->lqhd", captured["attention"], captured["v"]).reshape(3, len(IDS), 32)
    received = [g.reshape(len(IDS), 32).numpy() for g in given[-3:]]
    np.testing.assert_allclose(mixed, np.stack(received), atol=1e-5)


@pytest.mark.parametrize("name", [*DECODERS, "gptj", "bloom"])
def test_causal_models_stay_causal(name: str) -> None:
    model = opened(name)
    captured = capture(model, IDS)
    assert not np.triu(captured["attention"], 1).any()
    assert captured.metadata["causal"] == {"attention": True}
    shorter = capture(model, IDS[:6])
    np.testing.assert_allclose(captured["hidden"][:, :6], shorter["hidden"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_look_both_ways(name: str) -> None:
    captured = capture(opened(name), IDS)
    assert np.triu(captured["attention"], 1).any()
    assert captured.metadata["causal"] == {"attention": False}


@pytest.mark.parametrize("name", OUTSIDE)
def test_models_outside_the_interface_give_weights_and_say_what_is_missing(name: str) -> None:
    network = opened(name).network
    captured = capture(opened(name), IDS)
    want = plain(network, input_ids=torch.tensor([IDS]), attention_mask=torch.ones(1, len(IDS)))
    np.testing.assert_array_equal(captured["attention"], layers(want.attentions))
    np.testing.assert_array_equal(captured["hidden"], layers(want.hidden_states))
    assert set(captured.arrays) == {"attention", "hidden"}
    assert any(note.startswith("q, k and v not there") for note in captured.notes)
    with pytest.raises(DataError, match="q, k and v not there"):
        captured["q"]


@pytest.mark.parametrize("name", PAIRS)
def test_encoder_decoder_and_cross_attention_are_told_apart(name: str) -> None:
    network = opened(name).network
    captured = capture(
        opened(name), IDS, want=("hidden", "attention", "q", "k", "v", "logits"), target=TARGET
    )
    decoded = [network.config.decoder_start_token_id, *TARGET]
    want = plain(network, input_ids=torch.tensor([IDS]), decoder_input_ids=torch.tensor([decoded]))
    for array, theirs in {
        "encoder_attention": want.encoder_attentions,
        "decoder_attention": want.decoder_attentions,
        "cross_attention": want.cross_attentions,
        "encoder_hidden": want.encoder_hidden_states,
        "decoder_hidden": want.decoder_hidden_states,
    }.items():
        np.testing.assert_array_equal(captured[array], layers(theirs))
    np.testing.assert_array_equal(captured["decoder_logits"], want.logits[0].numpy())
    assert captured["cross_attention"].shape[-2:] == (len(decoded), len(IDS))
    assert captured["cross_q"].shape[2] == len(decoded)
    assert captured["cross_k"].shape[2] == len(IDS)
    assert captured.tokens_of("decoder").ids.tolist() == decoded
    assert captured.metadata["causal"] == {"encoder_attention": False, "decoder_attention": True}
    assert any("position bias" in note for note in captured.notes) == (name == "t5")


def test_gpt2_that_upcasts_in_another_order_is_heard_within_rounding() -> None:
    network = built(
        lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT, reorder_and_upcast_attn=True))
    )
    captured = capture(wrap_model(network), IDS)
    want = plain(network, input_ids=torch.tensor([IDS]), attention_mask=torch.ones(1, len(IDS)))
    np.testing.assert_allclose(captured["attention"], layers(want.attentions), atol=1e-6)


def test_layers_that_do_not_attend_are_not_counted() -> None:
    settings = {**GROUPED, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 1}
    config = transformers.JambaConfig(**settings, use_mamba_kernels=False)
    captured = capture(wrap_model(built(lambda: transformers.JambaForCausalLM(config))), IDS)
    assert captured["attention"].shape == (1, 4, len(IDS), len(IDS))
    assert captured["hidden"].shape[0] == 4
    assert "1 of 3 blocks attend" in captured.notes[0]


def test_models_without_token_to_token_attention_are_refused() -> None:
    fnet = transformers.FNetConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, intermediate_size=40)
    assert list(capture(wrap_model(transformers.FNetModel(fnet)), IDS).arrays) == ["hidden"]
    around = transformers.LongformerConfig(**SIZES, **WIDE, **PLACES, attention_window=4)
    with pytest.raises(DataError, match="cannot be captured"):
        capture(wrap_model(transformers.LongformerModel(around)), IDS)
    small = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1])
    with pytest.raises(DataError, match="'resnet' does not cut images"):
        capture(wrap_model(transformers.ResNetModel(small)), np.zeros((3, 8, 8)))
    both = transformers.CLIPConfig()
    with pytest.raises(SettingsError, match="text and images together"):
        kind_of(both)


def test_albert_calls_one_module_three_times_and_each_call_is_a_layer() -> None:
    captured = capture(opened("albert"), IDS)
    assert len({captured["attention"][i].tobytes() for i in range(3)}) == 3


def test_grouped_keys_are_repeated_for_every_query_head() -> None:
    captured = capture(opened("llama"), IDS)
    for name in ("k", "v"):
        np.testing.assert_array_equal(captured[name][:, 0], captured[name][:, 1])
        assert (captured[name][:, 1] != captured[name][:, 2]).any()


def test_a_vision_model_takes_pixels() -> None:
    network = built(vit)
    model = wrap_model(network)
    pixels = np.random.default_rng(0).normal(size=(3, 16, 16)).astype(np.float32)
    captured = capture(model, pixels)
    want = plain(network, pixel_values=torch.from_numpy(pixels)[None])
    np.testing.assert_array_equal(captured["attention"], layers(want.attentions))
    assert captured.tokens.labels[:3] == ("[CLS]", "patch 0,0", "patch 0,1")
    assert captured.tokens.special.tolist() == [True, *[False] * 16]
    two = capture(model, np.stack([pixels, pixels[:, ::-1]]))
    np.testing.assert_allclose(two[0]["attention"], captured["attention"], atol=1e-6)
    assert captured.metadata["text_digest"] != two[1].metadata["text_digest"]
    for bad in (np.zeros((3, 8, 8)), np.full((3, 16, 16), np.nan), "a picture"):
        with pytest.raises(DataError, match=r"\(3, 16, 16\)"):
            capture(model, bad)


@pytest.mark.parametrize("name", [*HEARD, *PAIRS, *OUTSIDE])
def test_a_batch_gives_what_each_text_gives_alone(name: str) -> None:
    model = opened(name)
    texts = [IDS, IDS[:4], IDS[3:], [9]]
    given: dict[str, Any] = {"target": [TARGET, TARGET[:1], TARGET[1:], TARGET]} if name in PAIRS else {}
    together = capture(model, texts, **given)
    for i, text in enumerate(texts):
        alone = capture(model, text, **{key: value[i] for key, value in given.items()})
        assert set(alone.arrays) == set(together[i].arrays)
        for array in alone.arrays:
            np.testing.assert_allclose(
                together[i][array], alone[array], atol=2e-5, err_msg=f"{array} of text {i}"
            )


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_the_network_is_left_as_it_was(name: str) -> None:
    network = built({**HEARD, **PAIRS}[name])
    network.set_attn_implementation("sdpa" if name != "t5" else "eager")
    before = network.config._attn_implementation
    capture(wrap_model(network), IDS)
    assert network.config._attn_implementation == before != NAME
    broken = network.register_forward_pre_hook(lambda module, args: 1 / 0)
    body = network.base_model.register_forward_pre_hook(lambda module, args: 1 / 0)
    with pytest.raises(DataError, match="division by zero"):
        capture(wrap_model(network), IDS)
    assert network.config._attn_implementation == before
    broken.remove()
    body.remove()
