"""A corpus as lines of text: reading it, holding some out, and its words as one row of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langscape.errors import DataError, FileError
from langscape.models.vocabulary import Vocabulary


def read_corpus(path: str | Path) -> list[str]:
    """The lines of a text file, or of every .txt file of a folder in the order of names; no empty ones."""
    path = Path(path)
    files = sorted(path.rglob("*.txt")) if path.is_dir() else [path]
    if not files:
        raise FileError(f"{path} holds no .txt file; give a text file, or a folder of them")
    lines: list[str] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise FileError(f"{file} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise FileError(f"{file} is not UTF-8 text, at byte {error.start}; save it as UTF-8") from None
        lines += [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise FileError(f"{path} holds no text; give a file with words in it")
    return lines


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
    start = [] if known.start is None else [known.number[known.start]]
    rows: list[int] = []
    for line in lines:
        # a line that ends with the start word, as sentences end with a full stop, has said it already
        rows += [*(start if not rows or rows[-1:] != start else ()), *known.encode(line)]
    rows += start if rows[-1:] != start else []
    return np.asarray(rows, np.int64)
