"""Tokens as people read them."""

import pytest

from langscape.data import Tokens
from langscape.data.token_text import token_text


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


def test_special_tokens_keep_their_names():
    assert Tokens(["[CLS]", "Ġa", "</s>"], ["", " a", ""], [True, False, True]).readable == (
        "[CLS]",
        "␣a",
        "</s>",
    )
