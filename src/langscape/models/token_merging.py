"""Other grains of a capture: sub-words merged into words, special tokens left out. Needs no torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from langscape.data import TOKEN_AXES, Capture, Tokens
from langscape.errors import DataError


def merge_words(capture: Capture) -> Capture:
    """The capture with one row per word: attention is summed over keys and averaged over queries.

    So every row of attention still sums to 1. Hidden states, q, k, v and logits are averaged.
    Special tokens stay as they are; a word of several tokens has no id of its own.

    >>> tokens = Tokens(["un", "##seen", "lamp"], ["un", "seen", "lamp"], words=[0, 0, 1])
    >>> A = np.array([[0.2, 0.4, 0.4], [0.4, 0.4, 0.2], [0.5, 0.5, 0.0]])[None, None]
    >>> axes = {"attention": ("layer", "head", "query", "key")}
    >>> words = merge_words(Capture(tokens, {"attention": A}, axes))
    >>> words.tokens, words["attention"].round(2).tolist()
    (Tokens(['unseen', 'lamp']), [[[[0.7, 0.3], [1.0, 0.0]]]])
    """

    return _joined_at(capture, _word_starts, "words")


def merge_characters(capture: Capture) -> Capture:
    """The capture with the pieces of one character joined, as `merge_words` joins those of a word.

    Byte-level tokenizers cut characters that they do not know into bytes; other tokens stay as they are.

    >>> tokens = Tokens(["æĹ", "¥", "本"], ["日", "日", "本"], offsets=[[0, 1], [0, 1], [1, 2]])
    >>> axes = {"attention": ("layer", "head", "query", "key")}
    >>> merge_characters(Capture(tokens, {"attention": np.eye(3)[None, None]}, axes)).tokens
    Tokens(['日', '本'])
    """
    return _joined_at(capture, _character_starts, "characters")


def _joined_at(capture: Capture, starts: Callable[[Tokens], np.ndarray], grain: str) -> Capture:
    def merged(array: np.ndarray, tokens: Tokens, place: int, summed: bool) -> np.ndarray:
        return _merged(array, starts(tokens), place, mean=not summed)

    whole = grain == "words"
    result = _regrained(capture, lambda tokens: _merged_tokens(tokens, starts(tokens), whole), merged)
    return result.but(metadata={**capture.metadata, "merged": grain})


def drop_special(capture: Capture) -> Capture:
    """The capture without the rows and columns of special tokens.

    Weights stay as they were, so rows of attention no longer sum to 1: what is missing went to
    special tokens.
    """
    if any("step" in axes for axes in capture.axes.values()):
        raise DataError('each step of an LSTM hangs on the one before; capture it with special="drop"')
    if capture.tokens.special.all():
        raise DataError("every token of this capture is special; nothing would be left")
    sides = [capture.tokens, *([] if capture.decoder_tokens is None else [capture.decoder_tokens])]
    if not any(side.special.any() for side in sides):
        return capture
    dropped = _regrained(
        capture,
        lambda tokens: tokens.take(np.flatnonzero(~tokens.special)),
        lambda array, tokens, place, summed: np.compress(~tokens.special, array, axis=place),
    )
    note = "special tokens were left out, so rows of attention sum to less than 1"
    return dropped.but(notes=(*capture.notes, note))


def token_texts(capture: Capture) -> list[str]:
    """What each token stands for in the text; special tokens as they are called."""
    return list(capture.tokens.shown)


def _regrained(
    capture: Capture,
    tokens: Callable[[Tokens], Tokens],
    values: Callable[[np.ndarray, Tokens, int, bool], np.ndarray],
) -> Capture:
    """The capture with other tokens, and its arrays likewise along every axis that runs over tokens."""
    if "rows" in capture.metadata or any("rank" in axes for axes in capture.axes.values()):
        raise DataError("this capture holds a part of the attention; capture it without rows and strongest")
    arrays = {}
    for name, array in capture.arrays.items():
        for place, axis in enumerate(capture.axes[name]):
            if axis in TOKEN_AXES:
                summed = axis == "key" and name.endswith("attention")
                array = values(array, capture.tokens_along(name, axis), place, summed)
        arrays[name] = array
    side = capture.decoder_tokens
    decoder_tokens = None if side is None else tokens(side)
    return capture.but(tokens=tokens(capture.tokens), arrays=arrays, decoder_tokens=decoder_tokens)


def _word_starts(tokens: Tokens) -> np.ndarray:
    words = tokens.words
    if words is None:
        raise DataError("this capture does not say which tokens form words; capture it again")
    first = [i for i in range(len(words)) if i == 0 or words[i] is None or words[i] != words[i - 1]]
    return np.asarray(first, np.intp)


def _character_starts(tokens: Tokens) -> np.ndarray:
    if tokens.offsets is None:
        raise DataError("this capture does not say where its tokens stand in the text; capture it again")
    begins, ends = tokens.offsets[:, 0], tokens.offsets[:, 1]
    within = (begins[1:] < ends[:-1]) & ~tokens.special[1:] & ~tokens.special[:-1]
    return np.flatnonzero(np.append(True, ~within)[: len(tokens)])


def _merged(array: np.ndarray, starts: np.ndarray, axis: int, mean: bool) -> np.ndarray:
    total = np.add.reduceat(array, starts, axis=axis)
    if mean:
        counts = np.diff(np.append(starts, array.shape[axis])).astype(array.dtype)
        total /= counts.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return total


def _merged_tokens(tokens: Tokens, starts: np.ndarray, words: bool) -> Tokens:
    """One token for each start; a single one keeps its own label, unless words are made."""
    labels, texts, offsets = [], [], []
    for begin, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        text, last = tokens.text_between(begin, end)
        single = end == begin + 1
        texts.append(text)
        own = single and (tokens.special[begin] or not words)
        labels.append(tokens[begin] if own else text.strip() or text)
        if tokens.offsets is not None:
            offsets.append((tokens.offsets[begin, 0], last))
    kept = tokens.take(starts)
    known = None if tokens.offsets is None else offsets
    return kept.but(labels=labels, texts=texts, offsets=known, ids=None)
