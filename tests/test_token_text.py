"""Tokens as people read them."""

import pytest

from langscape.data import Tokens
from langscape.data.token_text import joined_text, readable_tokens, token_text


@pytest.mark.parametrize(
    ("label", "text", "reads"),
    [
        ("Ġbetter", " better", "␣better"),
        ("Ġbetter", "better", "␣better"),
        ("▁better", "better", "␣better"),
        ("bet", "bet", "bet"),
        ("##ter", "ter", "##ter"),
        ("the", "The", "The"),
        ("cafe", "café", "café"),
        ("unseen", " unseen", "unseen"),  # a word put together from pieces
        ("Ċ", "Ċ", "⏎"),
        ("Ċ", "\n", "⏎"),
        ("ĠĠ", "  ", "␣␣"),
        ("ĉ", "\t", "⇥"),
        ("▁", "", "␣"),
        ("âĢĻ", "’", "’"),
        ("ĠÃ©t", "ét", "␣ét"),
        ("é", "é", "é"),
        ("ö", "Ö", "Ö"),
        ("lamp", None, "lamp"),
        ("[UNK]", "日", "[UNK]"),
        ("<mask>", "", "<mask>"),
        ("<b>", "<b>", "<b>"),
    ],
)
def test_a_token_reads_as_its_text_with_signs_for_what_is_not_seen(label, text, reads):
    assert token_text(label, text) == reads


def test_pieces_of_a_character_are_bytes_and_not_the_character_again():
    whole = "日"
    for pieces in (("æĹ", "¥"), ("<0xE6>", "<0x97>", "<0xA5>")):
        read = "".join(token_text(piece, whole) for piece in pieces)
        assert read.replace("›‹", " ") == "‹E6 97 A5›"
    assert token_text("ĠæĹ", whole) == "␣‹E6 97›"
    assert token_text("æĹ¥", whole) == whole


@pytest.mark.parametrize(
    ("labels", "reads"),
    [
        (("æĹ", "¥", "æľ¬"), ("日‹1/2›", "日‹2/2›", "本")),
        (("<0xE6>", "<0x97>", "<0xA5>"), ("日‹1/3›", "日‹2/3›", "日‹3/3›")),
        (("ĠÙ", "Ĭ", "Ø§"), ("␣ي\u200e‹1/2›", "ي\u200e‹2/2›", "ا")),
        (("ðŁ", "ĳ", "©"), ("👩‹1/3›", "👩‹2/3›", "👩‹3/3›")),
        # a piece that ends one character and begins the next
        (("æĹ", "¥æľ", "¬"), ("日‹1/3›", "日本‹2/3›", "本‹3/3›")),
        # what is never whole stays bytes
        (("æĹ", "Ġok"), ("‹E6 97›", "␣ok")),
        (("æĹ", "[SEP]"), ("‹E6 97›", "[SEP]")),
        (("lamp", "light"), ("lamp", "light")),
    ],
)
def test_pieces_of_a_character_in_a_row_read_as_that_character_with_their_numbers(labels, reads):
    special = [label == "[SEP]" for label in labels]
    assert readable_tokens(labels, [None] * len(labels), special) == reads


def test_running_text_has_every_character_once():
    tokens = readable_tokens(("æĹ", "¥æľ", "¬", "Ġok"), [None] * 4, [False] * 4)
    assert joined_text(tokens) == "日本 ok"
    assert joined_text(tokens, {1: ("[", "]")}) == "日[本] ok"


def test_a_piece_whose_other_half_is_left_out_is_not_made_whole():
    labels, texts = ("æĹ", "¥"), [None] * 2
    assert readable_tokens(labels, texts, [False] * 2, [4, 5]) == ("日‹1/2›", "日‹2/2›")
    assert readable_tokens(labels, texts, [False] * 2, [4, 6]) == ("‹E6 97›", "‹A5›")


def test_signs_that_are_not_seen_are_named():
    assert token_text("âĢį", "\u200d") == "‹U+200D›"


def test_special_tokens_keep_their_names():
    assert Tokens(["[CLS]", "Ġa", "</s>"], ["", " a", ""], [True, False, True]).readable == (
        "[CLS]",
        "␣a",
        "</s>",
    )
