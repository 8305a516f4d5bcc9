"""`Vectors`: words and their rows of numbers; `read_vectors` opens them from any common file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from langscape.data import Items, Progress, frozen
from langscape.errors import DataError, FileError, SettingsError
from langscape.sources.word_lookup import match_words, some

if TYPE_CHECKING:
    from langscape.sources.gather import Gather
    from langscape.sources.wordlist import WordList


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words with a vector each.

    words    one label per row; a word chosen twice stands twice
    matrix   (words, dim) float32, read-only
    groups   one per row, or None
    notes    counted reports of the reading: repeated words, rows left out, other spellings
    missing  chosen words that were not found

    >>> Vectors(["tea", "oslo"], [[1.0, 0.0], [0.0, 1.0]]).take(["Oslo"]).matrix.tolist()
    [[0.0, 1.0]]
    """

    words: Sequence[str]
    matrix: np.ndarray
    groups: Sequence[str] | None = None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        words, matrix = tuple(self.words), frozen(self.matrix, np.float32)
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise DataError(f"{len(words)} words need a matrix with as many rows; this one is {matrix.shape}")
        if self.groups is not None and len(self.groups) != len(words):
            raise DataError(f"{len(self.groups)} groups for {len(words)} words; give one per word")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "groups", None if self.groups is None else tuple(self.groups))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "missing", tuple(self.missing))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """How many numbers each vector has."""
        return self.matrix.shape[1]

    def items(self) -> Items:
        """The words as `Items`, with a "group" column where there are groups."""
        return Items(self.words, {} if self.groups is None else {"group": np.asarray(self.groups, object)})

    def rows(self, rows: Iterable[int] | np.ndarray) -> Vectors:
        """The chosen rows, in the order given."""
        rows = [int(i) for i in rows]
        groups = None if self.groups is None else [self.groups[i] for i in rows]
        return Vectors([self.words[i] for i in rows], self.matrix[rows], groups, self.notes)

    def take(self, words: Sequence[str] | WordList) -> Vectors:
        """The chosen words in the order given, found as `match_words` finds them; the rest is in `missing`.

        A list with groups brings its own; otherwise the words keep theirs.
        """
        listed, groups = _listed(words)
        index: dict[str, int] = {}
        for row, word in enumerate(self.words):
            index.setdefault(word, row)
        matches = match_words(listed, index)
        if not matches.rows:
            raise DataError(f"none of the {len(listed)} chosen words is among the vectors: {some(listed, 5)}")
        if groups is not None:
            groups = [groups[i] for i in matches.kept]
        elif self.groups is not None:
            groups = [self.groups[i] for i in matches.rows]
        chosen = [listed[i] for i in matches.kept]
        notes = (*self.notes, *matches.notes())
        return Vectors(chosen, self.matrix[list(matches.rows)], groups, notes, matches.missing)


def read_vectors(
    path: str | Path,
    words: Sequence[str] | WordList | None = None,
    limit: int | None = None,
    *,
    progress: Progress | None = None,
) -> Vectors:
    """The word vectors in a file: all of them, the first `limit` rows, or the chosen `words` of these.

    Word2vec binary and text, GloVe, fastText `.vec` (each also gzipped), CSV, `.npz`, `.parquet` and
    safetensors are told apart by their content. Chosen words keep your order and spelling and are
    found as `match_words` finds them; the rest of the file is never held in memory.
    What was counted on the way, and words that were not found, stand in `.notes` and `.missing`.
    """
    from langscape.sources.gather import Gather

    path = Path(path)
    if limit is not None and limit < 1:
        raise SettingsError(f"limit {limit} leaves no rows; give 1 or more")
    listed, groups = (None, None) if words is None else _listed(words)
    if listed is not None and not listed:
        raise SettingsError("the list of chosen words is empty; leave it out to read every word")
    gather = Gather(path, listed, groups, limit, progress)
    read_into(path, gather)
    return gather.finish()


def read_into(path: Path, gather: Gather) -> None:
    """Hand the rows of a file of vectors, one after the other, to `gather`."""
    from langscape.sources.formats import kind_of

    try:
        read = _reader(kind_of(path))
        read(path, gather)
    except MemoryError:
        raise FileError(f"{path} takes more memory than there is; choose words, or give a limit") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from error


def _reader(kind: str) -> Callable[[Path, Gather], None]:
    from langscape.sources import binary, comma_separated, npz, parquet, tensors, text

    return {
        "text": text.read,
        "csv": comma_separated.read,
        "word2vec binary": binary.read,
        "npz": npz.read,
        "safetensors": tensors.read,
        "parquet": parquet.read,
    }[kind]


def _listed(words: Sequence[str] | WordList) -> tuple[Sequence[str], Sequence[str] | None]:
    if isinstance(words, str):
        raise SettingsError(f"words must be a list of words, not the text {words!r}; write [{words!r}]")
    if hasattr(words, "groups"):
        return words.words, words.groups  # type: ignore[union-attr]
    return list(words), None  # type: ignore[arg-type]
