"""Columns to and from Parquet files, through Arrow: no SQL, no patterns in file names, one file at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.errors import FileError
from langscape.io.regular_file import open_regular
from langscape.memory_limits import check_expansion, check_memory

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

KEY = b"langscape"
"""Under this name a file carries the metadata of langscape, as JSON."""

PICTURE = "picture"
"""Under this name those metadata have what a picture said of itself, in the file of its table."""

_MOST_COLUMNS = 5_000
_MOST_CHUNKS = 1_000_000
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_SURELY_FINE = 100_000_000
# a text takes at least so much in Arrow, and so much as an object of Python
_TEXT_BYTES, _OBJECT_BYTES = 16, 70


def write_parquet(
    path: Path,
    columns: Mapping[str, np.ndarray],
    *,
    lists: Mapping[str, np.ndarray] | None = None,
    metadata: str | None = None,
) -> None:
    """Write columns of one length, and matrices in `lists` as columns of lists; not atomic by itself.

    Half floats become float32 and mixed objects text, which any reader of Parquet knows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {name: _arrow(np.asarray(values)) for name, values in columns.items()}
    arrays |= {name: _arrow_lists(matrix) for name, matrix in (lists or {}).items()}
    table = pa.table(list(arrays.values()), names=list(arrays))
    if metadata is not None:
        table = table.replace_schema_metadata({KEY: metadata.encode()})
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd")


@contextmanager
def open_parquet(path: Path) -> Iterator[ParquetFile]:
    """A Parquet file for reading; what Arrow finds wrong with it becomes a FileError of one line."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_regular(path) as file, pq.ParquetFile(file) as opened:
            names = opened.schema_arrow.names
            if len(names) > _MOST_COLUMNS:
                raise FileError(f"{path} has {len(names):,} columns; at most {_MOST_COLUMNS:,} are read")
            twice = next((name for name, count in Counter(names).items() if count > 1), None)
            if twice is not None:
                raise FileError(f"{path} has two columns named {twice[:60]!r}; rename one")
            _check_size(path, opened)
            yield opened
    except FileError:
        raise
    except (pa.ArrowException, pa.ArrowInvalid, OSError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        raise FileError(
            f"{path} is cut short or damaged, or no Parquet file ({reason}); make it again"
        ) from None


def _check_size(path: Path, opened: ParquetFile) -> None:
    """Refuse a table of which a few bytes stand for gigabytes: a column of equal values takes none."""
    about = opened.metadata
    if about.num_row_groups * about.num_columns > _MOST_CHUNKS:
        raise FileError(f"{path} is cut into more than {_MOST_CHUNKS:,} pieces; write it again in fewer")
    expanded = needed = 0
    repeated: Counter[str] = Counter()
    for group in map(about.row_group, range(about.num_row_groups)):
        for column in map(group.column, range(about.num_columns)):
            values, packed = max(column.num_values, 0), max(column.total_uncompressed_size, 0)
            width = _WIDTHS.get(column.physical_type)
            expanded += max(values * (width or _TEXT_BYTES), packed)
            needed += values * width if width else values * _OBJECT_BYTES + packed
            if width is None and column.has_dictionary_page:
                repeated[column.path_in_schema] += values * packed
    check_expansion(max(expanded, 4 * about.num_rows), path.stat().st_size, str(path))
    # Texts that are repeated stand in the file once: how long the column is, only the repetitions tell.
    for name, most in repeated.items():
        if most > _SURELY_FINE and name in opened.schema_arrow.names:
            texts = _text_bytes(path, name)
            check_expansion(texts, path.stat().st_size, str(path))
            needed += texts
    check_memory(2 * needed, f"the {about.num_rows:,} rows of {path}", "take fewer rows or columns")


def _text_bytes(path: Path, name: str) -> int:
    """The bytes of all texts of a column; each is read once, however often it stands there."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    import pyarrow.types as t

    total = 0
    with open_regular(path) as file, pq.ParquetFile(file, read_dictionary=[name]) as opened:
        for chunk in opened.read([name]).column(name).chunks:
            if t.is_dictionary(chunk.type) and len(chunk.dictionary):
                lengths = (
                    pc.call_function("binary_length", [chunk.dictionary])
                    .to_numpy(zero_copy_only=False)
                    .astype(np.float64)
                )
                times = np.bincount(np.asarray(chunk.indices.drop_null()), minlength=len(lengths))
                total += int(np.nansum(lengths * times))
    return total


def metadata_of(opened: ParquetFile) -> bytes | None:
    """The JSON that langscape wrote into the file, if it did."""
    return (opened.metadata.metadata or {}).get(KEY)


def read_columns(opened: ParquetFile, names: list[str] | None = None) -> dict[str, np.ndarray]:
    """Columns as numpy arrays: numbers, truth values, and text as objects with None where a cell is empty.

    Numbers with empty cells become floats with NaN; dates become text; columns of lists and structures
    are left out.
    """
    schema = opened.schema_arrow
    chosen = [
        name for name in (schema.names if names is None else names) if _is_flat(schema.field(name).type)
    ]
    if not chosen:
        return {}
    # by name once more: Arrow takes "a" for every column whose name begins with "a."
    table = opened.read(chosen)
    return {name: _numpy(table.column(name)) for name in chosen}


def read_lists(opened: ParquetFile, name: str) -> np.ndarray:
    """A column of lists of one length as a matrix (rows, length), float32 or float64 as in the file."""
    import pyarrow as pa

    if name not in opened.schema_arrow.names or not pa.types.is_list(opened.schema_arrow.field(name).type):
        raise FileError(f"there is no column {name!r} of lists")
    column = pa.concat_arrays(_column(opened, name).chunks)
    flat = column.flatten()
    if not len(column) or column.null_count or flat.null_count or len(flat) % len(column):
        raise FileError(f"column {name!r} holds lists that are empty or of several lengths")
    lengths = np.unique(np.asarray(column.value_lengths()))
    if len(lengths) != 1:
        raise FileError(f"column {name!r} holds lists of {lengths[0]} to {lengths[-1]} numbers; one is due")
    return flat.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def _column(opened: ParquetFile, name: str) -> pa.ChunkedArray:
    return opened.read([name]).column(name)


def _is_flat(type_: pa.DataType) -> bool:
    import pyarrow.types as t

    return not (t.is_nested(type_) or t.is_binary(type_) or t.is_large_binary(type_) or t.is_null(type_))


def _arrow(values: np.ndarray) -> pa.Array:
    import pyarrow as pa

    if values.dtype == np.float16:
        return pa.array(values.astype(np.float32))
    if values.dtype.kind in "OUS":
        listed = values.tolist()
        if set(map(type, listed)) <= {str, type(None)}:
            with suppress(
                UnicodeEncodeError
            ):  # of halves of letters; they are rare, and looked for one by one
                return pa.array(listed, pa.string())
        return pa.array([None if v is None else _text(v) for v in listed], pa.string())
    return pa.array(np.ascontiguousarray(values))


def _text(value: Any) -> str:
    """A value as text that UTF-8 can hold: halves of letters are shown as ?."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _arrow_lists(matrix: np.ndarray) -> pa.Array:
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.ListArray.from_arrays(np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1], flat)


def _numpy(column: pa.ChunkedArray) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    if t.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if t.is_floating(kind) or t.is_integer(kind) or t.is_boolean(kind):
        if not column.null_count:
            return column.to_numpy()
        if t.is_boolean(kind):
            return np.array(column.to_pylist(), dtype=object)
        return column.cast(pa.float64()).to_numpy()
    if t.is_decimal(kind):
        return column.cast(pa.float64()).to_numpy()
    return np.array([None if v is None else str(v) for v in column.to_pylist()] or [], dtype=object)
