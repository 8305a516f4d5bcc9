"""Streams: heads, MLPs and embeddings add up to hidden states and to logits, in every family."""

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
    MASKED,
    MIXTURES,
    OUTSIDE,
    PAIRS,
    built,
    tokenizer,
)

from langscape.errors import DataError, SettingsError
from langscape.models import (
    Stream,
    capture,
    contributions,
    lens,
    promoted,
    stream,
    word_table,
    wrap_model,
)
from langscape.models.bend import Bend

IDS = [7, 8, 9, 20, 21, 7, 8, 9, 33]
FAMILIES = {**ENCODERS, **DECODERS}
WITH_HEADS = {**MIXTURES, **{f"{name}, masked": make for name, make in MASKED.items()}}


def stirred(network: Any) -> Any:
    """With biases and gains that differ: fresh ones are zeros and ones, and would hide one that is lost."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        for parameter in network.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return network


@cache
def seen(name: str) -> Stream:
    return stream(wrap_model(stirred(built({**FAMILIES, **WITH_HEADS}[name]))), IDS)


def some_words(count: int = 4) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 60, size=(len(IDS), count))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_table_of_words_is_the_one_that_a_stream_is_compared_with(name):
    assert torch.equal(word_table(seen(name).model), seen(name).words)


def test_only_the_first_choices_are_split_over_tokens_and_neurons():
    held, ids = seen("llama"), some_words()
    some, all_ = contributions(held, ids, split=2), contributions(held, ids)
    assert (some.sources.shape[3], some.neurons.shape[2]) == (2, 2)
    np.testing.assert_allclose(some.sources, all_.sources[:, :, :, :2], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(some.heads, all_.heads)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_every_part_adds_to_a_score_adds_up_to_the_models_own(name: str) -> None:
    parts = contributions(seen(name), some_words())
    np.testing.assert_allclose(parts.total, parts.score, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", DECODERS)
def test_scores_of_a_decoder_are_its_logits(name: str) -> None:
    model = seen(name).model
    theirs = capture(model, IDS, want=("logits",))["logits"]
    parts = contributions(seen(name), some_words())
    theirs = np.take_along_axis(theirs, some_words(), 1)
    if name == "gemma2":
        assert any("bends its logits" in note for note in seen(name).capture.notes)
        cap = model.network.config.final_logit_softcapping
        np.testing.assert_allclose(cap * np.tanh(parts.total / cap), theirs, atol=2e-5, rtol=1e-5)
    else:
        np.testing.assert_allclose(parts.total, theirs, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_nodes_are_the_models_hidden_states_and_end_in_what_meets_the_words(name: str) -> None:
    held = seen(name)
    theirs = capture(held.model, IDS, want=("hidden",))["hidden"]
    nodes = held.capture["stream"][::2]
    np.testing.assert_allclose(nodes[:-1], theirs[:-1], atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(held.capture["final"], theirs[-1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in FAMILIES if not seen(name).post_norm])
def test_without_norms_on_the_stream_the_vectors_themselves_add_up(name: str) -> None:
    held = seen(name).capture
    total = held["embedding"].sum(0)
    for layer in range(3):
        total = total + held["heads"][layer].sum(0) + held["attention_bias"][layer]
        np.testing.assert_allclose(total, held["stream"][2 * layer + 1], atol=1e-4)
        total = total + held["mlp"][layer]
        np.testing.assert_allclose(total, held["stream"][2 * layer + 2], atol=1e-4)


def test_the_bias_of_gpt2s_attention_is_a_summand_of_its_own_and_llama_has_none() -> None:
    held = seen("gpt2")
    for layer, block in enumerate(held.model.network.transformer.h):
        bias = block.attn.c_proj.bias.detach().numpy()
        np.testing.assert_allclose(held.capture["attention_bias"][layer], np.tile(bias, (len(IDS), 1)))
        assert np.abs(bias).max() > 0.1
    assert not seen("llama").capture["attention_bias"].any()
    parts = contributions(held, some_words())
    assert np.abs(parts.attention_bias).max() > 0.1
    assert np.abs(parts.constant).max() > 0.1  # the shift of the final norm, seen by every word


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    ("network", "config"),
    [
        (transformers.GPT2LMHeadModel, transformers.GPT2Config(**GPT)),
        (transformers.LlamaForCausalLM, transformers.LlamaConfig(**GROUPED)),
    ],
)
def test_words_are_those_of_the_head_whether_it_is_the_embedding_or_not(
    network: Any, config: Any, tied: bool
) -> None:
    config.tie_word_embeddings = tied
    model = wrap_model(stirred(built(lambda: network(config))))
    held = stream(model, IDS)
    rows, head = model.network.get_input_embeddings().weight, model.network.get_output_embeddings().weight
    assert (rows is head) == tied
    np.testing.assert_array_equal(np.asarray(held.words), head.detach().numpy())
    parts = contributions(held, some_words())
    theirs = np.take_along_axis(capture(model, IDS, want=("logits",))["logits"], some_words(), 1)
    np.testing.assert_allclose(parts.total, theirs, atol=5e-5, rtol=1e-5)


def test_only_encoders_of_bert_kind_normalise_the_stream() -> None:
    normed = {name for name in FAMILIES if seen(name).post_norm}
    assert normed == {"bert", "bert with a head", "roberta", "distilbert", "albert", "electra"}


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_the_share_of_a_head_splits_over_the_tokens_it_reads(name: str) -> None:
    parts = contributions(seen(name), some_words())
    np.testing.assert_allclose(parts.sources.sum(-1), parts.heads, atol=1e-5, rtol=1e-5)
    if name != "bert":
        ahead = np.triu(np.ones((len(IDS), len(IDS)), bool), 1)[:, None]
        assert not parts.sources[:, :, np.broadcast_to(ahead, (len(IDS), 4, len(IDS)))].any()


@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_all_neurons_together_are_the_mlp(name: str) -> None:
    parts = contributions(seen(name), some_words(), neurons=40)
    np.testing.assert_allclose(parts.neuron_values.sum(-1), parts.mlp, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_the_lens_at_the_last_node_is_the_models_own_answer(name: str) -> None:
    words = lens(seen(name), top=5)
    given = torch.tensor(seen(name).capture["logits"].copy()).softmax(-1)
    best = given.topk(5, dim=-1)
    np.testing.assert_array_equal(words.ids[-1], best.indices.numpy())
    np.testing.assert_allclose(words.values[-1], best.values.numpy(), atol=1e-5, rtol=1e-5)


def test_the_lens_of_an_encoder_is_the_nearest_embedding_by_direction() -> None:
    words = lens(seen("bert"), top=1)
    table = seen("bert").words.numpy()
    node = seen("bert").capture["stream"][3, 2]
    cosines = table @ node / np.linalg.norm(table, axis=1) / np.linalg.norm(node)
    assert words.ids[3, 2, 0] == cosines.argmax()
    assert words.values[3, 2, 0] == pytest.approx(cosines.max(), abs=1e-5)


@pytest.mark.parametrize("part", ["heads", "mlp"])
def test_promoted_words_are_those_with_the_largest_contribution(part: str) -> None:
    everyone = np.tile(np.arange(60), (len(IDS), 1))
    shares = getattr(contributions(seen("llama"), everyone), part)
    words = promoted(seen("llama"), part, top=1)
    np.testing.assert_array_equal(words.ids[..., 0], shares.argmax(-1))
    which = np.zeros(shares.shape[:-1], bool)
    which[1, ..., 2] = True
    some = promoted(seen("llama"), part, top=1, which=which)
    np.testing.assert_array_equal(some.ids[which], words.ids[which])
    assert (some.ids[~which] == -1).all()


@pytest.mark.parametrize("name", [*OUTSIDE, *PAIRS])
def test_models_that_cannot_be_taken_apart_are_refused(name: str) -> None:
    with pytest.raises((DataError, SettingsError), match="stream"):
        stream(wrap_model(built({**OUTSIDE, **PAIRS}[name])), IDS)


def test_a_stream_that_is_scaled_between_its_parts_is_refused() -> None:
    def granite() -> Any:
        config = transformers.GraniteConfig(**GROUPED, residual_multiplier=0.3)
        return transformers.GraniteForCausalLM(config)

    with pytest.raises(DataError, match="not sums of attention and MLP"):
        stream(wrap_model(built(granite)), IDS)


def test_words_that_are_not_there_and_ids_of_another_shape_are_refused() -> None:
    with pytest.raises(SettingsError, match="words are 0 to 59"):
        contributions(seen("llama"), np.full((len(IDS), 1), 60))
    with pytest.raises(SettingsError, match="shape"):
        contributions(seen("llama"), np.zeros((2, 1), int))
    with pytest.raises(SettingsError, match="stream of 9 tokens"):
        stream(seen("llama").model, IDS, memory=1000)


@pytest.mark.slow
def test_smollm_adds_up_and_knows_the_capital_of_italy(smollm: Any) -> None:
    held = stream(smollm, "The capital of France is Paris, and the capital of Italy is")
    words = lens(held, top=3)
    assert smollm.tokenizer.decode([words.ids[-1, -1, 0]]).strip() == "Rome"
    parts = contributions(held, words.ids[-1])
    assert parts.error < 1e-4 * np.abs(parts.score).max()


def test_the_lens_of_a_soft_capped_model_ends_in_the_models_own_softmax():
    """Large logits, so that the cap is felt: without it the best word would have nearly all."""
    network = built(DECODERS["gemma2"])
    network.config.final_logit_softcapping = 3.0
    with torch.no_grad():
        network.get_output_embeddings().weight *= 40
    held = stream(wrap_model(network, tokenizer(), name="capped"), "the red lamp hung over the water")
    assert held.bend == Bend(cap=3.0)
    ids = torch.tensor([held.capture.tokens.require_ids().tolist()])
    with torch.no_grad():
        own = network(input_ids=ids).logits[0].softmax(-1).numpy()
    best = lens(held, 5)
    np.testing.assert_allclose(
        best.values[-1], np.take_along_axis(own, best.ids[-1].astype(int), -1), atol=1e-5
    )
    plain = torch.from_numpy(held.capture["logits"].copy()).softmax(-1).max(-1).values.numpy()
    assert np.abs(plain - best.values[-1, :, 0]).max() > 0.1


@pytest.mark.parametrize("name", WITH_HEADS)
def test_mixtures_and_heads_with_a_layer_of_their_own_add_up_to_the_models_logits(name: str) -> None:
    held = seen(name)
    assert held.head
    assert (held.transform is not None) == name.endswith("masked")
    parts = contributions(held, some_words())
    np.testing.assert_allclose(parts.total, parts.score, atol=2e-5, rtol=1e-5)
    with torch.no_grad():
        own = held.model.network(torch.tensor([IDS])).logits[0]
    np.testing.assert_allclose(parts.score, np.take_along_axis(own.numpy(), some_words(), 1), atol=1e-5)
    best = lens(held, 3)
    chances = own.softmax(-1).numpy()
    np.testing.assert_allclose(
        best.values[-1], np.take_along_axis(chances, best.ids[-1].astype(int), -1), atol=1e-5
    )


@pytest.mark.parametrize("name", MIXTURES)
def test_the_chosen_experts_are_the_routers_and_what_they_add_is_what_the_layer_adds(name: str) -> None:
    held = seen(name)
    parts = contributions(held, some_words())
    mixtures: Any = [module for module in held.model.network.modules() if hasattr(module, "experts")]
    for layer, (mixture, mixed) in enumerate(zip(mixtures, held.experts, strict=True)):
        assert mixed is not None
        hidden = held.capture["stream"][2 * layer + 1].copy()
        block = held.model.network.model.layers[layer]
        with torch.no_grad():
            _, weights, index = mixture.gate(block.post_attention_layernorm(torch.from_numpy(hidden)))
        assert torch.equal(mixed.index, index)
        np.testing.assert_allclose(mixed.weight, weights, atol=1e-6)
        shared = parts.mlp[layer] - parts.experts[layer].sum(-1)
        assert (np.abs(shared).max() > 1e-3) == (name == "qwen2_moe")


def test_a_head_of_another_kind_gives_no_sums_of_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langscape.models.language_head.ACTIVATIONS", (torch.tanh,))
    held = stream(
        wrap_model(built(MASKED["bert as a decoder"]), tokenizer(), name="odd"), "the red lamp hung"
    )
    assert not held.head
    assert "logits" not in held.capture.arrays
    assert any("sums of parts would miss its logits" in note for note in held.capture.notes)
    parts = contributions(held, np.full((len(held.capture.tokens), 1), 7))
    assert parts.error < 1e-4 * max(1.0, float(np.abs(parts.score).max()))


@pytest.mark.parametrize("name", ["gemma2", "mixtral", "roberta, masked", "bert", "gpt2"])
def test_some_tokens_alone_are_told_as_they_are_among_all(name: str) -> None:
    held, places = seen(name), [2, 5, 8]
    some, whole = contributions(held.only(places), some_words()[places]), contributions(held, some_words())
    for field in ("heads", "mlp", "sources", "neuron_values"):
        np.testing.assert_allclose(
            getattr(some, field),
            np.take(
                getattr(whole, field),
                places,
                -2 if field == "heads" else {"mlp": 1, "sources": 2, "neuron_values": 1}[field],
            ),
            rtol=1e-4,
            atol=1e-6,
        )
    np.testing.assert_array_equal(lens(held.only(places), 4).ids, lens(held, 4).ids[:, places])


@pytest.mark.parametrize("name", PAIRS)
def test_encoder_decoders_are_refused_by_name(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is of kind encoder-decoder"):
        stream(wrap_model(built(PAIRS[name]), name=name), IDS)


class _Plainly:
    """What comes one by one as a list, stacked at the end: the way that needs everything twice."""

    def __init__(self, count: int) -> None:
        self.parts: list[torch.Tensor] = []

    def add(self, part: torch.Tensor) -> torch.Tensor:
        self.parts.append(part)
        return part

    @property
    def last(self) -> torch.Tensor:
        return self.parts[-1]

    @property
    def whole(self) -> torch.Tensor:
        return torch.stack(self.parts).float()


@pytest.mark.parametrize("name", [*FAMILIES, *WITH_HEADS])
def test_a_stream_that_holds_nothing_twice_has_the_bits_of_one_that_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = stream(seen(name).model, IDS)  # now, with as many threads as the other
    monkeypatch.setattr("langscape.models.residual.Stacked", _Plainly)
    monkeypatch.setattr("langscape.models.residual_parts.Stacked", _Plainly)
    monkeypatch.setattr("langscape.models.residual._forget_narrow", lambda events, width: None)
    plain = stream(held.model, IDS)
    assert list(plain.capture.arrays) == list(held.capture.arrays)
    for array in plain.capture.arrays:
        np.testing.assert_array_equal(held.capture[array], plain.capture[array])
    for one, other in zip(held.calls, plain.calls, strict=True):
        assert torch.equal(one.weights, other.weights)


def test_the_attention_of_a_stream_is_held_once() -> None:
    held = seen("llama")
    weights = held.calls[1].weights.numpy()
    assert np.shares_memory(weights, held.capture["attention"])
    assert not held.only([2]).calls
