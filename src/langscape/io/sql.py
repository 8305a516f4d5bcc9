"""The one door to DuckDB: a locked connection that sees one file, and the quoting of names.

Column names come from files, and DuckDB runs as many statements as a string holds. So every name goes
through `identifier`, every text through `literal`, and a connection can reach nothing but the one file
it was opened for, for reading, whatever it is asked. A test holds that no other module opens one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from langscape.errors import FileError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = 500_000_000
"""Bytes that DuckDB may hold at once; larger tables are worked on from disk."""

THREADS = 2

_LINE = 50_000_000


def identifier(name: str) -> str:
    """A name as SQL reads it back, whatever letters it has."""
    _refuse_nul(name)
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL reads it back, whatever letters it has."""
    _refuse_nul(text)
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def table_of(
    path: Path, reader: str, *, memory: int = MEMORY, header: bool | None = None
) -> Iterator[tuple[DuckDBPyConnection, str]]:
    """A locked connection, and the expression that reads the file at `path`.

    `reader` is `read_csv`, `read_parquet` or `read_json`; `header` says of a CSV whether its first line names
    the columns, which DuckDB guesses if left out. What it finds wrong is a FileError of one line.
    """
    import duckdb

    absolute = str(path.absolute())
    if not _is_text(absolute):
        raise FileError(f"the name of {path.name!r} is not UTF-8, which a table's must be; rename the file")
    # DuckDB takes * ? [ as patterns, and folders named a=1 as columns
    pattern = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in absolute)
    connection = duckdb.connect(config={"threads": THREADS, "memory_limit": f"{memory}B"})
    try:
        connection.execute("set enable_progress_bar = false")
        connection.execute(f"set allowed_paths = [{literal(absolute)}, {literal(pattern)}]")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        first = "" if header is None else f", header = {str(header).lower()}, max_line_size = {_LINE}"
        yield connection, f"{reader}({literal(pattern)}, hive_partitioning = false{first})"
    except duckdb.Error as error:
        reason = str(error).strip().splitlines()[0].replace(pattern, path.name)[:300]
        raise FileError(f"{path} is no readable table: {reason}") from None
    finally:
        connection.close()


def warm() -> None:
    """Load DuckDB now, so that the first table does not wait for it."""
    import duckdb

    duckdb.connect().close()


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_nul(text: str) -> None:
    if "\0" in text:
        raise FileError(f"the name {text[:40]!r} holds a zero byte, which SQL cannot; rename the column")
