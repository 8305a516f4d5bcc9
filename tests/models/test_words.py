from __future__ import annotations

import numpy as np
import pytest
from tests.models.families import DECODERS, PAIRS, built, tokenizer

from langscape.data import Capture, Tokens
from langscape.errors import DataError
from langscape.models import (
    Model,
    capture,
    drop_special,
    merge_characters,
    merge_words,
    open_model,
    token_texts,
    wrap_model,
)

TEXT = "the unbelievable lamps hung over unbelievables ."


def test_attention_is_summed_over_keys_and_averaged_over_queries(tiny: Model) -> None:
    captured = capture(tiny, TEXT)
    merged = merge_words(captured)
    assert merged.tokens.labels == (
        "[CLS]",
        "the",
        "unbelievable",
        "lamps",
        "hung",
        "over",
        "unbelievables",
        ".",
        "[SEP]",
    )
    groups = [[0], [1], [2, 3, 4], [5, 6], [7], [8], [9, 10, 11, 12], [13], [14]]
    A = captured["attention"]
    want = np.stack(
        [np.stack([A[..., q, :].mean(-2)[..., k].sum(-1) for k in groups], -1) for q in groups], -2
    )
    np.testing.assert_allclose(merged["attention"], want, atol=1e-6)
    np.testing.assert_allclose(merged["attention"].sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(merged["k"][:, :, 2], captured["k"][:, :, 2:5].mean(2), atol=1e-6)
    np.testing.assert_allclose(merged["hidden"][:, 6], captured["hidden"][:, 9:13].mean(1), atol=1e-6)
    assert merged.tokens.offsets.tolist()[2] == [4, 16]
    assert TEXT[4:16] == "unbelievable"
    assert merged.tokens.special.tolist() == [True, *[False] * 7, True]


def test_merging_twice_changes_nothing(tiny: Model) -> None:
    once = merge_words(capture(tiny, TEXT))
    twice = merge_words(once)
    assert twice.tokens.labels == once.tokens.labels
    np.testing.assert_array_equal(twice["attention"], once["attention"])


def test_special_tokens_can_be_dropped(tiny: Model) -> None:
    captured = capture(tiny, TEXT)
    dropped = drop_special(captured)
    assert list(dropped.tokens) == list(captured.tokens[1:-1])
    np.testing.assert_array_equal(dropped["attention"], captured["attention"][..., 1:-1, 1:-1])
    np.testing.assert_array_equal(dropped["hidden"], captured["hidden"][:, 1:-1])
    np.testing.assert_array_equal(dropped["v"], captured["v"][:, :, 1:-1])
    assert "rows of attention sum to less than 1" in dropped.notes[-1]
    asked = capture(tiny, TEXT, special="drop")
    np.testing.assert_array_equal(asked["attention"], dropped["attention"])
    assert drop_special(dropped) is dropped
    assert list(merge_words(dropped).tokens) == list(merge_words(captured).tokens[1:-1])


def test_both_sides_of_a_pair_are_merged() -> None:
    model = wrap_model(built(PAIRS["bart"]), tokenizer())
    captured = capture(model, TEXT, target="unbelievable boats")
    merged = merge_words(captured)
    assert merged["cross_attention"].shape[-2:] == (4, 9)
    assert list(merged.tokens_of("decoder")) == ["[SEP]", "[CLS]", "unbelievable", "boats"]
    np.testing.assert_allclose(merged["cross_attention"].sum(-1), 1, atol=1e-5)
    dropped = drop_special(merged)
    assert dropped["decoder_attention"].shape[-2:] == (2, 2)
    assert dropped["encoder_k"].shape[2] == 7
    assert dropped["cross_q"].shape[2] == 2


def test_ids_become_words_by_what_they_spell(tiny: Model) -> None:
    ids = capture(tiny, TEXT, want="hidden").tokens.ids.tolist()
    captured = capture(tiny, ids)
    assert merge_words(captured).tokens.labels == merge_words(capture(tiny, TEXT)).tokens.labels
    assert token_texts(captured)[0] == "[CLS]"


def test_generated_words_follow_the_text(tiny_decoder: Model) -> None:
    captured = capture(tiny_decoder, "the red lamp", generate=5)
    assert "".join(list(captured.tokens.texts)).startswith("theredlamp")
    ends = [end for _, end in captured.tokens.offsets.tolist()]
    assert ends[5:] == sorted(ends[5:])
    assert len(merge_words(captured).tokens) <= len(captured.tokens)


def test_a_tokenizer_that_does_not_cut_at_spaces_still_gives_words() -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    letters = {letter: i for i, letter in enumerate(" abcdefghijklmnopqrstuvwxyz")}
    whole = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE(letters, [])))
    model = wrap_model(built(DECODERS["gpt2"]), whole)
    captured = capture(model, "red lamp")
    assert list(captured.tokens) == list("red lamp")
    assert list(merge_words(captured).tokens) == ["red", "lamp"]


def test_captures_that_do_not_say_are_refused() -> None:
    bare = Capture(["a"], {"hidden": np.ones((1, 1, 2))}, {"hidden": ("layer", "token", "dim")})
    with pytest.raises(DataError, match="capture it again"):
        merge_words(bare)
    lone = Capture(Tokens(["[CLS]"], special=[True]), {}, {})
    with pytest.raises(DataError, match="every token of this capture is special"):
        drop_special(lone)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("東京は日本の首都です。", ["東", "京", "は", "日", "本", "の", "首", "都", "で", "す", "。"]),
        ("مرحبا بالعالم الجميل", ["مرحبا", "بالعالم", "الجميل"]),
        ("I 👩‍👩‍👧 love 🇳🇴 café!", ["I", "👩‍👩‍👧", "love", "🇳🇴", "café", "!"]),
        ("unbelievable 旅行 trip", ["unbelievable", "旅", "行", "trip"]),
        ("मैं ठीक हूँ", ["मैं", "ठीक", "हूँ"]),
    ],
)
def test_words_are_those_that_people_read_in_every_script(text: str, words: list[str], smollm: Model) -> None:
    seen = capture(smollm, text, "attention", layers=0)
    joined = merge_words(seen)
    assert list(joined.tokens.readable) == words
    np.testing.assert_allclose(joined["attention"].sum(-1), 1, atol=1e-5)


def test_pieces_of_a_character_are_joined_and_other_tokens_stay(smollm: Model) -> None:
    seen = capture(smollm, "The 東京 trip was unbelievable.", "attention", layers=0)
    assert "␣東‹1/3›東‹2/3›東‹3/3›" in "".join(seen.tokens.readable)
    joined = merge_characters(seen)
    assert "‹" not in "".join(joined.tokens.readable)
    assert joined.tokens.readable[:2] == ("The", "東")
    assert "␣trip" in joined.tokens.readable
    np.testing.assert_allclose(joined["attention"].sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(joined["attention"].sum((-1, -2)), len(joined.tokens), rtol=1e-5)
    with pytest.raises(DataError, match="where its tokens stand"):
        merge_characters(Capture(["a"], {}, {}))


@pytest.fixture(scope="module")
def smollm() -> Model:
    return open_model("decoder")
