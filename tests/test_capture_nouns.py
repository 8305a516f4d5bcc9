"""Tokens as a sequence and a table; a capture holds them for each side and refuses what does not fit."""

import pickle

import numpy as np
import pytest

from langscape.data import Capture, Tokens
from langscape.errors import DataError, SettingsError
from langscape.io.codec import differences

HEADS = ("layer", "head", "query", "key")


def pair() -> Capture:
    """An encoder–decoder over three tokens that wrote two."""
    arrays = {
        "encoder_attention": np.full((2, 1, 3, 3), 1 / 3),
        "decoder_attention": np.full((2, 1, 2, 2), 1 / 2),
        "cross_attention": np.full((2, 1, 2, 3), 1 / 3),
        "decoder_hidden": np.zeros((1, 2, 4)),
    }
    axes = {name: HEADS if name.endswith("attention") else ("layer", "token", "dim") for name in arrays}
    metadata = {"layers": {"cross_attention": [4, 6]}}
    return Capture(["the", "cat", "</s>"], arrays, axes, metadata, decoder_tokens=["le", "chat"])


def test_tokens_are_a_sequence_of_their_labels():
    tokens = Tokens(["[CLS]", "un", "##seen"], ["", "un", "seen"], special=[True, False, False])
    assert (len(tokens), tokens[1], tokens[-1], list(tokens)) == (
        3,
        "un",
        "##seen",
        ["[CLS]", "un", "##seen"],
    )
    assert "un" in tokens
    assert tokens.index("##seen") == 2
    assert tokens.shown == ("[CLS]", "un", "seen")
    assert tokens[1:].texts == ("un", "seen")


def test_rows_are_taken_from_every_column_in_the_order_given():
    tokens = Tokens(
        "abcd", "ABCD", [True, False, False, True], [0, 0, 1, 1], [9, 8, 7, 6],
        [[0, 1], [1, 2], [2, 3], [3, 4]], [None, 0, 0, None], ["special", "noun", "verb", "special"],
        "encoder",
    )  # fmt: skip
    kept = tokens.take([2, 0])
    assert (list(kept), kept.texts, kept.words, kept.side) == (["c", "a"], ("C", "A"), (0, None), "encoder")
    assert (kept.special.tolist(), kept.sentence.tolist(), kept.ids.tolist()) == (
        [False, True],
        [1, 0],
        [7, 9],
    )
    assert kept.offsets.tolist() == [[2, 3], [0, 1]]
    assert kept.parts_of_speech == ("verb", "special")
    assert len(tokens.take([])) == 0
    assert differences(tokens, pickle.loads(pickle.dumps(tokens))) == []


def test_what_is_not_said_of_tokens_is_nothing_special():
    tokens = Tokens(["a", "b"])
    assert tokens.texts == ("a", "b")
    assert not tokens.special.any()
    assert tokens.sentence.tolist() == [0, 0]
    assert (tokens.ids, tokens.offsets, tokens.words, tokens.side) == (None, None, None, None)
    with pytest.raises(DataError, match="these tokens have no ids"):
        tokens.require_ids()
    with pytest.raises(ValueError, match="read-only"):
        tokens.special[0] = True


def test_positions_begin_anew_with_every_sentence():
    parts = [Tokens("ab", ids=[1, 2]), Tokens("cde", ids=[3, 4, 5]), Tokens("f", ids=[6])]
    joined = Tokens.joined(parts)
    assert joined.sentence.tolist() == [0, 0, 1, 1, 1, 2]
    assert joined.positions.tolist() == [0, 1, 0, 1, 2, 0]
    assert joined.ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert joined.words is None
    assert Tokens([]).positions.tolist() == []


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ids": [1]}, r"ids has shape \(1,\), but there are 2 tokens"),
        ({"special": [True] * 3}, "special has shape"),
        ({"texts": ["a"]}, "texts has shape"),
        ({"words": [None]}, "words has shape"),
        ({"offsets": [1, 2]}, "offsets has shape"),
        ({"ids": [0.5, 1.5]}, "ids of tokens must be whole numbers"),
        ({"ids": [[1], [2, 3]]}, "ids of tokens must be whole numbers"),
        ({"special": ["yes", "no"]}, "special of tokens must be truth values"),
        ({"side": "left"}, "side 'left' is not known"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, said):
    with pytest.raises(DataError, match=said):
        Tokens(["a", "b"], **columns)


def test_each_side_has_its_tokens_and_its_attention():
    capture = pair()
    assert [capture.tokens.side, capture.tokens_of("decoder").side] == ["encoder", "decoder"]
    assert capture.attention().name == capture.attention("encoder").name == "encoder_attention"
    own, cross = capture.attention("decoder"), capture.attention("cross")
    assert own.queries is own.keys is capture.decoder_tokens
    assert (list(cross.queries), list(cross.keys)) == (["le", "chat"], ["the", "cat", "</s>"])
    assert (cross.layers, cross.heads) == ((4, 6), (0,))
    assert cross.one(6, 0).shape == (2, 3)
    with pytest.raises(SettingsError, match="layer 0 is not there; this capture has layers 4, 6"):
        cross.one(0, 0)
    assert capture.name_of("hidden") == "decoder_hidden"


def test_a_model_of_one_side_has_no_other():
    capture = Capture("ab", {"attention": np.full((1, 1, 2, 2), 0.5)}, {"attention": HEADS})
    assert capture.attention().queries is capture.tokens_of() is capture.tokens
    for asked in (capture.attention, capture.tokens_of):
        with pytest.raises(SettingsError, match="side decoder is for encoder–decoders; this model has one"):
            asked("decoder")
    with pytest.raises(DataError, match="holds encoder_attention, but not 'decoder_attention'"):
        pair().only("encoder_attention").attention("decoder")
    with pytest.raises(DataError, match="holds nothing, but not 'attention'"):
        Capture("ab", {}, {}).attention()


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("encoder_attention", (1, 1, 3, 2), "2 along 'key', but there are 3 tokens of the encoder"),
        ("decoder_attention", (1, 1, 3, 2), "3 along 'query', but there are 2 tokens of the decoder"),
        ("cross_attention", (1, 1, 3, 3), "3 along 'query', but there are 2 tokens of the decoder"),
        ("cross_attention", (1, 1, 2, 2), "2 along 'key', but there are 3 tokens of the encoder"),
        ("cross_attention", (1, 2, 3), "has 3 axes but"),
    ],
)
def test_arrays_that_do_not_fit_the_tokens_of_their_side_are_refused(name, shape, said):
    with pytest.raises(DataError, match=said):
        pair().but(arrays={name: np.zeros(shape)}, axes={name: HEADS})


def test_an_array_of_a_decoder_needs_its_tokens():
    with pytest.raises(DataError, match="is of a decoder, whose tokens are missing; give decoder_tokens"):
        Capture("ab", {"decoder_attention": np.zeros((1, 1, 2, 2))}, {"decoder_attention": HEADS})


def test_layers_must_be_numbered_one_by_one():
    capture = pair().but(metadata={"layers": {"cross_attention": [4]}})
    with pytest.raises(DataError, match="holds 2 layers, but 1 are numbered"):
        capture.attention("cross")
