"""Documents in one Parquet file: a text, a label and the other columns of each; any part is read alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Items
from langscape.errors import DataError, FileError
from langscape.io import strict_json
from langscape.io.parquet import open_parquet

if TYPE_CHECKING:
    import pyarrow as pa

TEXT, LABEL, OWN = "text", "label", "own:"
"""The two columns that every packed file has, and what stands before the names of its further columns."""

EXCERPT = 300
"""Letters of a text that are shown when one points at it."""

LABEL_LETTERS = 60
"""Letters of a label."""

ROWS = 256
"""Documents that are read together."""

Part = dict[str, list[Any]]
"""Some documents: the cells of each column."""

_NOTES = "langscape.documents"
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, eq=False)
class Documents:
    """A packed file of documents: how many, their labels and columns; the texts are read a part at a time."""

    path: Path
    items: Items
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.items)

    def texts(self) -> Iterator[list[str]]:
        """The whole texts in their order, some at a time."""
        with open_parquet(self.path) as opened:
            for batch in opened.iter_batches(batch_size=ROWS, columns=[TEXT]):
                yield batch.column(0).to_pylist()


def read_documents(path: str | Path) -> Documents:
    """What `pack_documents` wrote."""
    path = Path(path)
    with open_parquet(path) as opened:
        meta = opened.metadata.metadata or {}
        names = opened.schema_arrow.names
        if TEXT not in names or LABEL not in names or _NOTES.encode() not in meta:
            raise FileError(f"{path} holds no packed documents; pack them again")
        labels: list[str] = []
        columns: dict[str, list[Any]] = {name: [] for name in names if name.startswith(OWN)}
        excerpts: list[str] = []
        for batch in opened.iter_batches(batch_size=ROWS):
            part = dict(zip(batch.schema.names, batch.columns, strict=True))
            labels += part[LABEL].to_pylist()
            excerpts += [short(text, EXCERPT) for text in part[TEXT].to_pylist()]
            for name, values in columns.items():
                values += part[name].to_pylist()
    own = {name.removeprefix(OWN): _column(values) for name, values in columns.items()}
    if any(excerpt != label for excerpt, label in zip(excerpts, labels, strict=True)):
        own = {**{TEXT: _column(excerpts)}, **own}
    notes = strict_json.parse(meta[_NOTES.encode()], f"the notes in {path}")
    return Documents(path, Items(labels, own), tuple(str(note) for note in notes))


def some_texts(path: Path, first: int, count: int) -> list[str]:
    """`count` whole texts from `first` on, of a packed file; the others are not read."""
    found: list[str] = []
    at = 0
    with open_parquet(path) as opened:
        for group in range(opened.num_row_groups):
            rows = opened.metadata.row_group(group).num_rows
            if at + rows > first and at < first + count:
                part = opened.read_row_group(group, [TEXT]).column(0).to_pylist()
                found += part[max(0, first - at) : first + count - at]
            at += rows
    return found


def write_documents(target: Path, parts: Iterator[Part], notes: Sequence[str]) -> None:
    """Write parts of documents as one packed file; what is left out and what repeats is said in its notes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    blank, repeated, total = 0, 0, 0
    seen: set[int] = set()
    writer: Any = None
    schema: Any = None
    with target.open("wb") as file:
        for part in parts:
            texts = part[TEXT]
            keep = [at for at, one in enumerate(texts) if one is not None and str(one).strip()]
            blank += len(texts) - len(keep)
            if not keep:
                continue
            total += len(keep)
            for at in keep:
                mark = hash(texts[at])
                repeated += mark in seen
                seen.add(mark)
            schema = schema or _schema(part)
            names = part.get(LABEL, texts)
            columns: Part = {
                TEXT: [_clean(texts[at]) for at in keep],
                LABEL: [short(names[at] or texts[at], LABEL_LETTERS) for at in keep],
            }
            for name in schema.names[2:]:
                columns[name] = [plain_cell(part[name][at], schema.field(name).type) for at in keep]
            arrays = {name: pa.array(columns[name], schema.field(name).type) for name in schema.names}
            writer = writer or pq.ParquetWriter(file, schema, compression="zstd")
            writer.write_table(pa.table(arrays))
        if writer is None:
            raise DataError("there is no text in what was given: every row is empty")
        said = list(notes)
        if blank:
            said.append(f"{blank:,} rows without a text are left out")
        if repeated:
            said.append(f"{repeated:,} of {total:,} texts repeat an earlier one, and stay")
        writer.add_key_value_metadata({_NOTES: json.dumps(said)})
        writer.close()


def _schema(part: Part) -> pa.Schema:
    """Numbers as double, truth values as they are, everything else as text; as the first part has them."""
    import pyarrow as pa

    fields = [(TEXT, pa.string()), (LABEL, pa.string())]
    for name, values in part.items():
        if name in (TEXT, LABEL):
            continue
        fields.append((name, column_type(values)))
    return pa.schema(fields)


def column_type(values: list[Any]) -> Any:
    """The type of a column as its first cells have it: truth values, numbers, or text."""
    import pyarrow as pa

    known = [one for one in values if one is not None]
    if known and all(isinstance(one, bool) for one in known):
        return pa.bool_()
    if known and all(isinstance(one, int | float) and not isinstance(one, bool) for one in known):
        return pa.float64()
    return pa.string()


def plain_cell(value: Any, kind: Any) -> Any:
    """A cell as its column takes it; what does not fit a column of numbers is none."""
    if value is None or value != value:
        return None
    if str(kind) == "double":
        try:
            return float(value)
        except (TypeError, ValueError):
            return None
    return bool(value) if str(kind) == "bool" else _clean(str(value))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def short(text: str, letters: int) -> str:
    """The beginning of a text in one line, cut between words.

    >>> short("It was   the best of times", 12)
    'It was the …'
    """
    line = _SPACE.sub(" ", text[: 4 * letters]).strip()
    if len(line) <= letters and len(text) <= 4 * letters:
        return line
    cut = line[: letters - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut[letters // 2 :] else cut} …"


def _column(values: list[Any]) -> np.ndarray:
    """Numbers and truth values as such, text as objects with nothing for none."""
    known = [one for one in values if one is not None]
    if known and all(isinstance(one, bool) for one in known) and len(known) == len(values):
        return np.array(values, bool)
    if known and all(isinstance(one, float) for one in known):
        return np.array([np.nan if one is None else one for one in values])
    out = np.empty(len(values), object)
    out[:] = ["" if one is None else str(one) for one in values]
    return out
