"""Vectors as text, a word and its numbers a line: word2vec and fastText with a header, GloVe without.

A word may hold spaces ("at name@domain.com" does, in GloVe), so a line is its last `dim` numbers,
and the word is what stands before them.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from langscape.errors import FileError
from langscape.sources.binary import check_header
from langscape.sources.formats import KNOWN, header_of
from langscape.sources.gather import MOST_DIM, Gather
from langscape.sources.stream import Stream, whole_lines

# Loading the compiled parser takes as long as the plain one needs for about this many bytes.
COMPILED_FROM = 16 << 20
_BOM = b"\xef\xbb\xbf"
_DECIMAL = re.compile(rb"[-+]?\d*\.\d+([eE][-+]?\d+)?")
_SAMPLE = 200


def read(path: Path, gather: Gather) -> None:
    """Hand the rows of a text of vectors to `gather`."""
    with Stream(path) as stream:
        pieces = whole_lines(stream)
        first = next(pieces, b"").removeprefix(_BOM)
        header = header_of(first)
        start = 0 if header is None else header[2]
        if header is not None:
            check_header(path, header[0], header[1], least_row=2 * header[1], room=stream.most - start)
        body = first[start:]
        dim = _dimension(path, body) if header is None else header[1]
        promised = None if header is None else header[0]
        gather.expect(promised or _guess_rows(body, stream), dim)
        lines = _Lines(stream, gather, dim, promised, line=1 + (header is not None))
        lines.run(itertools.chain([body], pieces))


def parse_line(line: bytes, dim: int) -> tuple[bytes, list[float]]:
    """The word and the `dim` numbers of one line; ValueError says what is wrong with it.

    This plain parser is the oracle of the compiled one, and takes the lines that one leaves.
    """
    fields = line.rsplit(None, dim)
    word = fields[0] if len(fields) == dim + 1 else b""
    if not word and not (len(fields) == dim and line[:1].isspace()):
        raise ValueError(f"{max(len(fields) - 1, 0)} numbers, expected {dim}")
    numbers = fields[-dim:]
    try:
        values = [float(field) for field in numbers]
    except ValueError:
        wrong = next(field for field in numbers if not _is_number(field))
        raise ValueError(f"{wrong[:40].decode('utf-8', 'backslashreplace')!r} is not a number") from None
    if any(b"_" in field for field in numbers):  # Python reads 1_0 as 10; no file of vectors means that
        raise ValueError("'_' within a number")
    before, tab, after = word.partition(b"\t")
    beside = after.split() if tab else before.split()[1:]
    if any(_DECIMAL.fullmatch(field) for field in beside):
        raise ValueError(f"more than {dim} numbers, expected {dim}")
    return word, values


class _Lines:
    """One pass over the lines of a text."""

    def __init__(self, stream: Stream, gather: Gather, dim: int, promised: int | None, line: int) -> None:
        self.stream, self.gather, self.dim, self.promised, self.line = stream, gather, dim, promised, line
        self.rows = min((n for n in (promised, gather.limit) if n is not None), default=None)
        self.seen = 0
        keys = gather.keys
        # a line is looked at closely only if its first field begins one of the chosen words
        self.firsts = None if keys is None else frozenset(k.split(b" ")[0] for k in keys)
        gather.unit = "line"

    def run(self, pieces: Iterator[bytes]) -> None:
        """Read to the end, or to the last row that is promised or wanted."""
        if self.firsts is not None:
            take = self._take_chosen
        else:
            take = self._take_compiled if self.stream.likely > COMPILED_FROM else self._take_plain
        for piece in pieces:
            cut = len(piece) if self.rows is None else _end_of_rows(piece, self.rows - self.seen)
            take(piece[:cut])
            self.gather.tell(self.stream.position, self.stream.size)
            if self.seen == self.rows:
                if self.seen == self.promised and (
                    piece[cut:].strip() or any(more.strip() for more in pieces)
                ):
                    self.gather.notes.append(
                        f"the file goes on after the {self.promised:,} rows its header promises"
                    )
                return
        if self.promised is not None:
            raise FileError(
                f"{self.stream.path} is cut short: its header promises {self.promised:,} rows, "
                f"but it ends after {self.seen:,}, at line {self.line - 1:,}; fetch the file again"
            )

    def _take_plain(self, piece: bytes) -> None:
        rows = [(number, *self._parse(line, number)) for number, line in self._lines(piece)]
        self.seen += len(rows)
        self._add(rows)

    def _take_chosen(self, piece: bytes) -> None:
        firsts, keys = self.firsts or frozenset(), self.gather.keys or frozenset()
        rows = []
        for number, line in self._lines(piece):
            self.seen += 1
            word = line.split(b"\t", 1)[0] if b"\t" in line else line
            if word.split(b" ", 1)[0] in firsts:
                raw, values = self._parse(line, number)
                if raw in keys:
                    rows.append((number, raw, values))
        self._add(rows)

    def _take_compiled(self, piece: bytes) -> None:
        import langscape.kernels  # noqa: F401  chooses the folder for compiled code before numba loads
        from langscape.sources.float_parser import parse_lines

        count = piece.count(b"\n")
        block = np.empty((count, self.dim), np.float32)
        bounds = np.empty((count, 3), np.int64)
        parse_lines(np.frombuffer(piece, np.uint8), b"\t" in piece[: piece.find(b"\n")], block, bounds)
        words, keep = [], []
        for i, (begin, word_end, end) in enumerate(bounds.tolist()):
            raw = piece[begin:word_end]
            if word_end < 0:
                line = piece[begin:end]
                if not line.strip():
                    continue
                raw, block[i] = self._parse(line, self.line + i)
            words.append(self.gather.word(raw, self.line + i))
            keep.append(i)
        self.line += count
        self.seen += len(words)
        self.gather.add(words, block if len(keep) == count else block[keep])

    def _lines(self, piece: bytes) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers."""
        for line in piece.split(b"\n")[:-1]:
            if line.strip():
                yield self.line, line
            self.line += 1

    def _parse(self, line: bytes, number: int) -> tuple[bytes, list[float]]:
        try:
            return parse_line(line, self.dim)
        except ValueError as error:
            raise FileError(
                f"{self.stream.path}, line {number:,}: {error}; the file is cut short or damaged there, "
                "or holds no vectors"
            ) from None

    def _add(self, rows: list[tuple[int, bytes, list[float]]]) -> None:
        if rows:
            words = [self.gather.word(raw, number) for number, raw, _ in rows]
            self.gather.add(words, np.array([values for *_, values in rows]))


def _end_of_rows(piece: bytes, rows: int) -> int:
    """Where the first `rows` lines that are not blank end."""
    if piece.count(b"\n") <= rows:
        return len(piece)
    at = 0
    while rows and at < len(piece):
        end = piece.find(b"\n", at) + 1
        rows -= bool(piece[at:end].strip())
        at = end
    return at


def _dimension(path: Path, body: bytes) -> int:
    """The number of numbers in most of the first lines of a file without a header."""
    sample = [line for line in body.split(b"\n", _SAMPLE)[:_SAMPLE] if line.strip()]
    for line in sample:
        if line.count(b" ") + line.count(b"\t") > MOST_DIM:  # split, each number would take forty bytes
            raise FileError(f"{path} has a line of more than {MOST_DIM:,} fields; it is no text of vectors")
    counts = Counter(len(line.split()) - 1 for line in sample)
    if not counts:
        raise FileError(f"{path} holds no words")
    dim = min(counts, key=lambda count: (-counts[count], count))
    try:
        if dim < 1:
            raise ValueError("no numbers")
        parse_line(next(line for line in sample if len(line.split()) == dim + 1), dim)
    except ValueError as error:
        raise FileError(
            f"{path} is not a file of word vectors that langscape knows ({error}): {KNOWN}"
        ) from None
    return dim


def _guess_rows(body: bytes, stream: Stream) -> int:
    """About how many rows there are; `gather` grows if this is too few."""
    a_row = max(len(body) // max(body.count(b"\n"), 1), 1)
    return max(stream.likely // a_row * 51 // 50, 1)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
