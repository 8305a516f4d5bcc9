"""Vectors in a Parquet table: a column of words, and a column of lists or one column per dimension."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from langscape.errors import FileError
from langscape.io.parquet import open_parquet
from langscape.sources.gather import Gather

if TYPE_CHECKING:
    import pyarrow as pa

_WORD_NAMES = ("word", "words", "label", "token", "key")
_VECTOR_NAMES = ("vector", "vectors", "embedding", "embeddings")
_ROWS = 20_000
"""Rows that are held at once on their way to the matrix."""


def read(path: Path, gather: Gather) -> None:
    """Hand the rows of a Parquet table to `gather`, part by part."""
    with open_parquet(path) as opened:
        schema = opened.schema_arrow
        word, vectors = _columns(path, schema)
        total = opened.metadata.num_rows
        wanted = total if gather.limit is None else min(gather.limit, total)
        keys = _keys(gather)
        dim = first = 0
        for batch in opened.iter_batches(_ROWS, columns=[word, *vectors]):
            batch = batch.slice(0, wanted - first)
            if not len(batch):
                break
            if not first:
                dim = _dimension(batch, vectors)
                if dim < 1:
                    raise FileError(f"{path}: the vectors in column {vectors[0]!r} are empty")
                gather.expect(wanted, dim)
            _add(path, gather, batch, word, vectors, dim, first, keys)
            first += len(batch)
            gather.tell(first, wanted)
        if not first:
            raise FileError(f"{path} holds no words")


def _add(
    path: Path,
    gather: Gather,
    batch: pa.RecordBatch,
    word: str,
    vectors: list[str],
    dim: int,
    first: int,
    keys: pa.Array | None,
) -> None:
    """Check one part of the table, and keep its rows that are wanted."""
    import pyarrow.compute as pc

    words = batch.column(word)
    if words.null_count:
        row = int(np.flatnonzero(words.is_null())[0])
        raise FileError(f"{path}: row {first + row + 1:,} has no word")
    uneven = np.flatnonzero(_lengths(batch, vectors) != dim)
    if len(uneven):
        row = int(uneven[0])
        found = int(_lengths(batch, vectors)[row])
        raise FileError(f"{path}: row {first + row + 1:,} has {found} numbers where most rows have {dim}")
    if keys is not None:
        batch = batch.filter(pc.call_function("is_in", [words], pc.SetLookupOptions(keys)))
    if not len(batch):
        return
    if _is_list(batch.schema.field(vectors[0]).type):
        flat = batch.column(vectors[0]).flatten().to_numpy(zero_copy_only=False)
        matrix = flat.reshape(len(batch), dim)
    else:
        matrix = np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in vectors])
    gather.add(batch.column(word).to_pylist(), matrix)


def _columns(path: Path, schema: pa.Schema) -> tuple[str, list[str]]:
    """The column of words, and the column of lists, or every column of numbers."""
    import pyarrow.types as t

    def is_text(kind: pa.DataType) -> bool:
        kind = kind.value_type if t.is_dictionary(kind) else kind
        return t.is_string(kind) or t.is_large_string(kind)

    texts = [field.name for field in schema if is_text(field.type)]
    word = next((name for name in _WORD_NAMES if name in texts), texts[0] if len(texts) == 1 else None)
    if word is None:
        raise FileError(f"{path} needs a column of words named 'word'; it has {_said(schema)}")
    lists = [f.name for f in schema if _is_list(f.type) and t.is_floating(f.type.value_type)]
    vector = next((name for name in _VECTOR_NAMES if name in lists), lists[0] if len(lists) == 1 else None)
    if vector is not None:
        return word, [vector]
    numbers = [field.name for field in schema if t.is_floating(field.type)]
    if not numbers or lists:
        raise FileError(f"{path} needs a column of lists named 'vector'; it has {_said(schema)}")
    return word, numbers


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as t

    return t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)


def _dimension(batch: pa.RecordBatch, vectors: list[str]) -> int:
    lengths, counts = np.unique(_lengths(batch, vectors), return_counts=True)
    return int(lengths[np.argmax(counts)])


def _lengths(batch: pa.RecordBatch, vectors: list[str]) -> np.ndarray:
    """(rows,) how many numbers each vector has."""
    import pyarrow.compute as pc

    if not _is_list(batch.schema.field(vectors[0]).type):
        return np.full(len(batch), len(vectors))
    lengths = pc.call_function("list_value_length", [batch.column(vectors[0])])
    return lengths.fill_null(0).to_numpy(zero_copy_only=False)


def _keys(gather: Gather) -> pa.Array | None:
    import pyarrow as pa

    if gather.keys is None:
        return None
    return pa.array([key.decode("utf-8", "replace") for key in gather.keys], pa.string())


def _said(schema: pa.Schema) -> str:
    return (
        ", ".join(
            f"{' '.join(field.name[:60].split())} ({str(field.type)[:60]})" for field in list(schema)[:8]
        )
        or "no columns"
    )
