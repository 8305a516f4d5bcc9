"""Lines of text to train on: some held out, and their words as one row of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.models.vocabulary import Vocabulary


def split_lines(lines: Sequence[Any], share: float, seed: int) -> tuple[list[Any], list[Any]]:
    """The lines to train on, and those held out: a seeded choice, both in their own order."""
    count = max(1, round(share * len(lines)))
    if len(lines) < 2:
        raise DataError("the corpus is one line, so none can be held out; put one sentence on a line")
    chosen = set(np.random.default_rng(seed).permutation(len(lines))[:count].tolist())
    train = [line for at, line in enumerate(lines) if at not in chosen]
    return train, [line for at, line in enumerate(lines) if at in chosen]


def encode_lines(lines: Iterable[str], known: Vocabulary) -> np.ndarray:
    """All lines as one row of word numbers, the start word before each, and once more at the end."""
    return encode_with_starts(lines, known)[0]


def encode_with_starts(lines: Iterable[str], known: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The same row, and where in it each line begins, with its start word."""
    start = [] if known.start is None else [known.number[known.start]]
    rows: list[int] = []
    begins: list[int] = []
    for line in lines:
        # a line that ends with the start word, as sentences end with a full stop, has said it already
        rows += start if not rows or rows[-1:] != start else ()
        begins.append(len(rows) - len(start))
        rows += known.encode(line)
    rows += start if rows[-1:] != start else []
    return np.asarray(rows, np.int64), np.asarray(begins, np.int64)
