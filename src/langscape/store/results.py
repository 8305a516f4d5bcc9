"""What a step may return, and how each is kept: `Map`, `Arrays`, `Table`, `Writes`, or figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data import Map, frozen
from langscape.errors import DataError, FileError, LangscapeError
from langscape.io import strict_json
from langscape.io.codec import is_noun, noun, read_noun, write_noun
from langscape.io.parquet import metadata_of, open_parquet, read_columns, write_parquet
from langscape.io.tensor_file import LARGEST_HEADER, read_header, read_tensors, write_tensors
from langscape.store.recipe import canonical, plain

ENDINGS = {
    "map": ".parquet",
    "table": ".parquet",
    "arrays": ".safetensors",
    "noun": ".safetensors",
    "file": ".safetensors",
    "bytes": ".bin",
    "figures": "",
}
"""The kinds of results, and the ending of the file of each; figures stand in the label itself."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """Named arrays of numbers, and plain facts about them. Kept as `.safetensors`."""

    arrays: Mapping[str, np.ndarray]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", MappingProxyType({k: frozen(v) for k, v in self.arrays.items()}))
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]


@dataclass(frozen=True, eq=False)
class Writes:
    """A result too large to hold: `write(path)` makes its file, as `kind` "arrays", "table" or "file".

    Of a "file" it is the path that is read: whoever takes it reads the parts it needs.
    """

    kind: str
    write: Callable[[Path], None]


@noun
@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of one length: numbers, truth values or text. Kept as `.parquet`."""

    columns: Mapping[str, np.ndarray]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {name: frozen(_column(values)) for name, values in self.columns.items()}
        lengths = {len(values) for values in columns.values()}
        if not columns or len(lengths) > 1:
            raise DataError(f"a table needs columns of one length, but has lengths {sorted(lengths)}")
        object.__setattr__(self, "columns", MappingProxyType(columns))
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]


def kind_of(result: Any, step: str) -> str:
    """The kind under which a result is kept."""
    if isinstance(result, Writes):
        return result.kind
    for kind, type_ in (("map", Map), ("arrays", Arrays), ("table", Table), ("figures", Mapping)):
        if isinstance(result, type_):
            return kind
    if is_noun(result):
        return "noun"
    wrong = type(result).__name__
    raise DataError(f"step {step} returned a {wrong}; expected Map, Arrays, Table or a mapping")


def write(result: Any, path: Path) -> None:
    """Write a result's file (any kind but figures); the store makes it last."""
    if isinstance(result, Map):
        from langscape.io.map_file import save_map

        save_map(result, path)
    elif isinstance(result, Table):
        _write_table(result, path)
    elif isinstance(result, Writes):
        result.write(path)
    elif isinstance(result, Arrays):
        _write_arrays(result, path)
    elif is_noun(result):
        write_noun(result, path)
    else:
        raise DataError(f"a {type(result).__name__} has no file of its own")


def read(kind: str, path: Path) -> Any:
    """The result that `write` put there; a file that is damaged is a FileError of one line."""
    try:
        return _read(kind, path)
    except LangscapeError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise FileError(f"the stored result {path.name} is damaged ({reason}); compute it again") from None


def _read(kind: str, path: Path) -> Any:
    if kind == "map":
        from langscape.io.map_file import read_map

        return read_map(path)
    if kind == "table":
        return _read_table(path)
    if kind == "arrays":
        return _read_arrays(path)
    if kind == "noun":
        return read_noun(path)
    if kind == "file":
        return path
    return path.read_bytes()


def _write_arrays(result: Arrays, path: Path) -> None:
    for name, array in result.arrays.items():
        if array.dtype.kind not in "biuf":
            raise DataError(f"array {name!r} holds {array.dtype}; expected numbers. Put text into a Table")
    write_tensors(path, result.arrays, {"langscape": canonical(plain(result.facts, "the facts of a result"))})


def _read_arrays(path: Path) -> Arrays:
    header = read_header(path)
    facts = _facts(header.metadata.get("langscape", "{}"), path)
    return Arrays(read_tensors(path, header), facts)


def _write_table(result: Table, path: Path) -> None:
    write_parquet(path, result.columns, metadata=canonical(plain(result.facts, "the facts of a result")))


def _read_table(path: Path) -> Table:
    with open_parquet(path) as opened:
        facts = _facts(metadata_of(opened) or b"{}", path)
        return Table(read_columns(opened), facts)


def _facts(text: str | bytes, path: Path) -> dict[str, Any]:
    return strict_json.parse_object(text, f"the facts in {path}", largest=LARGEST_HEADER, halves=True)


def _column(values: Any) -> np.ndarray:
    column = np.asarray(values)
    if column.dtype.kind in "US":
        column = column.astype(object)
    if column.ndim != 1:
        raise DataError(f"a table's column has shape {column.shape}; expected one value per row")
    return column
