"""Rows of vectors as they stream in from a file: checked, counted, and kept in as little memory as can be.

Every reader hands its rows to one `Gather`, so that repeated words, rows that are not finite,
bad UTF-8 and chosen words are treated alike in every format.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from langscape.data import Progress, Step
from langscape.errors import DataError, FileError
from langscape.memory_limits import check_memory
from langscape.sources.vectors import Vectors
from langscape.sources.word_lookup import match_words, some, spellings

MOST_DIM = 1_000_000
"""Numbers that a vector may have: beyond the columns of any table of counts."""

WORD_BYTES = 160
"""What a word takes beside its vector: the text, its place in the index, its row's number."""

_EXAMPLES = 5


class Gather:
    """The rows kept so far of one file.

    `keys` holds every spelling of the chosen words, in UTF-8, or is None when all rows are wanted;
    readers skip rows whose word is not in it.
    """

    def __init__(
        self,
        path: Path,
        words: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.path = path
        self.limit = limit
        self.keys: frozenset[bytes] | None = None
        if words is not None:
            self.keys = frozenset(s.encode("utf-8", "surrogatepass") for w in words for s in spellings(w))
        self.notes: list[str] = []
        self.unit = "row"
        self._chosen, self._groups, self._progress = words, groups, progress
        self._row: dict[str, int] = {}
        self._matrix = np.empty((0, 0), np.float32)
        self.repeated = _Counted()
        self.unfinished = _Counted()
        self._undecoded = _Counted()

    def expect(self, rows: int, dim: int) -> None:
        """Make room for a plausible number of rows; refuse what this machine cannot hold."""
        if self.keys is not None:
            rows = min(rows, len(self.keys))
        if self.limit is not None:
            rows = min(rows, self.limit)
        self._check_room(rows, dim)
        self._matrix = np.empty((max(rows, 1), dim), np.float32)

    def word(self, raw: bytes, number: int) -> str:
        """The word these bytes spell; bytes that are not UTF-8 are shown as `\\xff` and counted."""
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self._undecoded.add(f"{self.unit} {number:,}")
            return raw.decode("utf-8", "backslashreplace")

    def add(self, words: Sequence[str], rows: np.ndarray) -> None:
        """Keep these rows, but for repeated words and rows with NaN or infinity, which are counted."""
        with np.errstate(over="ignore"):
            rows = np.asarray(rows, np.float32)
        finite: list[bool] = np.isfinite(rows).all(axis=1).tolist()  # type: ignore[assignment]
        start, index, keep = len(self._row), self._row, []
        for i, (word, usable) in enumerate(zip(words, finite, strict=True)):
            if word in index:
                self.repeated.add(word)
            elif not usable:
                self.unfinished.add(word)
            else:
                index[word] = start + len(keep)
                keep.append(i)
        self._grow(start + len(keep), rows.shape[1])
        self._matrix[start : start + len(keep)] = rows if len(keep) == len(rows) else rows[keep]

    def tell(self, done: int, total: int) -> None:
        """Report how many bytes of the file have been read."""
        if self._progress is not None:
            self._progress(Step(min(done, total), total, f"reading {self.path.name}"))

    def finish(self) -> Vectors:
        """What was read, as `Vectors`, with the counted reports in its notes."""
        if not self._row and self.unfinished.count:
            raise FileError(
                f"{self.path}: every row that was read holds NaN or infinity; "
                "the file is damaged or of another format"
            )
        if not self._row and self._chosen is None:
            raise FileError(f"{self.path} holds no words")
        notes = self.reports()
        self._matrix.resize((len(self._row), self._matrix.shape[1]), refcheck=False)
        matrix = self._matrix
        matrix.flags.writeable = False
        if self._chosen is None:
            return Vectors(tuple(self._row), matrix, notes=tuple(notes))
        return self._choose(self._chosen, matrix, notes)

    def reports(self) -> list[str]:
        """The notes, and what was counted on the way."""
        notes = list(self.notes)
        for counted, sentence in (
            (self.repeated, "repeated words: the first row of each was kept"),
            (self.unfinished, "rows with NaN or infinity were left out"),
            (self._undecoded, "words are not valid UTF-8: the bad bytes are shown as \\x.."),
        ):
            if counted.count:
                notes.append(f"{counted.count} {sentence} ({counted})")
        return notes

    def _choose(self, chosen: Sequence[str], matrix: np.ndarray, notes: list[str]) -> Vectors:
        matches = match_words(chosen, self._row)
        if not matches.rows:
            where, next_step = f"{self.path}", "is the list in the language and the spelling of the vectors?"
            if self.limit is not None:
                where, next_step = (
                    f"the first {self.limit:,} rows of {where}",
                    "raise the limit or leave it out",
                )
            raise DataError(
                f"none of the {len(chosen)} chosen words is in {where} ({some(chosen, 5)}); {next_step}"
            )
        matrix = matrix[list(matches.rows)]
        matrix.flags.writeable = False
        groups = None if self._groups is None else tuple(self._groups[i] for i in matches.kept)
        words = tuple(chosen[i] for i in matches.kept)
        return Vectors(words, matrix, groups, tuple([*notes, *matches.notes()]), matches.missing)

    def _grow(self, rows: int, dim: int) -> None:
        if self._matrix.shape[1] != dim:
            self._check_room(rows, dim)
            self._matrix = np.empty((max(rows, 1), dim), np.float32)
        elif rows > len(self._matrix):
            more = max(rows, len(self._matrix) * 6 // 5)
            self._check_room(more, dim, present=len(self._matrix))
            # resize moves large arrays by remapping pages, without a second copy
            self._matrix.resize((more, dim), refcheck=False)

    def _check_room(self, rows: int, dim: int, present: int = 0) -> None:
        if dim > MOST_DIM:
            raise FileError(
                f"{self.path} says that a vector has {dim:,} numbers; at most {MOST_DIM:,} are read"
            )
        check_memory(
            (max(rows, 1) - present) * (4 * dim + WORD_BYTES),
            f"{self.path}: {rows:,} × {dim:,} vectors",
            "choose words, or give a limit",
        )


class _Counted:
    """A count, and the first few of what was counted."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[str] = []

    def add(self, example: str) -> None:
        self.count += 1
        if len(self._first) < _EXAMPLES:
            self._first.append(example)

    def __str__(self) -> str:
        return ", ".join(self._first) + (", …" if self.count > len(self._first) else "")
