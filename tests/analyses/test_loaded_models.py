"""Every analysis of a model takes one that somebody holds, with its tokenizer, and continues a text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

import langscape
from langscape.analyses._query_key import query_key_collect
from langscape.declarations.declaration import analyses, declaration_of
from langscape.errors import SettingsError, TooLargeError
from langscape.faces import speaking
from langscape.models import capture, open_model

TEXT = "the red lamp hung over the north door . the green boat hung over the south door of stone ."
QUICK: dict[str, Any] = {"restarts": 1, "steps": 20}
KL: dict[str, Any] = {"steps": 20, "perplexity": 2}
HEAD: dict[str, Any] = {"layer": 0, "head": 1}


@cache
def network() -> Any:
    made = built(DECODERS["llama"])
    made.config.eos_token_id = made.generation_config.eos_token_id = None  # or it would stop at once
    return made


CALLS: dict[str, Callable[..., Any]] = {
    "atlas": lambda **more: langscape.atlas(network(), TEXT, **QUICK, **more),
    "head": lambda **more: langscape.head(network(), TEXT, **HEAD, **QUICK, **more),
    "hidden": lambda **more: langscape.hidden(network(), TEXT, **QUICK, perplexity=2, **more),
    "max_attention": lambda **more: langscape.max_attention(network(), TEXT, **more),
    "flow": lambda **more: langscape.flow(network(), TEXT, **more),
    "query_key": lambda **more: langscape.query_key(network(), [TEXT], **HEAD, **more),
    "query_key_beside": lambda **more: langscape.query_key_beside(network(), TEXT, **HEAD, **more),
    "query_key_constants": lambda **more: langscape.query_key_constants(network(), [TEXT], **HEAD, **more),
    "query_key_grid": lambda **more: langscape.query_key_grid(network(), [TEXT], **more),
    "query_key_scale": lambda **more: langscape.query_key_scale(network(), [TEXT], **more),
    "robustness": lambda **more: langscape.robustness(network(), TEXT, **KL, repeats=2, **more),
    "compare_kl": lambda **more: langscape.compare_kl(network(), [TEXT], **KL, runs=2, **more),
    "compare": lambda **more: langscape.compare(
        network(), TEXT, layer=0, other_layer=1, perplexity=2, **QUICK, **more
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_analysis_takes_a_model_and_its_tokenizer(name: str) -> None:
    declared = declaration_of(getattr(langscape, name))
    expected = inspect.signature(declared.function).return_annotation
    assert type(CALLS[name](tokenizer=tokenizer())).__name__ in str(expected)
    assert "tokenizer" in inspect.signature(getattr(langscape, name)).parameters


@pytest.mark.parametrize("name", CALLS)
def test_an_analysis_reads_what_the_model_writes(name: str) -> None:
    found = CALLS[name](tokenizer=tokenizer(), generate=4)
    plain = CALLS[name](tokenizer=tokenizer())
    if name in ("atlas", "head", "max_attention"):
        assert found.capture.tokens.generated.tolist()[-4:] == [True] * 4
        assert len(found.capture.tokens) == len(plain.capture.tokens) + 4
    elif name == "hidden":
        assert found.items.columns["generated"].sum() == len(found) - len(plain)
    elif name == "flow":
        assert len(found.tokens) == len(plain.tokens) + 4
    elif name == "compare":
        assert len(found.left) > len(plain.left)


def test_queries_and_keys_mark_what_the_model_wrote() -> None:
    given: dict[str, Any] = {"text": [TEXT], "tokenizer": tokenizer()}
    plain = query_key_collect(network(), **given)
    seen = query_key_collect(network(), **given, generate=4)
    before, after = (one.tokens.take(np.flatnonzero(~one.tokens.special)) for one in (plain, seen))
    assert not plain.tokens.generated.any()
    assert after.texts[: len(before)] == before.texts
    assert after.generated.tolist() == [False] * len(before) + [True] * (len(after) - len(before))
    assert after.generated.any()
    assert not seen.tokens.generated[seen.tokens.special].any()


def test_generated_tokens_are_marked_and_greedy() -> None:
    model = open_model(network(), tokenizer=tokenizer())
    seen = capture(model, TEXT, want="attention", generate=5)
    more = capture(model, TEXT, want="logits")["logits"][-1]
    assert seen.tokens.generated.sum() == 5
    assert seen.tokens.require_ids()[-5] == int(np.argmax(more))
    assert not capture(model, TEXT, want="attention").tokens.generated.any()


def test_every_analysis_of_one_text_declares_generate_alike() -> None:
    for name in CALLS:
        setting = declaration_of(getattr(langscape, name)).signature.setting("generate")
        assert setting is not None
        assert setting.annotation is analyses()["head"].signature.setting("generate").annotation  # type: ignore[union-attr]


def test_an_encoder_writes_nothing() -> None:
    with pytest.raises(SettingsError, match="cannot continue a text; generate needs a decoder"):
        langscape.head(built(ENCODERS["bert"]), TEXT, **HEAD, tokenizer=tokenizer(), generate=2)


def test_a_text_that_is_none_is_refused_for_objects_too() -> None:
    with pytest.raises(SettingsError, match="the text is a list; give a str"):
        langscape.head(network(), [TEXT], **HEAD, tokenizer=tokenizer())  # type: ignore[arg-type]


def test_a_text_too_long_names_only_what_the_analysis_has() -> None:
    model = open_model(network(), tokenizer=tokenizer())
    with pytest.raises(TooLargeError) as refused:
        langscape.head(model, TEXT * 20, **HEAD, cut=False)
    assert "read its first 64 (first_tokens=64), or take its start (cut=True)" in str(refused.value)
    with speaking("command"):
        assert str(refused.value).endswith("read its first 64 (--first-tokens 64), or take its start (--cut)")
    assert "window" not in str(refused.value)
    found = langscape.head(model, TEXT * 20, **HEAD, **QUICK, first_tokens=30)
    assert len(found.capture.tokens) == 30
