"""What the array files share: which arrays are meant, and rows handed over block by block."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from langscape.errors import FileError
from langscape.sources.formats import KNOWN
from langscape.sources.gather import Gather

MATRIX_NAMES = ("vectors", "matrix", "embeddings", "embedding", "weight", "means")
WORD_NAMES = ("words", "labels", "vocab", "tokens", "keys")
BLOCK_BYTES = 8 << 20
Held = TypeVar("Held")


class Rows(Protocol):
    """An array in a file."""

    shape: tuple[int, ...]

    def blocks(self, limit: int | None = None) -> Iterator[np.ndarray]:
        """The rows in order, some megabytes at a time."""
        ...

    def rows(self, chosen: np.ndarray) -> np.ndarray | None:
        """Chosen rows without touching the others; None where the file does not allow it."""
        ...


def send(gather: Gather, words: Iterator[list[str]], matrix: Rows) -> None:
    """Hand over the rows, or the chosen ones; words come in blocks of their own size."""
    if gather.keys is None:
        _send_all(gather, words, matrix)
        return
    numbers, names, at = [], [], 0
    for block in words:
        for row, word in enumerate(block, at):
            if word.encode("utf-8", "surrogatepass") in gather.keys:
                numbers.append(row)
                names.append(word)
        at += len(block)
    _same_length(gather, at, matrix.shape[0])
    kept = len(numbers) if gather.limit is None else bisect.bisect_left(numbers, gather.limit)
    names, wanted = names[:kept], np.asarray(numbers[:kept], np.intp)
    chosen = matrix.rows(wanted)
    if chosen is not None:
        gather.add(names, chosen)
        return
    at = 0
    for block in matrix.blocks(gather.limit):
        lo, hi = np.searchsorted(wanted, [at, at + len(block)])
        gather.add(names[lo:hi], block[wanted[lo:hi] - at])
        at += len(block)


def _send_all(gather: Gather, words: Iterator[list[str]], matrix: Rows) -> None:
    pending: list[str] = []
    sent, rows = 0, matrix.shape[0]
    for block in matrix.blocks(gather.limit):
        while len(pending) < len(block):
            more = next(words, None)
            if more is None:
                _same_length(gather, sent + len(pending), rows)
            pending += more or []
        gather.add(pending[: len(block)], block)
        pending, sent = pending[len(block) :], sent + len(block)
        gather.tell(sent, rows)
    if gather.limit is None:
        _same_length(gather, sent + len(pending) + sum(map(len, words)), rows)


def pick(path: Path, found: Mapping[str, Held], names: tuple[str, ...], what: str) -> Held:
    """The array that is meant: by its name, or because there is no other."""
    for name in names:
        if name in found:
            return found[name]
    if len(found) == 1:
        return next(iter(found.values()))
    known = ", ".join(sorted(found)) or "none"
    raise FileError(
        f"{path} must hold one {what}, or one named {names[0]!r}; it holds {known}. langscape reads {KNOWN}"
    )


def _same_length(gather: Gather, words: int, rows: int) -> None:
    if words != rows:
        raise FileError(
            f"{gather.path} holds {words:,} words for {rows:,} vectors; there must be one word per vector"
        )
