"""Documents from tables, files, folders and frames: a text, a label and every other column of each.

Whatever they come from, they are put into one packed file, a part at a time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.errors import DataError, FileError, SettingsError
from langscape.io.csvtext import unguarded
from langscape.io.parquet import open_parquet
from langscape.io.regular_file import open_regular
from langscape.io.sql import MEMORY, identifier, table_of
from langscape.sources.corpus import corpus
from langscape.sources.packed_documents import (
    LABEL,
    OWN,
    ROWS,
    TEXT,
    Part,
    column_type,
    plain_cell,
    write_documents,
)
from langscape.sources.textfile import read_text
from langscape.sources.word_lookup import some

if TYPE_CHECKING:
    import pyarrow as pa

_READERS = {
    ".csv": "read_csv", ".tsv": "read_csv", ".parquet": "read_parquet", ".pq": "read_parquet",
    ".jsonl": "read_json", ".ndjson": "read_json", ".json": "read_json",
}  # fmt: skip
_TEXTS = (
    "text", "texts", "document", "documents", "content", "body", "full_text", "abstract", "review", "comment",
    "message", "tweet", "post", "sentence", "sentences", "description", "summary", "word", "words",
)  # fmt: skip
_LABELS = ("title", "headline", "name", "subject")
_HEADS = {*_TEXTS, *_LABELS, "label", "group", "groups", "category", "class", "topic", "type", "genre", "id",
          "date", "year", "decade", "period", "author", "source", "url", "token", "term"}  # fmt: skip


def pack_documents(given: Any, target: Path, text: str | None = None, label: str | None = None) -> None:
    """Write documents of any source to `target`, in bounded memory.

    given   a .csv, .tsv, .parquet or .jsonl file, a .txt file with one text a line, a folder of text files, a
            data frame, or a list of texts
    text    the column with the texts; if left out a usual name is looked for, else the column whose texts are
            longest on average
    label   the column that names each document; if left out, a title, or how the text begins

    All other columns of text, numbers and truth values go along. Documents that repeat stay; rows without
    a text are left out, and a note says how many.
    """
    if isinstance(given, str | Path):
        path = Path(given)
        if path.is_dir():
            write_documents(target, _of_folder(path, text, label), ())
        elif _kind(path) == "lines":
            write_documents(target, _of_lines(path, text, label), ())
        else:
            _pack_table(path, target, text, label)
        return
    write_documents(target, *_of_object(given, text, label))


def documents_bytes(given: Any) -> bytes:
    """A list or frame as a Parquet file with the columns that it has, to be kept and packed later."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if hasattr(given, "words") and hasattr(given, "groups"):  # a WordList
        columns = {TEXT: list(given.words)} | ({} if given.groups is None else {"group": list(given.groups)})
        table = pa.table(columns)
    else:
        table = _table(given)
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def columns_of(path: Path) -> dict[str, str]:
    """The columns of a table of documents with DuckDB's names of their types; a list of lines has one."""
    if _kind(path) == "lines":
        return {TEXT: "VARCHAR"}
    reader = _kind(path)
    with table_of(path, reader, header=_header(path, reader)) as (connection, source):
        return {
            str(name): str(kind)
            for name, kind, *_ in connection.execute(f"describe select * from {source}").fetchall()
        }


def as_parquet(file: Path, ending: str) -> dict[str, Any]:
    """Put a table or list, whose own name ended so, into Parquet, in place; says what it has."""
    import pyarrow.parquet as pq

    reader = _kind(file, ending)
    if reader == "lines":
        rows = _of_lines(file, None, None)
    elif reader == "read_parquet":
        with open_parquet(file) as opened:
            return {"texts": opened.metadata.num_rows, "columns": list(opened.schema_arrow.names)}
    else:
        rows = _whole_table(file, reader, ending)
    aside = file.with_name(f"{file.name}.parquet")
    writer: Any = None
    count, names = 0, []
    try:
        with aside.open("wb") as out:
            for part in rows:
                table = _as_table(part, writer.schema if writer else None)
                writer = writer or pq.ParquetWriter(out, table.schema, compression="zstd")
                writer.write_table(table)
                count, names = count + table.num_rows, table.column_names
            if writer is None:
                raise DataError("there is no text in it: every row is empty")
            writer.close()
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
    return {"texts": count, "columns": names}


def _whole_table(file: Path, reader: str, ending: str) -> Iterator[Part]:
    with table_of(file, reader, header=_header(file, reader, ending)) as (connection, source):
        kinds = {
            str(n): str(k) for n, k, *_ in connection.execute(f"describe select * from {source}").fetchall()
        }
        cells = [
            f"{_cast(name, kind)} as {identifier(name)}" for name, kind in kinds.items() if _sql_plain(kind)
        ]
        yield from _fetched(connection.execute(f"select {', '.join(cells)} from {source}"), guarded=False)


def _as_table(part: Part, schema: Any) -> pa.Table:
    import pyarrow as pa

    schema = schema or pa.schema([(name, column_type(values)) for name, values in part.items()])
    kinds = {name: schema.field(name).type for name in schema.names}
    return pa.table(
        {name: pa.array([plain_cell(one, kind) for one in part[name]], kind) for name, kind in kinds.items()}
    )


def _kind(path: Path, ending: str | None = None) -> str:
    """DuckDB's function for a table, by its ending or by how it begins; "lines" for a plain list of texts."""
    with open_regular(path, missing=f"there is no file {path}; check the path") as file:
        begin = file.read(4096)
    if begin[:4] == b"PAR1":
        return "read_parquet"
    known = _READERS.get(path.suffix.lower() if ending is None else ending)
    if known == "read_parquet":
        raise FileError(f"{path} is no Parquet file; save the table again")
    if b"\0" in begin:
        raise FileError(
            f"{path} is no table and no text; give .csv, .parquet, .jsonl, .txt, or a folder of texts"
        )
    if known:
        return known
    return "read_json" if begin.lstrip()[:1] == b"{" else "lines"


def _header(path: Path, reader: str, ending: str | None = None) -> bool | None:
    """Whether the first line of a CSV names its columns: DuckDB cannot tell where all of them hold text."""
    if reader != "read_csv":
        return None
    with open_regular(path) as file:
        start = file.read(1 << 18).decode("utf-8-sig", "replace")
    rows = list(
        csv.reader(io.StringIO(start), delimiter="\t" if (ending or path.suffix.lower()) == ".tsv" else ",")
    )[:200]
    if not rows:
        raise FileError(f"{path} is empty; give a table with a text in each row")
    head, below = [cell.strip() for cell in rows[0]], rows[1:]
    if not all(head) or len(set(head)) < len(head) or max(map(len, head)) > 64:
        return False
    if any(cell.lower() in _HEADS for cell in head):
        return True
    for at, name in enumerate(head):
        cells = [row[at] for row in below if len(row) > at and row[at].strip()]
        if cells and not _is_number(name) and all(map(_is_number, cells)):
            return True
        if cells and len(name) * 4 < sum(map(len, cells)) / len(cells):
            return True
    return False


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _pack_table(path: Path, target: Path, text: str | None, label: str | None, memory: int = MEMORY) -> None:
    reader = _kind(path)
    with table_of(path, reader, memory=memory, header=_header(path, reader)) as (connection, source):
        found = connection.execute(f"describe select * from {source}").fetchall()
        kinds = {str(name): str(kind) for name, kind, *_ in found}
        chosen, notes = _choose(
            path.name, kinds, text, label, lambda names: _lengths(connection, source, names)
        )
        kept = [name for name in chosen.own if _sql_plain(kinds[name])]
        dropped = [name for name in chosen.own if name not in kept]
        if dropped:
            notes.append(f"columns of lists or records are left out: {some(dropped)}")
        cells = [f"{identifier(chosen.text)}::varchar as {identifier(TEXT)}"]
        if chosen.label is not None:
            cells.append(f"{identifier(chosen.label)}::varchar as {identifier(LABEL)}")
        cells += [f"{_cast(name, kinds[name])} as {identifier(OWN + name)}" for name in kept]
        found = connection.execute(f"select {', '.join(cells)} from {source}")
        write_documents(target, _fetched(found, guarded=reader == "read_csv"), notes)


def _sql_plain(kind: str) -> bool:
    return not kind.endswith("]") and not kind.startswith(("STRUCT", "MAP", "UNION", "BLOB"))


def _cast(name: str, kind: str) -> str:
    if kind == "BOOLEAN":
        return identifier(name)
    numbers = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "U", "FLOAT", "DOUBLE", "DECIMAL")
    is_number = kind.startswith(numbers) and kind != "UUID"
    return f"{identifier(name)}::{'double' if is_number else 'varchar'}"


@dataclass(frozen=True)
class _Chosen:
    text: str
    label: str | None
    own: list[str]


def _choose(
    where: str, kinds: dict[str, str], text: str | None, label: str | None, lengths: Any
) -> tuple[_Chosen, list[str]]:
    """Which columns hold text and label; the rest goes along."""
    texts = [name for name, kind in kinds.items() if kind in ("VARCHAR", "string")]
    for setting, name in (("text", text), ("label", label)):
        if name is not None and name not in kinds:
            raise SettingsError(f"{where} has no column {name!r} for {setting}; it has {some(kinds)}")
    notes: list[str] = []
    if text is None:
        lower = {name.lower(): name for name in reversed(texts)}
        text = next((lower[name] for name in _TEXTS if name in lower), None)
        if text is None:
            if not texts:
                raise SettingsError(f"{where} has no column of text; it has {some(kinds)}")
            text = max(zip(lengths(texts), texts, strict=True))[1] if len(texts) > 1 else texts[0]
        if len(texts) > 1:
            notes.append(f"the texts are those of column {text!r}; name another with text")
    if label is None:
        lower = {name.lower(): name for name in reversed(texts) if name != text}
        label = next((lower[name] for name in _LABELS if name in lower), None)
    return _Chosen(text, label, [name for name in kinds if name not in (text, label)]), notes


def _lengths(connection: Any, source: str, names: Sequence[str]) -> list[float]:
    cells = ", ".join(f"avg(length({identifier(name)}))" for name in names)
    row = connection.execute(f"select {cells} from (select * from {source} limit 1000)").fetchone()
    return [float(value or 0) for value in row]


def _fetched(found: Any, *, guarded: bool) -> Iterator[Part]:
    """What a query gives, some rows at a time."""
    names = [str(one[0]) for one in found.description]
    while rows := found.fetchmany(ROWS):
        part: Part = {name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}
        for name in (TEXT, LABEL) if guarded else ():
            if name in part:
                part[name] = [cell if cell is None else unguarded(cell) for cell in part[name]]
        yield part


def _of_folder(path: Path, text: str | None, label: str | None) -> Iterator[Part]:
    _no_columns(path.name, "a folder of texts", text, label)
    for file in corpus(path).files:
        inside = file.relative_to(path)
        folder = str(inside.parent) if inside.parent != Path() else ""
        yield {
            TEXT: [read_text(file)],
            LABEL: [file.stem],
            f"{OWN}file": [str(inside)],
            f"{OWN}folder": [folder],
        }


def _of_lines(path: Path, text: str | None, label: str | None) -> Iterator[Part]:
    _no_columns(path.name, "a list of lines", text, label)
    with open_regular(path) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace")
        some_lines: list[Any] = []
        for line in lines:
            if line.strip():
                some_lines.append(line)
            if len(some_lines) == ROWS:
                yield {TEXT: some_lines}
                some_lines = []
        yield {TEXT: some_lines}


def _no_columns(where: str, what: str, text: str | None, label: str | None) -> None:
    for setting, name in (("text", text), ("label", label)):
        if name is not None:
            raise SettingsError(f"{where} is {what} and has no column {name!r}; leave {setting} out")


def _table(given: Any) -> Any:
    import pyarrow as pa

    from langscape.sources.frames import arrow_table, is_table

    if is_table(given):
        return arrow_table(given)
    for rows in ("to_pylist", "to_list", "tolist"):  # a column of Arrow, of pandas or polars, of NumPy
        if hasattr(given, rows):
            given = getattr(given, rows)()
            break
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise SettingsError(
            f"the texts are a {type(given).__name__}; give a file, a folder, a data frame or a list of texts"
        )
    wrong = next((one for one in given if one is not None and not isinstance(one, str)), None)
    if wrong is not None:
        raise DataError(f"the list holds a {type(wrong).__name__}; a list of texts holds text alone")
    return pa.table({TEXT: pa.array(list(given), pa.string())})


def _of_object(given: Any, text: str | None, label: str | None) -> tuple[Iterator[Part], list[str]]:
    table = _table(given)
    kinds = {
        name: "VARCHAR" if _is_text(table[name].type) else str(table[name].type)
        for name in table.column_names
    }
    firsts = table.slice(0, 1000)

    def lengths(names: Sequence[str]) -> list[float]:
        return [float(np.mean([len(one or "") for one in firsts[name].to_pylist()] or [0])) for name in names]

    chosen, notes = _choose("the table", kinds, text, label, lengths)
    own = [
        name
        for name in chosen.own
        if not str(table[name].type).startswith(("list", "large_list", "struct", "map", "fixed"))
    ]

    def parts() -> Iterator[Part]:
        for batch in table.to_batches(max_chunksize=ROWS):
            held = dict(zip(batch.schema.names, batch.columns, strict=True))
            part: Part = {TEXT: [_as_text(one) for one in held[chosen.text].to_pylist()]}
            if chosen.label is not None:
                part[LABEL] = [_as_text(one) for one in held[chosen.label].to_pylist()]
            part |= {OWN + name: held[name].to_pylist() for name in own}
            yield part

    return parts(), notes


def _is_text(kind: Any) -> bool:
    from langscape.sources.frames import is_text

    return is_text(kind)


def _as_text(value: Any) -> str | None:
    return None if value is None or value != value else str(value)
