"""Other grains of a capture: sub-words merged into words, special tokens left out. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from langscape.data import Capture
from langscape.errors import DataError

_TOKEN_AXES = ("token", "query", "key")


def merge_words(capture: Capture) -> Capture:
    """The capture with one row per word: attention is summed over keys and averaged over queries.

    So every row of attention still sums to 1. Hidden states, q, k, v and logits are averaged.
    Special tokens stay as they are.

    >>> told = {"special": [False] * 3, "words": [0, 0, 1], "texts": ["un", "seen", "lamp"]}
    >>> told["offsets"] = [[0, 2], [2, 6], [7, 11]]
    >>> A = np.array([[0.2, 0.4, 0.4], [0.4, 0.4, 0.2], [0.5, 0.5, 0.0]])[None, None]
    >>> axes = {"attention": ("layer", "head", "query", "key")}
    >>> words = merge_words(Capture(("un", "##seen", "lamp"), {"attention": A}, axes, told))
    >>> words.tokens, words["attention"].round(2).tolist()
    (('unseen', 'lamp'), [[[[0.7, 0.3], [1.0, 0.0]]]])
    """
    sides = {side: _word_starts(about) for side, about in _sides(capture).items()}
    arrays = {}
    for name, array in capture.arrays.items():
        for place, axis in enumerate(capture.axes[name]):
            if axis in _TOKEN_AXES:
                starts = sides[_side(name, axis)]
                mean = not (axis == "key" and name.endswith("attention"))
                array = _merged(array, starts, place, mean)
        arrays[name] = array
    tokens, made = _retold(capture, {side: _merged_about for side in sides}, sides)
    return Capture(tokens, arrays, capture.axes, {**_without_ids(made), "merged": "words"}, capture.notes)


def drop_special(capture: Capture) -> Capture:
    """The capture without the rows and columns of special tokens.

    Weights stay as they were, so rows of attention no longer sum to 1: what is missing went to
    special tokens.
    """
    sides = {
        side: np.flatnonzero(~np.asarray(about["special"], bool)) for side, about in _sides(capture).items()
    }
    for side, kept in sides.items():
        if not len(kept) and side == "source":
            raise DataError("every token of this capture is special; nothing would be left")
    if all(len(kept) == len(_sides(capture)[side]["special"]) for side, kept in sides.items()):
        return capture
    arrays = {}
    for name, array in capture.arrays.items():
        for place, axis in enumerate(capture.axes[name]):
            if axis in _TOKEN_AXES:
                array = np.take(array, sides[_side(name, axis)], axis=place)
        arrays[name] = array
    tokens, made = _retold(capture, {side: _kept_about for side in sides}, sides)
    note = "special tokens were left out, so rows of attention sum to less than 1"
    return Capture(tokens, arrays, capture.axes, made, (*capture.notes, note))


def token_texts(capture: Capture) -> list[str]:
    """What each token stands for in the text; special tokens as they are called."""
    texts = capture.made.get("texts", capture.tokens)
    return [text if text.strip() else token for text, token in zip(texts, capture.tokens, strict=True)]


def _side(name: str, axis: str) -> str:
    """Which side of an encoder–decoder an axis runs over; there is one side elsewhere."""
    if name.startswith("decoder_") or (name.startswith("cross_") and axis == "query"):
        return "target"
    return "source"


def _sides(capture: Capture) -> dict[str, Mapping[str, Any]]:
    if "special" not in capture.made or "words" not in capture.made:
        raise DataError("this capture does not say which tokens are special or form words; capture it again")
    sides: dict[str, Mapping[str, Any]] = {"source": {**capture.made, "tokens": capture.tokens}}
    if "target" in capture.made:
        sides["target"] = capture.made["target"]
    return sides


def _word_starts(about: Mapping[str, Any]) -> np.ndarray:
    words = about["words"]
    first = [i for i in range(len(words)) if i == 0 or words[i] is None or words[i] != words[i - 1]]
    return np.asarray(first, np.intp)


def _merged(array: np.ndarray, starts: np.ndarray, axis: int, mean: bool) -> np.ndarray:
    total = np.add.reduceat(array, starts, axis=axis)
    if mean:
        counts = np.diff(np.append(starts, array.shape[axis])).astype(array.dtype)
        total /= counts.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return total


def _retold(
    capture: Capture, how: Mapping[str, Any], rows: Mapping[str, np.ndarray]
) -> tuple[list[str], dict]:
    made = dict(capture.made)
    tokens = list(capture.tokens)
    for side, about in _sides(capture).items():
        told = how[side](about, rows[side])
        if side == "source":
            tokens = told.pop("tokens")
            made |= told
        else:
            made["target"] = {**about, **told}
    return tokens, made


def _without_ids(made: dict[str, Any]) -> dict[str, Any]:
    """A word of several tokens has no id of its own."""
    kept = {name: value for name, value in made.items() if name != "ids"}
    if "target" in kept:
        kept["target"] = {name: value for name, value in kept["target"].items() if name != "ids"}
    return kept


def _kept_about(about: Mapping[str, Any], kept: np.ndarray) -> dict[str, Any]:
    named = ("tokens", "ids", "texts", "special", "words", "offsets")
    return {name: [about[name][i] for i in kept] for name in named if name in about}


def _merged_about(about: Mapping[str, Any], starts: np.ndarray) -> dict[str, Any]:
    tokens, texts, special, words, offsets = [], [], [], [], []
    ends = [*starts[1:], len(about["words"])]
    for begin, end in zip(starts, ends, strict=True):
        text, last = "", about["offsets"][begin][0]
        for i in range(begin, end):  # pieces of one character share its place in the text
            start, stop = about["offsets"][i]
            text += about["texts"][i][max(0, last - start) :] if stop > start else about["texts"][i]
            last = max(last, stop)
        single = end == begin + 1
        texts.append(text)
        tokens.append(about["tokens"][begin] if single and about["special"][begin] else text.strip() or text)
        special.append(about["special"][begin])
        words.append(about["words"][begin])
        offsets.append([about["offsets"][begin][0], last])
    return {
        "tokens": tokens,
        "texts": texts,
        "special": special,
        "words": words,
        "offsets": offsets,
    }
