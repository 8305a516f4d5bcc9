"""Vectors in a Parquet table: a column of words, and a column of lists or one column per dimension."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.errors import FileError
from langscape.sources.gather import Gather

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_WORD_NAMES = ("word", "words", "label", "token", "key")
_VECTOR_NAMES = ("vector", "vectors", "embedding", "embeddings")
_NUMBERS = ("FLOAT", "DOUBLE", "HALF")


def read(path: Path, gather: Gather) -> None:
    """Hand the rows of a Parquet table to `gather`."""
    import duckdb

    with path.open("rb"):
        pass
    connection = duckdb.connect()
    try:
        connection.execute("set enable_progress_bar = false")
        _read(connection, path, gather)
    except duckdb.Error as error:
        said = str(error).strip().splitlines()[0]
        raise FileError(f"{path} is cut short or damaged, or no table of vectors: {said}") from None
    finally:
        connection.close()


def _read(connection: DuckDBPyConnection, path: Path, gather: Gather) -> None:
    source = f"read_parquet({_quoted(_literal(path))}, file_row_number=true)"
    columns = {
        name: str(kind)
        for name, kind, *_ in connection.execute(f"describe select * from {source}").fetchall()
    }
    columns.pop("file_row_number")
    word, vector, dim = _columns(connection, path, source, columns)
    limit = "" if gather.limit is None else f"where file_row_number < {int(gather.limit)}"
    rows = connection.execute(f"select count(*) from {source} {limit}").fetchone()
    gather.expect(0 if rows is None else rows[0], dim)
    asked: list[Any] = []
    if gather.keys is not None:
        limit = f"{limit} {'and' if limit else 'where'} {word} in (select unnest(?))"
        asked = [[key.decode("utf-8", "replace") for key in gather.keys]]
    # one pass for words and one for numbers: lists come fastest as one flat column
    table = f"(select {word} as w, {vector} as v from {source} {limit} order by file_row_number)"
    words = connection.execute(f"select w from {table}", asked).fetchnumpy()["w"]
    flat = connection.execute(f"select unnest(v)::float as x from {table}", asked).fetchnumpy()["x"]
    if np.ma.isMaskedArray(flat):
        flat = flat.filled(np.nan)
    if np.ma.isMaskedArray(words) and np.ma.getmaskarray(words).any():
        row = int(np.flatnonzero(np.ma.getmaskarray(words))[0])
        raise FileError(f"{path}: row {row + 1:,} has no word")
    gather.add([str(w) for w in words], flat.reshape(len(words), dim))


def _columns(
    connection: DuckDBPyConnection, path: Path, source: str, columns: dict[str, str]
) -> tuple[str, str, int]:
    """The word column, an expression for the vector as a list, and its dimension."""
    texts = [name for name, kind in columns.items() if kind == "VARCHAR"]
    word = next((name for name in _WORD_NAMES if name in texts), texts[0] if len(texts) == 1 else None)
    if word is None:
        raise FileError(f"{path} needs a column of words named 'word'; it has {_said(columns)}")
    lists = [n for n, kind in columns.items() if kind.startswith(_NUMBERS) and kind.endswith("]")]
    vector = next((name for name in _VECTOR_NAMES if name in lists), lists[0] if len(lists) == 1 else None)
    if vector is None:
        numbers = [name for name, kind in columns.items() if kind in _NUMBERS]
        if not numbers or lists:
            raise FileError(f"{path} needs a column of lists named 'vector'; it has {_said(columns)}")
        return _name(word), f"[{', '.join(map(_name, numbers))}]", len(numbers)
    return _name(word), _name(vector), _dimension(connection, path, source, _name(vector))


def _dimension(connection: DuckDBPyConnection, path: Path, source: str, vector: str) -> int:
    counts = connection.execute(
        f"select coalesce(len({vector}), 0) as dim, count(*), min(file_row_number) from {source} "
        "group by dim order by 2 desc, 1 limit 2"
    ).fetchall()
    if not counts:
        raise FileError(f"{path} holds no words")
    dim = counts[0][0]
    if len(counts) > 1:
        raise FileError(
            f"{path}: row {counts[1][2] + 1:,} has {counts[1][0]} numbers where most rows have {dim}"
        )
    if dim < 1:
        raise FileError(f"{path}: the vectors in column {vector} are empty")
    return dim


def _literal(path: Path) -> str:
    """The path as a pattern that matches only itself: DuckDB expands * ? [ in file names."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _said(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in list(columns.items())[:8]) or "no columns"
