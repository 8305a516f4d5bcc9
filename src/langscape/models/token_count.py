"""How a packaged model would cut a text into tokens, told without opening the model.

Only the tokenizer's own file is read, by the `tokenizers` library: no torch, so that a server's process can
answer while somebody types.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from langscape.errors import SettingsError
from langscape.models.packaged import CATALOG, model_path

MOST_NAMED = 5
"""Words that are named of those unknown or split up."""

MANY_PIECES = 4
"""Pieces from which on a word counts as split up: endings and rare names have two or three."""


@dataclass(frozen=True)
class TokenCount:
    """What a model would read of a text.

    tokens   of the text itself; `special` more are put around it
    most     tokens of the text that the model reads at once, None where there is no limit
    unknown  a few words that the vocabulary does not have; `unknown_tokens` is how many tokens are unknown
    split    a few words cut into four pieces or more; `split_words` is how many there are
    parts    where the text is too long: where each part that fits begins and ends, in characters
    """

    tokens: int
    special: int
    most: int | None
    unknown: tuple[str, ...]
    unknown_tokens: int
    split: tuple[str, ...]
    split_words: int
    parts: tuple[tuple[int, int], ...]


def can_count(model: str) -> bool:
    """Whether the tokens of a text can be counted for a model: a packaged one with a tokenizer, fetched."""
    return model in CATALOG and (CATALOG[model].path / "tokenizer.json").is_file()


def count_tokens(model: str, text: str) -> TokenCount:
    """What the packaged model of that name would read of the text.

    >>> from langscape.models import get_model
    >>> _ = get_model("default")
    >>> seen = count_tokens("default", "The boat lay by the bank.")
    >>> seen.tokens, seen.special, seen.most
    (7, 2, 510)
    """
    if not can_count(model):
        raise SettingsError(f"the tokens of {model!r} cannot be counted beforehand; it is no packaged model")
    tokenizer = _tokenizer(model_path(model) / "tokenizer.json")
    special = tokenizer.num_special_tokens_to_add(False)
    found = tokenizer.encode(text, add_special_tokens=False)
    longest = CATALOG[model].longest
    most = None if longest is None else longest - special
    unknown = _unknown(tokenizer, text, found)
    split = _split(text, found)
    return TokenCount(
        len(found.ids),
        special,
        most,
        tuple(word for word, _ in unknown.most_common(MOST_NAMED)),
        unknown.total(),
        tuple(word for word, _ in split.most_common(MOST_NAMED)),
        split.total(),
        _parts(found, most),
    )


@lru_cache(maxsize=4)
def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _unknown(tokenizer: Any, text: str, found: Any) -> Counter[str]:
    mark = getattr(tokenizer.model, "unk_token", None)
    id = None if mark is None else tokenizer.token_to_id(mark)
    spans = zip(found.ids, found.offsets, strict=True)
    return Counter(text[start:end] for one, (start, end) in spans if id is not None and one == id)


def _split(text: str, found: Any) -> Counter[str]:
    """Words of many pieces; a word is what the tokenizer cuts at spaces and marks."""
    pieces: dict[int, list[tuple[int, int]]] = {}
    for word, span in zip(found.word_ids, found.offsets, strict=True):
        if word is not None:
            pieces.setdefault(word, []).append(span)
    long = [spans for spans in pieces.values() if len(spans) >= MANY_PIECES]
    return Counter(text[spans[0][0] : spans[-1][1]].strip() for spans in long)


def _parts(found: Any, most: int | None) -> tuple[tuple[int, int], ...]:
    """Parts of at most so many tokens, cut between words; a word longer than a part is cut."""
    words, offsets = found.word_ids, found.offsets
    if most is None or len(offsets) <= most:
        return ()
    begins = [0]
    while begins[-1] + most < len(offsets):
        end = begins[-1] + most
        while end > begins[-1] and words[end] is not None and words[end] == words[end - 1]:
            end -= 1
        begins.append(end if end > begins[-1] else begins[-1] + most)
    ends = [*begins[1:], len(offsets)]
    return tuple((offsets[first][0], offsets[end - 1][1]) for first, end in zip(begins, ends, strict=True))
