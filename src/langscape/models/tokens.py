"""Text → tokens, exactly as the model's tokenizer splits it, and where each stands in the text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data import Tokens
from langscape.errors import DataError, SettingsError, TooLargeError, WayOut
from langscape.models.faults import first_line, is_fault

if TYPE_CHECKING:
    from langscape.models.model import Model

Long = Literal["error", "start", "window"]


@dataclass(frozen=True)
class TokenizedText:
    """A text or a window of it as the model reads it; every field has one entry per token.

    shown    the tokenizer's own tokens ("##ing", "Ġlamp"), and `texts` what they stand for
    special  whether it is [CLS], </s> or the like rather than text
    words    the number of its word, None for special tokens
    offsets  where it begins and ends in the text, in characters
    digest   sha256 of the whole text or of the token ids
    """

    ids: tuple[int, ...]
    shown: tuple[str, ...]
    texts: tuple[str, ...]
    special: tuple[bool, ...]
    words: tuple[int | None, ...]
    offsets: tuple[tuple[int, int], ...]
    digest: str
    window: tuple[int, int] | None = None
    generated: int = 0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def tokens(self) -> Tokens:
        """The tokens as a capture holds them."""
        known = {"special": self.special, "ids": self.ids, "offsets": self.offsets, "words": self.words}
        written = np.arange(len(self)) >= len(self) - self.generated
        return Tokens(self.shown, self.texts, **known, generated=written)


def split(
    model: Model,
    text: Any,
    long: Long = "error",
    overlap: int = 0,
    room: int = 0,
    first_tokens: int | None = None,
) -> list[TokenizedText]:
    """The tokens of a text or of token ids: one entry, or one per window of a text that is too long.

    `room` is kept free for tokens to be generated. Windows share `overlap` tokens with the one before. With
    long="start" the first window is all, and with first_tokens no more than so many are read.
    """
    if long not in ("error", "start", "window"):
        raise SettingsError(f'long {long!r} is not known; use "error", "start" or "window"')
    _check_first(first_tokens, long)
    whole = _of_text(model, text) if isinstance(text, str) else _of_ids(model, text)
    limit = None if model.longest is None else model.longest - room
    if limit is not None and limit < 1:
        raise SettingsError(
            f"{room} tokens to generate leave none of the {model.longest} that {model.name} takes"
        )
    if first_tokens is not None and (limit is None or first_tokens <= limit):
        long, limit = "start", first_tokens
    if limit is None or len(whole) <= limit:
        return [whole]
    if long == "error":
        raise TooLargeError(
            f"the text has {len(whole):,} tokens, but {model.name} takes {limit:,} at once"
            + (f" with {room} to generate" if room else ""),
            [
                WayOut(f"read its first {limit:,}", "first_tokens", limit, action=True),
                WayOut("cut it into windows", "long", "window", action=True),
            ],
            "shorten it",
        )
    around = 0 if not isinstance(text, str) else len(whole) - sum(not s for s in whole.special)
    if limit <= around:
        raise SettingsError(
            f"first_tokens {limit} leaves no room beside {around} special tokens; take at least {around + 1}"
        )
    if not 0 <= overlap < limit - around:
        raise SettingsError(f"overlap {overlap} does not fit windows of {limit - around} tokens; 0 is none")
    cut = (
        _text_windows(model, text, limit, overlap)
        if isinstance(text, str)
        else _id_windows(whole, limit, overlap)
    )
    if long == "start":
        note = f"the text has {len(whole):,} tokens, of which the first {len(cut[0]):,} were read"
        return [replace(cut[0], notes=(note,))]
    note = f"the text has {len(whole):,} tokens and was cut into {len(cut)} windows of at most {limit}"
    return [replace(tokens, window=(i, len(cut)), notes=(note,)) for i, tokens in enumerate(cut)]


def _check_first(first_tokens: int | None, long: Long) -> None:
    if first_tokens is None:
        return
    if not isinstance(first_tokens, int) or first_tokens < 1:
        raise SettingsError(f"first_tokens {first_tokens!r} is not possible; it is a whole number from 1")
    if long == "window":
        raise SettingsError('first_tokens is one window; leave long="window" out')


def extended(model: Model, tokens: TokenizedText, ids: Sequence[int]) -> TokenizedText:
    """The tokens with generated ones behind them; their texts follow the text's end."""
    if not ids:
        return tokens
    more = _pieces(model, [*tokens.ids[-1:], *ids])[1:]
    words = [word for word in tokens.words if word is not None]
    whole = (*tokens.ids, *ids)
    start = max((end for _, end in tokens.offsets), default=0)
    special = (*tokens.special, *_special(model, ids))
    texts = (*tokens.texts, *more)
    return replace(
        tokens,
        ids=whole,
        shown=(*tokens.shown, *_shown(model, ids)),
        texts=texts,
        special=special,
        words=(*tokens.words, *_words(texts, special, len(tokens), words[-1] if words else -1)),
        offsets=(*tokens.offsets, *_spans(more, start)),
        generated=len(ids),
    )


def _of_text(model: Model, text: str) -> TokenizedText:
    if model.tokenizer is None:
        raise DataError(
            f"{model.name} has no tokenizer; give its own, in Python as tokenizer=tokenizer, or token ids "
            "instead of text"
        )
    digest = _digest(text)
    if model.tokenizer.is_fast:
        tokens = _encoded(model, text, digest)[0]
    else:
        tokens = _of_ids(model, model.tokenizer(text, verbose=False)["input_ids"])
        tokens = replace(tokens, digest=digest)
    if all(tokens.special):
        reason = "is empty" if not text.strip() else "holds nothing the tokenizer knows"
        raise DataError(f"the text {reason}; give at least one word")
    return tokens


def _encoded(model: Model, text: str, digest: str, **windows: Any) -> list[TokenizedText]:
    with model.lock:  # a fast tokenizer keeps its truncation as state and refuses a second caller
        try:
            encoded = model.tokenizer(
                text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False, **windows
            )
        except BaseException as error:
            if not is_fault(error):
                raise
            raise DataError(
                f"the tokenizer of {model.name} cannot read the text: {first_line(error)}; "
                "its files may be damaged"
            ) from None
    marks = _marks(model)
    rows = []
    for one in encoded.encodings:
        ids = tuple(one.ids)
        if ids and max(ids) >= model.vocabulary:
            raise DataError(
                f"the tokenizer of {model.name} gives token id {max(ids)}, outside its vocabulary of 0 to "
                f"{model.vocabulary - 1}; tokenizer and weights are not of one model"
            )
        special = tuple(bool(a) or i in marks for a, i in zip(one.special_tokens_mask, ids, strict=True))
        offsets = tuple((int(a), int(b)) for a, b in one.offsets)
        texts = tuple(text[a:b] for a, b in offsets)
        words = tuple(None if s else word for s, word in zip(special, one.word_ids, strict=True))
        if len({word for word in words if word is not None}) < 2:  # it may not cut at spaces
            words = _words_by_spaces(text, offsets, special)
        words = words_as_read(text, offsets, words)
        rows.append(TokenizedText(ids, _shown(model, ids), texts, special, words, offsets, digest))
    return rows


def _of_ids(model: Model, given: Any) -> TokenizedText:
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.empty(0, object)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise DataError(
            f"{type(given).__name__} is neither a text nor a row of token ids; give a string, a list of "
            "strings, or whole numbers"
        )
    ids = tuple(int(i) for i in array)
    if min(ids) < 0 or max(ids) >= model.vocabulary:
        bad = next(i for i in ids if not 0 <= i < model.vocabulary)
        raise DataError(
            f"token id {bad} is outside the vocabulary of {model.name}, 0 to {model.vocabulary - 1}"
        )
    special = _special(model, ids)
    texts = tuple(_pieces(model, ids))
    digest = hashlib.sha256(np.asarray(ids, "<i8").tobytes()).hexdigest()
    return TokenizedText(
        ids, _shown(model, ids), texts, special, _words(texts, special), _spans(texts, 0), digest
    )


def _text_windows(model: Model, text: str, limit: int, overlap: int) -> list[TokenizedText]:
    if not model.tokenizer.is_fast:
        raise SettingsError(f"the tokenizer of {model.name} cannot cut windows; cut the text yourself")
    return _encoded(
        model,
        text,
        _digest(text),
        truncation=True,
        max_length=limit,
        stride=overlap,
        return_overflowing_tokens=True,
    )


def _id_windows(whole: TokenizedText, limit: int, overlap: int) -> list[TokenizedText]:
    starts = range(0, max(1, len(whole) - overlap), limit - overlap)
    fields = ("ids", "shown", "texts", "special", "words", "offsets")
    return [replace(whole, **{name: getattr(whole, name)[s : s + limit] for name in fields}) for s in starts]


def _shown(model: Model, ids: Sequence[int]) -> tuple[str, ...]:
    if model.tokenizer is None:
        return tuple(str(i) for i in ids)
    return tuple(str(token) for token in model.tokenizer.convert_ids_to_tokens(list(ids)))


def _special(model: Model, ids: Sequence[int]) -> tuple[bool, ...]:
    marks = _marks(model)
    return tuple(i in marks for i in ids)


def _marks(model: Model) -> set[int]:
    """Ids of special tokens; unknown and mask tokens stand for text, so they are not among them."""
    if model.tokenizer is None:
        return set()
    frame = {getattr(model.tokenizer, f"{name}_token_id") for name in ("bos", "eos", "cls", "sep", "pad")}
    text = {model.tokenizer.unk_token_id, model.tokenizer.mask_token_id} - frame
    return set(model.tokenizer.all_special_ids) - text


def _pieces(model: Model, ids: Sequence[int]) -> list[str]:
    """What each token adds to the text, read with the one before it: a space may belong to either."""
    if model.tokenizer is None:
        return [str(i) for i in ids]

    def read(some: Sequence[int]) -> str:
        return model.tokenizer.decode(list(some), clean_up_tokenization_spaces=False)

    pieces = [read(ids[:1])]
    for before, one in pairwise(ids):
        alone, both = read([before]), read([before, one])
        pieces.append(both[len(alone) :] if both.startswith(alone) else read([one]))
    return pieces


def _words(
    texts: Sequence[str], special: Sequence[bool], start: int = 0, last: int = -1
) -> tuple[int | None, ...]:
    """Word numbers from texts alone: a new word begins at a space and where letters meet other signs."""
    numbers: list[int | None] = []
    for i in range(start, len(texts)):
        if special[i]:
            numbers.append(None)
            continue
        before = texts[i - 1] if i else ""
        joined = bool(before) and not special[i - 1] and texts[i][:1].isalnum() and before[-1:].isalnum()
        last += 0 if joined and last >= 0 else 1
        numbers.append(last)
    return tuple(numbers)


def _words_by_spaces(
    text: str, offsets: Sequence[tuple[int, int]], special: Sequence[bool]
) -> tuple[int | None, ...]:
    numbers: list[int | None] = []
    last, end = -1, 0
    for (start, stop), mark in zip(offsets, special, strict=True):
        if mark:
            numbers.append(None)
            continue
        if last < 0 or text[start : start + 1].isspace() or any(c.isspace() for c in text[end:start]):
            last += 1
        numbers.append(last)
        end = stop
    return tuple(numbers)


_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Scripts that write no spaces: Thai, Lao, Burmese, Khmer, Japanese and Chinese."""


def words_as_read(
    text: str, offsets: Sequence[tuple[int, int]], words: Sequence[int | None]
) -> tuple[int | None, ...]:
    """Word numbers where scripts without spaces are cut at each character, and marks stay with their letter.

    Byte-level tokenizers take a Chinese sentence for one word, and cut the vowels of Hindi off.
    """
    numbers: list[int | None] = []
    last, end = -1, 0
    for at, ((start, stop), word) in enumerate(zip(offsets, words, strict=True)):
        if word is None:
            numbers.append(None)
            continue
        letter, first = text[start : start + 1], text[start:stop].lstrip()[:1]
        fresh = not at or words[at - 1] is None
        if start < end and not fresh:
            begins = False  # a piece of a character that began before
        elif (
            start == end
            and not fresh
            and (_is_mark(letter) or (_is_mark(text[end - 1]) and letter.isalpha()))
        ):
            begins = False
        else:
            begins = fresh or word != words[at - 1] or bool(_UNSPACED.match(first))
            begins = begins or bool(_UNSPACED.match(text[end - 1 : end]))
        last += begins
        numbers.append(last)
        end = max(end, stop)
    return tuple(numbers)


def _is_mark(letter: str) -> bool:
    return bool(letter) and unicodedata.category(letter).startswith("M")


def _spans(texts: Sequence[str], start: int) -> tuple[tuple[int, int], ...]:
    spans = []
    for text in texts:
        spans.append((start, start + len(text)))
        start += len(text)
    return tuple(spans)


def _digest(text: str) -> str:
    try:
        return hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise DataError(
            f"the text holds half a character (a lone surrogate) at {error.start}; read its file as UTF-8"
        ) from None
