"""Word2vec's binary form: a header line, then per row a word, a space, and the numbers as float32.

Rows differ in length by their words, so the file is walked from word to word; that costs one
search and one look-up a row, and only the rows that are wanted are copied.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from langscape.errors import FileError
from langscape.sources.formats import header_of
from langscape.sources.gather import Gather
from langscape.sources.stream import PIECE, Stream

_LONGEST_WORD = 4096
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def read(path: Path, gather: Gather) -> None:
    """Hand the rows of a word2vec binary file to `gather`."""
    with Stream(path) as stream:
        opening = stream.read(PIECE)
        header = header_of(opening)
        if header is None:
            raise FileError(
                f"{path}: the first line of a word2vec binary file gives rows and dimension; this has none"
            )
        rows, dim, start = header
        check_header(path, rows, dim, least_row=4 * dim + 1, room=stream.most - start)
        gather.expect(rows, dim)
        _Walk(stream, gather, rows, dim).run(opening[start:], start)


def check_header(path: Path, rows: int, dim: int, *, least_row: int, room: int) -> None:
    """Refuse a header whose sizes cannot be true of the file, before any memory is taken."""
    if rows < 1 or dim < 1:
        raise FileError(
            f"{path}, line 1: the header promises {rows} rows of {dim} numbers; both must be 1 or more"
        )
    if rows * least_row > room:
        raise FileError(
            f"{path}, line 1: the header promises {rows:,} rows of {dim:,} numbers, which take "
            f"at least {rows * least_row:,} bytes, but only {room:,} can follow; the file is cut short, "
            "or its header lies"
        )


class _Walk:
    """One walk over the rows of a file."""

    def __init__(self, stream: Stream, gather: Gather, rows: int, dim: int) -> None:
        self.stream, self.gather, self.path = stream, gather, stream.path
        self.promised, self.dim, self.row_bytes = rows, dim, 4 * dim
        self.rows = rows if gather.limit is None else min(rows, gather.limit)
        self.seen = 0
        self.odd = 0

    def run(self, piece: bytes, start: int) -> None:
        """Walk to the last row; `piece` is what was read, and begins at byte `start`."""
        used = 0
        while self.seen < self.rows:
            used = self._walk(piece, start)
            self._doubt(start)
            self.gather.tell(self.stream.position, self.stream.size)
            if self.seen == self.rows:
                break
            start, more = start + used, self.stream.read(PIECE)
            if not more:
                raise FileError(
                    f"{self.path} is cut short: row {self.seen + 1:,} of {self.promised:,} begins at byte "
                    f"{start:,} and does not end; fetch the file again"
                )
            piece = piece[used:] + more
        if self.seen == self.promised:
            beyond = len(piece[used:].strip(b"\n")) or len(self.stream.read(PIECE).strip(b"\n"))
            if beyond:
                self.gather.notes.append(
                    f"the file goes on after the {self.promised:,} rows its header promises"
                )

    def _walk(self, piece: bytes, start: int) -> int:
        """Take the whole rows of a piece; how many bytes they took."""
        find, keys, width, length = piece.find, self.gather.keys, self.row_bytes, len(piece)
        raws: list[bytes] = []
        begins: list[int] = []
        numbers: list[int] = []
        at, left, control = 0, self.rows - self.seen, _CONTROL.search
        while left:
            space = find(b" ", at, at + _LONGEST_WORD)
            if space < 0 or space + 1 + width > length:
                if space < 0 and length - at >= _LONGEST_WORD:
                    raise FileError(
                        f"{self.path}: no word ends within {_LONGEST_WORD} bytes of byte {start + at:,} "
                        f"(row {self.rows - left + 1:,}); the file is damaged, or its header's "
                        f"dimension {self.dim} is wrong"
                    )
                break
            # the original word2vec program ends each row with a line break, others do not
            raw = piece[at:space].lstrip(b"\n")
            if control(raw):
                self.odd += 1
            if keys is None or raw in keys:
                raws.append(raw)
                begins.append(space + 1)
                numbers.append(self.rows - left + 1)
            at, left = space + 1 + width, left - 1
        self.seen = self.rows - left
        if raws:
            self._keep(piece, raws, begins, numbers)
        return at

    def _keep(self, piece: bytes, raws: list[bytes], begins: list[int], numbers: list[int]) -> None:
        width, view = self.row_bytes, memoryview(piece)
        block = np.empty((len(raws), self.dim), "<f4")
        out = block.data.cast("B")
        for i, begin in enumerate(begins):
            out[i * width : (i + 1) * width] = view[begin : begin + width]
        words = [self.gather.word(raw, number) for raw, number in zip(raws, numbers, strict=True)]
        self.gather.add(words, block)

    def _doubt(self, start: int) -> None:
        """Words full of control bytes mean that the walk is out of step with the rows."""
        if self.odd > 2 and self.odd > 0.02 * self.seen:
            raise FileError(
                f"{self.path}: {self.odd:,} of the first {self.seen:,} words hold control bytes "
                f"(near byte {start:,}); the file is damaged, or its header's dimension {self.dim} is wrong"
            )
