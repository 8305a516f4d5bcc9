"""Vectors in a CSV table: a column of words, and a column of numbers for each dimension; a header or none."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from langscape.errors import FileError
from langscape.io.regular_file import open_regular
from langscape.sources.formats import is_number
from langscape.sources.gather import Gather

_WORD_NAMES = ("word", "words", "label", "token", "key")
_OPENING = 16 << 20
"""Bytes within which a row has to end, and that are held at once."""


def read(path: Path, gather: Gather) -> None:
    """Hand the rows of a CSV table to `gather`, part by part."""
    import pyarrow as pa
    import pyarrow.csv as pc

    columns = _columns(path)
    if columns.left_out:
        others = ", ".join(columns.left_out[:5])
        dim = len(columns.numbers)
        gather.notes.append(f"the vector of a word is its {dim} columns of numbers; left out: {others}")
    chosen = [columns.word, *columns.numbers]
    kinds = {str(at): pa.float32() for at in columns.numbers} | {str(columns.word): pa.string()}
    seen, most = 0, gather.limit
    with open_regular(path) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        gather.expect(max(size // columns.row_bytes, 1), len(columns.numbers))
        try:
            batches = pc.open_csv(
                file,
                pc.ReadOptions(
                    column_names=[str(at) for at in range(columns.count)],
                    skip_rows=int(columns.header),
                    block_size=_OPENING,
                    use_threads=False,
                ),
                pc.ParseOptions(newlines_in_values=True),
                pc.ConvertOptions(include_columns=[str(at) for at in chosen], column_types=kinds),
            )
            for batch in batches:
                batch = batch if most is None else batch.slice(0, most - seen)
                if not len(batch):
                    break
                seen += len(batch)
                words = batch.column(0).to_pylist()
                matrix = np.column_stack(
                    [batch.column(at).to_numpy(zero_copy_only=False) for at in range(1, len(chosen))]
                )
                _add(gather, words, matrix)
                gather.tell(file.tell(), size)
        except pa.ArrowInvalid as error:
            said = str(error).splitlines()[0][:200]
            raise FileError(
                f"{path} is no table of vectors from end to end ({said}); "
                f"give each row a word and {len(columns.numbers)} numbers"
            ) from None


@dataclass(frozen=True)
class _Columns:
    """Which columns are read: `word` and `numbers` by place, of `count`; `left_out` by name."""

    header: bool
    count: int
    word: int
    numbers: list[int]
    left_out: list[str]
    row_bytes: int


def _columns(path: Path) -> _Columns:
    with open_regular(path) as file:
        opening = file.read(_OPENING)
    text = opening.decode("utf-8-sig", "replace")
    try:
        rows = [row for row in islice(csv.reader(io.StringIO(text)), 2) if row]
    except csv.Error as error:
        raise FileError(f"{path} cannot be read as a CSV table: {error}") from None
    first, last = rows[0], rows[-1]
    header = len(rows) == 2 and not any(map(is_number, first)) and any(map(is_number, last))
    if len(first) != len(last):
        raise FileError(
            f"{path}: line 1 has {len(first)} cells and line 2 has {len(last)}; each row needs as many"
        )
    names = [name.strip() for name in first] if header else [f"column {at + 1}" for at in range(len(first))]
    texts = [at for at, cell in enumerate(last) if not is_number(cell)]
    named = [at for at, name in enumerate(names) if name.lower() in _WORD_NAMES]
    if not named and not texts:
        raise FileError(
            f"{path} has numbers alone; put the word of each row first, or name its column 'word'"
        )
    word = (named or texts)[0]
    numbers = [at for at in range(len(last)) if at not in texts and at != word]
    if not numbers:
        raise FileError(f"{path} has no column of numbers; give a column for each dimension of the vectors")
    left_out = [names[at] for at in texts if at != word]
    line = max(len(opening) // max(opening.count(b"\n"), 1), 1)
    return _Columns(header, len(last), word, numbers, left_out, line)


def _add(gather: Gather, words: list[str], matrix: np.ndarray) -> None:
    if gather.keys is not None:
        wanted = [word.encode() in gather.keys for word in words]
        words, matrix = [word for word, one in zip(words, wanted, strict=True) if one], matrix[wanted]
    if words:
        gather.add(words, matrix)
