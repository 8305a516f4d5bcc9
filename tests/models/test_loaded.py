"""Models that somebody already holds: what is taken, and that they are afterwards as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

import langscape
from langscape.errors import LangscapeError
from langscape.models import open_model, wrap_lstm
from langscape.models.loaded import is_model

TEXT = "the red lamp and the red lamp"


def state_of(network: Any) -> dict[str, Any]:
    """All that a run may touch."""
    return {
        "attention": [m.config._attn_implementation for m in network.modules() if hasattr(m, "config")],
        "training": [m.training for m in network.modules()],
        "hooks": [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in network.modules()],
        "compiled": [m._compiled_call_impl for m in network.modules()],
        "gradients": [one.requires_grad for one in network.parameters()],
        "weights": [one.detach().clone() for one in network.state_dict().values()],
        "chance": torch.get_rng_state(),
    }


def assert_same(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, held in before.items():
        if name in ("weights", "chance"):
            assert all(torch.equal(a, b) for a, b in zip(held, after[name], strict=True)), (
                f"{name} are not as before"
            )
        else:
            assert held == after[name], f"{name} is not as before"


def some_network() -> Any:
    """A decoder in train mode whose second block is in eval mode, with sdpa, and a hook of its owner's."""
    network = built(DECODERS["llama"]).train()
    network.set_attn_implementation("sdpa")
    network.model.layers[1].eval()
    network.model.layers[0].register_forward_hook(lambda *_: None)
    return network


def test_a_loaded_model_gives_what_the_wrapped_one_gives(tiny):
    seen = langscape.capture(tiny.network, TEXT, tokenizer=tokenizer())
    again = langscape.capture(tiny, TEXT)
    for name in again.arrays:
        assert np.array_equal(seen[name], again[name])


@pytest.mark.parametrize("run", ["capture", "generate", "atlas", "stream"])
def test_a_model_is_afterwards_as_it_was(run):
    network = some_network()
    before = state_of(network)
    if run == "atlas":
        langscape.atlas(open_model(network, tokenizer=tokenizer()), TEXT, restarts=1, steps=20)
    elif run == "stream":
        langscape.models.stream(open_model(network, tokenizer=tokenizer()), TEXT)
    else:
        langscape.capture(network, TEXT, tokenizer=tokenizer(), generate=3 * (run == "generate"))
    assert_same(before, state_of(network))


def test_a_model_is_as_it_was_after_an_exception_in_the_middle():
    network = some_network()

    def fail(*_: Any) -> None:
        if network.model.layers[2].failing:
            raise RuntimeError("in the middle")

    network.model.layers[2].failing = False
    network.model.layers[2].register_forward_hook(fail)
    model = open_model(network, tokenizer=tokenizer())
    _ = model.layout
    before = state_of(network)
    network.model.layers[2].failing = True
    for ask in (langscape.capture, langscape.models.stream):
        with pytest.raises(RuntimeError, match="in the middle"):
            ask(model, TEXT)
        assert_same(before, state_of(network))


def test_train_mode_makes_no_difference_to_what_is_captured():
    config = transformers.BertConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
        max_position_embeddings=64, hidden_dropout_prob=0.5,
    )  # fmt: skip
    network = transformers.BertModel(config)
    trained = langscape.capture(network.train(), [5, 6, 7])["hidden"]
    assert np.array_equal(trained, langscape.capture(network.eval(), [5, 6, 7])["hidden"])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_half_and_is_captured_as_float32(dtype):
    network = built(DECODERS["llama"]).to(dtype)
    whole = langscape.capture(built(DECODERS["llama"]), [5, 6, 7, 8])["attention"]
    seen = langscape.capture(network, [5, 6, 7, 8])["attention"]
    assert seen.dtype == np.float32
    assert next(network.parameters()).dtype == dtype
    assert np.abs(seen - whole).max() < 0.02


def test_a_compiled_model_is_run_by_its_own_modules():
    network = built(ENCODERS["bert"])
    plain = langscape.capture(network, [5, 6, 7])
    seen = langscape.capture(torch.compile(network), [5, 6, 7])
    assert np.array_equal(seen["attention"], plain["attention"])
    assert any("compiled" in note for note in seen.notes)
    network.compile()
    before = state_of(network)
    assert np.array_equal(langscape.capture(network, [5, 6, 7])["attention"], plain["attention"])
    assert_same(before, state_of(network))


def test_a_pipeline_brings_its_tokenizer():
    network = built(DECODERS["llama"])
    pipe = transformers.pipeline("text-generation", model=network, tokenizer=tokenizer(), device="cpu")
    seen = langscape.capture(pipe, TEXT, want=("attention",))
    assert seen.tokens.labels[1:3] == ("the", "red")


def test_the_tokenizer_is_found_by_the_name_of_the_model(tmp_path):
    built(ENCODERS["bert"]).save_pretrained(tmp_path / "tiny-bert")
    tokenizer().save_pretrained(tmp_path / "tiny-bert")
    network = transformers.AutoModel.from_pretrained(tmp_path / "tiny-bert")
    model = open_model(network)
    assert model.name == "tiny-bert"
    assert "red" in langscape.capture(model, TEXT).tokens
    assert "red" in langscape.capture(network, TEXT, tokenizer=str(tmp_path / "tiny-bert")).tokens


def test_every_analysis_takes_a_loaded_model():
    network = built(ENCODERS["bert"])
    model = open_model(network, tokenizer=tokenizer())
    quick = {"restarts": 1, "steps": 20}
    found = [
        langscape.atlas(model, TEXT, **quick),
        langscape.head(model, TEXT, layer=0, head=1, **quick),
        langscape.hidden(model, TEXT, perplexity=2, **quick),
        langscape.max_attention(model, TEXT),
        langscape.texts(model, ["the lamp", "red lamp", "the red", "and lamp"], perplexity=1, restarts=1),
    ]
    assert [type(one).__name__ for one in found] == ["Atlas", "Head", "Map", "MaxAttention", "Map"]
    pipe = transformers.pipeline("feature-extraction", model=network, tokenizer=tokenizer(), device="cpu")
    assert len(langscape.atlas(pipe, TEXT, **quick).maps) == 12


def test_a_peft_model_is_run_with_its_adapter_and_said_to_be_merged_or_not():
    import peft

    settings = peft.LoraConfig(target_modules=["q_proj"], init_lora_weights=False)
    held = peft.get_peft_model(built(DECODERS["llama"]), settings)
    seen = langscape.capture(held, [5, 6, 7, 8])
    held.eval()
    with torch.no_grad():
        hidden = held(torch.tensor([[5, 6, 7, 8]]), output_hidden_states=True).hidden_states[-1][0]
    assert np.allclose(seen["hidden"][-1], hidden.numpy(), atol=1e-5)
    assert any("not merged" in note for note in seen.notes)
    with held.disable_adapter():
        off = langscape.capture(held, [5, 6, 7, 8])
    assert any("switched off" in note for note in off.notes)
    assert not np.allclose(off["hidden"], seen["hidden"], atol=1e-3)
    held.merge_adapter()
    merged = langscape.capture(held, [5, 6, 7, 8])
    assert any("merged into" in note for note in merged.notes)
    assert np.allclose(merged["hidden"], seen["hidden"], atol=1e-4)


def test_a_sentence_encoder_is_its_first_transformer(minilm):
    from sentence_transformers import SentenceTransformer

    from langscape.models import model_path

    made = SentenceTransformer(str(model_path("default")), device="cpu")
    assert is_model(made)
    seen = langscape.capture(made, "Rain fell.", want=("attention",))
    again = langscape.capture(minilm, "Rain fell.", want=("attention",))
    assert np.allclose(seen["attention"], again["attention"], atol=1e-6)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (torch.nn.Linear(2, 2), "wrap_lstm"),
        (3.5, "a float is no model; give a name"),
    ],
)
def test_other_objects_are_refused_with_the_way_out(held, said):
    with pytest.raises(LangscapeError, match=said):
        open_model(held)


def test_a_text_without_a_tokenizer_names_the_fix():
    with pytest.raises(LangscapeError, match="in Python as tokenizer=tokenizer"):
        langscape.capture(built(ENCODERS["bert"]), TEXT)
    with pytest.raises(LangscapeError, match="tokenizer is a int"):
        langscape.capture(built(ENCODERS["bert"]), TEXT, tokenizer=3)
    with pytest.raises(LangscapeError, match="no tokenizer nobody/knows"):
        open_model(built(ENCODERS["bert"]), tokenizer="nobody/knows")


def test_a_device_or_weights_elsewhere_are_refused():
    with pytest.raises(LangscapeError, match=r"model\.to\('cpu'\)"):
        open_model(built(ENCODERS["bert"]), "cpu")
    with torch.device("meta"):
        away = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1))
    with pytest.raises(LangscapeError, match="not in memory"):
        open_model(away)


def test_an_lstm_keeps_its_own_words():
    parts = {"embedding": torch.nn.Embedding(3, 4), "lstm": torch.nn.LSTM(4, 5)}
    made = wrap_lstm(**parts, decoder=torch.nn.Linear(5, 3), words=["tea", "is", "hot"])
    assert open_model(made) is made
    with pytest.raises(LangscapeError, match="leave tokenizer out"):
        open_model(made, tokenizer=tokenizer())
