"""Tokens as all views write them, and their raw labels for who points at one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langscape.data import Items, Tokens
from langscape.data.token_text import readable_tokens


def item_names(items: Items) -> list[str]:
    """What items are called on a picture: tokens as people read them, others by their labels.

    Tokens are known by their columns position, special and text.
    """
    columns = items.columns
    if not {"position", "special", "text"} <= set(columns):
        return list(items.labels)
    texts = [None if text is None else str(text) for text in columns["text"].tolist()]
    special = [one is True for one in columns["special"].tolist()]
    return list(readable_tokens(items.labels, texts, special, columns["position"].tolist()))


def cut_words(tokens: Tokens) -> list[dict[str, Any]]:
    """The words that the tokenizer cut, as pages join them on demand: their tokens, and the word."""
    return [{"tokens": list(range(begin, end)), "text": text} for begin, end, text in tokens.cut_words]


def cut_words_of(items: Items, tokens: Tokens) -> list[dict[str, Any]]:
    """The cut words of which a map of tokens shows more than one piece, by the rows of the map."""
    rows = {int(at): row for row, at in enumerate(items.columns["position"])}
    found = [
        {"tokens": [rows[at] for at in word["tokens"] if at in rows], "text": word["text"]}
        for word in cut_words(tokens)
    ]
    return [word for word in found if len(word["tokens"]) > 1]


def raw_names(readable: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """The tokenizer's own label of every token that is written otherwise."""
    return {name: label for name, label in zip(readable, labels, strict=True) if name != label}
