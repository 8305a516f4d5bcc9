"""Many texts, one after another: sentences, paragraphs or lines of files, rows of tables and lists.

Nothing is read before it is needed, and never more than a paragraph or a few hundred rows at once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from langscape.errors import DataError, FileError, SettingsError
from langscape.faces import written
from langscape.io.csvtext import unguarded
from langscape.io.parquet import open_parquet
from langscape.io.regular_file import open_regular
from langscape.sources.corpora import corpus_path
from langscape.sources.corpus import corpus, passages
from langscape.sources.textfile import check_text_file, read_text

Unit = Literal["sentence", "paragraph", "line", "whole"]

ROWS = 256
"""Texts of one row group of a file of texts, which are read together."""

_COLUMN = "text"
_BLOCK = 200_000
"""Characters after which a paragraph without an end is ended at the next line."""


def stream_texts(given: Any, unit: Unit | None = None, column: str | None = None) -> Iterator[str]:
    """One text after another, blank ones left out.

    given   a text file, a folder of them, a .csv or .parquet with a column of texts, the name of a packaged
            corpus; a list of texts, a column of a data frame; a list of `Path`
    unit    what a text is: a sentence, a paragraph, a line, or the whole of a file or row. Left out, files
            are read by sentences, and every row of a table or list is a text
    column  the column of a table; the only one that holds text if left out

    >>> list(stream_texts(["Rain fell. It was cold.", "", "Who came?"]))
    ['Rain fell. It was cold.', 'Who came?']
    >>> list(stream_texts(["Rain fell. It was cold."], unit="sentence"))
    ['Rain fell.', 'It was cold.']
    """
    listed = listed_texts(given)
    if listed is not None:
        yield from _units(listed, unit or "whole")
        return
    several = [given] if isinstance(given, str | Path) else given
    for path in (corpus_path(one) for one in several):
        files = corpus(path).files if path.is_dir() else (path,)
        for file in files:
            yield from _of_file(file, unit, column)


def listed_texts(given: Any) -> Iterator[str] | None:
    """The texts of a list or a column, one by one; None where files or corpora are named."""
    if given is None or isinstance(given, str | Path) or (isinstance(given, list | tuple) and not given):
        return None
    for rows in ("to_pylist", "to_list", "tolist"):  # a column of Arrow, of pandas or polars, of NumPy
        if hasattr(given, rows):
            given = getattr(given, rows)()
            break
    if isinstance(given, Sequence):
        if any(isinstance(one, Path) for one in given):
            if not all(isinstance(one, Path) for one in given):
                raise SettingsError("some of the texts are files and some are text; give one or the other")
            return None
    elif not isinstance(given, Iterable):
        raise SettingsError(
            f"the texts are a {type(given).__name__}; give a list or column of text, a Path, or the name of "
            "a packaged corpus"
        )
    return _checked(given)


def sample_texts(stream: Callable[[], Iterable[str]], most: int | None, seed: int = 0) -> Iterator[str]:
    """At most so many of the texts, drawn at random from all, in their order; all where most is None.

    stream gives the texts from the beginning; it is asked twice, since how many there are is only known
    at the end.

    >>> list(sample_texts(lambda: "abcdef", 3))
    ['c', 'd', 'f']
    """
    if most is None:
        yield from stream()
        return
    total = sum(1 for _ in stream())
    if total <= most:
        yield from stream()
        return
    chosen = np.random.default_rng(seed).permutation(total)[:most]
    chosen.sort()
    wanted = iter(chosen.tolist())
    at = next(wanted)
    for place, text in enumerate(stream()):
        if place == at:
            yield text
            at = next(wanted, -1)


def write_texts(path: Path, texts: Iterable[str]) -> int:
    """Write texts to a file of which a few are read at a time, and say how many there were."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(_COLUMN, pa.string())])
    stream, count = iter(texts), 0
    with path.open("wb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while some := [one.encode("utf-8", "replace").decode() for one in islice(stream, ROWS)]:
            writer.write_table(pa.table({_COLUMN: pa.array(some, pa.string())}, schema=schema))
            count += len(some)
    return count


def count_texts(path: Path) -> int:
    """How many texts a file of `write_texts` has."""
    with open_parquet(path) as opened:
        return opened.metadata.num_rows


def read_texts(path: Path, first: int, count: int) -> list[str]:
    """`count` texts from `first` on, of a file that `write_texts` made; the others are not read."""
    with open_parquet(path) as opened:
        begin, last = first // ROWS, (first + count - 1) // ROWS
        groups = [one for one in range(begin, last + 1) if one < opened.num_row_groups]
        texts = opened.read_row_groups(groups, [_COLUMN]).column(0).to_pylist() if groups else []
    return texts[first - begin * ROWS :][:count]


def _checked(given: Iterable[Any]) -> Iterator[str]:
    for at, one in enumerate(given):
        if one is None or one != one:  # an empty cell of a table
            continue
        if not isinstance(one, str):
            raise DataError(f"text {at} is a {type(one).__name__}; a list of texts holds text alone")
        yield one


def _of_file(path: Path, unit: Unit | None, column: str | None) -> Iterator[str]:
    with open_regular(path) as opened:
        begin = opened.read(4)
    if begin == b"PAR1":
        yield from _units(_parquet_column(path, column), unit or "whole")
    elif path.suffix.lower() in (".csv", ".tsv") or column is not None:
        yield from _units(_csv_column(path, column), unit or "whole")
    elif unit == "whole":
        yield from _units([read_text(path)], "whole")
    else:
        check_text_file(path)
        blocks = _lines(path) if unit == "line" else _paragraphs(path)
        yield from _units(blocks, unit or "sentence")


def _units(texts: Iterable[str], unit: Unit) -> Iterator[str]:
    for text in texts:
        if unit == "whole":
            found: Iterable[str] = [text.strip()]
        elif unit == "line":
            found = (line.strip() for line in text.splitlines())
        elif unit in ("sentence", "paragraph"):
            found = passages(text, unit)
        else:
            raise SettingsError(f"unit {unit!r} is not known; use sentence, paragraph, line or whole")
        yield from (one for one in found if one)


def _lines(path: Path) -> Iterator[str]:
    with open_regular(path) as file:
        yield from io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace")


def _paragraphs(path: Path) -> Iterator[str]:
    """Blocks between blank lines; one that does not end is cut at a line's end."""
    lines: list[str] = []
    size = 0
    for line in _lines(path):
        if not line.strip() or size > _BLOCK:
            yield "".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    yield "".join(lines)


def _parquet_column(path: Path, column: str | None) -> Iterator[str]:
    import pyarrow.types as t

    with open_parquet(path) as opened:
        schema = opened.schema_arrow
        texts = [one.name for one in schema if t.is_string(one.type) or t.is_large_string(one.type)]
        name = _chosen(path, schema.names, texts, column)
        for batch in opened.iter_batches(batch_size=ROWS, columns=[name]):
            yield from _checked(batch.column(0).to_pylist())


def _csv_column(path: Path, column: str | None) -> Iterator[str]:
    check_text_file(path)
    tabs = path.suffix.lower() == ".tsv"
    try:
        rows = csv.reader(_lines(path), delimiter="\t" if tabs else ",", strict=True)
        names = next(rows, [])
        name = _chosen(path, names, names, column)
        at = names.index(name)
        for row in rows:
            if len(row) > at:
                yield unguarded(row[at])
    except csv.Error as error:
        raise FileError(f"{path} is no table that can be read ({error}); save it as .csv again") from None


def _chosen(path: Path, names: Sequence[str], texts: Sequence[str], column: str | None) -> str:
    """The column that was named, else `text`, else the only one of text."""
    if column is not None:
        if column not in names:
            raise SettingsError(f"{path.name} has no column {column!r}; it has {', '.join(names[:20])}")
        return column
    if _COLUMN in texts or len(texts) == 1:
        return _COLUMN if _COLUMN in texts else texts[0]
    listed = ", ".join(names[:20]) or "none"
    how = f" ({told})" if names and (told := written("column", names[0])) else ""
    raise SettingsError(f"name the column of {path.name} that holds the texts{how}; it has {listed}")
