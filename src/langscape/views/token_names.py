"""Tokens as all views write them, and their raw labels for who points at one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from langscape.data import Items, Tokens
from langscape.data.token_text import readable_tokens
from langscape.views.function_words import is_function_word

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


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


def numbered(names: Sequence[str]) -> list[str]:
    """Tokens of a text in its order; those that stand there several times bear their number, raised.

    Case and the space before are not counted as differences. Signs, pieces that go on with a word and
    function words, of which a text is full, stay as they are.

    >>> numbered(["The", "bank", "of", "the", "Bank", ",", ","])
    ['The', 'bank¹', 'of', 'the', 'Bank²', ',', ',']
    """
    words = [name.strip("␣").casefold() for name in names]
    often, seen, found = Counter(words), Counter(), []
    for name, word in zip(names, words, strict=True):
        seen[word] += 1
        told = often[word] > 1 and word[:1].isalnum() and not is_function_word(word)
        found.append(name + str(seen[word]).translate(_RAISED) if told else name)
    return found


def numbered_items(items: Items, tokens: Tokens | None = None) -> list[str] | None:
    """Names of a map's tokens with their numbers; None where items are no tokens, or all differ.

    tokens are those of the whole text, where the map leaves some out: a token has one number on all maps.
    """
    shown, columns = item_names(items), items.columns
    if not {"position", "special", "text"} <= set(columns):
        return None
    if tokens is not None:
        told = numbered(tokens.readable)
        names = [told[int(at)] for at in columns["position"]]
    else:
        names = numbered(shown)
    return names if names != shown else None


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
