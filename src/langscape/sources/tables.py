"""A table with several rows per individual → one Gaussian per individual, through DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Gaussians, Items, Progress, Step
from langscape.errors import DataError, FileError, SettingsError
from langscape.io.csvtext import may_be_guarded, unguarded
from langscape.io.regular_file import check_regular
from langscape.io.sql import MEMORY, identifier, literal, table_of
from langscape.sources.word_lookup import some

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SAMPLES_UP_TO = 20_000_000
"""Numbers up to which the rows themselves are kept; above, means and variances alone."""

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", "-")
"""Cells that stand for a missing value in a column of numbers."""

FEW = 5
"""An item of fewer rows than this is marked "few", as a word with fewer contexts than asked is."""

_MOSTLY = 0.5
"""The share of cells that are numbers from which on a column is taken for one of numbers with wrong cells."""

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "U")
_READERS = {".csv": "read_csv", ".tsv": "read_csv", ".parquet": "read_parquet", ".pq": "read_parquet"}


def gaussians(
    path: str | Path,
    by: str,
    columns: Sequence[str] | None = None,
    *,
    standardise: bool = True,
    missing: Sequence[str] = (),
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> Gaussians:
    """One Gaussian for each value of the column `by`, over the columns named, or all that hold numbers.

    A row with a missing value in any of these columns is left out, and counted in `notes`; an individual
    without a complete row is named there. Missing are empty cells, the usual codes (NA, N/A, NaN, null, ?, -)
    and those in `missing`. A column that holds numbers but for a few cells is named with these: in `notes`
    where columns were not named, and refused where it was.

    One row is variance 0. Columns are divided by their standard deviation over all complete rows, so that
    units do not matter; standardise=False keeps them.
    """
    path = Path(path)
    tell = progress or (lambda step: None)
    with table_of(path, reader_of(path), memory=memory) as (connection, source):
        tell(Step(0, 3, f"reading {path.name}", counts=False))
        source = _named(connection, source, path)
        codes = [*dict.fromkeys([*MISSING, *([missing] if isinstance(missing, str) else missing)])]
        names, notes = _columns(connection, source, path, by, columns, codes)
        found = _gathered(connection, source, path, by, names, standardise, codes, tell)
        return replace(found, notes=(*notes, *found.notes))


def reader_of(path: Path) -> str:
    """DuckDB's function for a table: by its ending, or for bytes kept without one by how it begins."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None and path.suffix != ".bin":
        raise FileError(f"{path} is no table that is known; expected one of {', '.join(_READERS)}")
    check_regular(path, missing=f"there is no table {path}; check the path")
    if reader is None:
        with path.open("rb") as file:
            reader = "read_parquet" if file.read(4) == b"PAR1" else "read_csv"
    return reader


def columns_of(path: str | Path) -> dict[str, str]:
    """The columns of a table with DuckDB's names of their types."""
    path = Path(path)
    with table_of(path, reader_of(path)) as (connection, source):
        source = _named(connection, source, path)
        found = connection.execute(f"describe select * from {source}").fetchall()
    return {str(name): str(kind) for name, kind, *_ in found}


def _named(connection: DuckDBPyConnection, source: str, path: Path) -> str:
    """The table with the names that its columns had before a CSV was written."""
    if reader_of(path) != "read_csv":
        return source
    names = [name for name, *_ in connection.execute(f"describe select * from {source}").fetchall()]
    plain = _plain(names, path)
    if plain == names:
        return source
    each = (f"{identifier(name)} as {identifier(to)}" for name, to in zip(names, plain, strict=True))
    return f"(select {', '.join(each)} from {source})"


def _columns(
    connection: DuckDBPyConnection,
    source: str,
    path: Path,
    by: str,
    wanted: Sequence[str] | None,
    codes: Sequence[str],
) -> tuple[list[str], list[str]]:
    """The columns of numbers, and what is to be said of those that nearly are."""
    found = connection.execute(f"describe select * from {source}").fetchall()
    kinds = {name: str(kind) for name, kind, *_ in found}
    if by not in kinds:
        raise SettingsError(f"{path} has no column {by!r}; it has {some(kinds)}")
    numbers = {name for name, kind in kinds.items() if kind.startswith(_NUMBERS) and not kind.endswith("]")}
    notes = []
    for name in [name for name, kind in kinds.items() if kind == "VARCHAR" and name != by]:
        wrong = _wrong_cells(connection, source, name, codes)
        if wrong == "":
            numbers.add(name)
        elif wrong is not None and (wanted is None or name in wanted):
            said = f"column {name!r} of {path.name} holds numbers but for {wrong}"
            if wanted is not None:
                raise SettingsError(f"{said}; mend these cells, or give them as missing values (missing)")
            notes.append(f"{said}; it is left out: mend these cells, or give them as missing values")
    if wanted is None:
        names = [name for name in kinds if name in numbers and name != by]
    else:
        names = list(dict.fromkeys([wanted] if isinstance(wanted, str) else wanted))
        for name in names:
            if name not in kinds:
                raise SettingsError(f"{path} has no column {name!r}; it has {some(kinds)}")
            if name not in numbers:
                raise SettingsError(f"column {name!r} of {path} holds {kinds[name]}; expected numbers")
    if not names:
        why = f": {notes[0]}" if notes else "; name some with columns"
        raise SettingsError(f"{path} has no columns of numbers beside {by!r}{why}")
    return names, notes


def _number(name: str, codes: Sequence[str]) -> str:
    """A cell as a number, null where it is missing."""
    text = f"trim({identifier(name)}::varchar)"
    listed = ", ".join(literal(code) for code in codes)
    return f"case when {text} in ({listed}) then null else try_cast({text} as double) end"


def _wrong_cells(connection: DuckDBPyConnection, source: str, name: str, codes: Sequence[str]) -> str | None:
    """Of texts: "" if all are numbers or missing, the wrong ones if they are few, None if most are wrong."""
    text = f"trim({identifier(name)})"
    given = f"{text} not in ({', '.join(literal(code) for code in codes)})"
    numbers = f"try_cast({text} as double) is not null"
    there, right = _one(
        connection, f"select count(*), count(*) filter ({numbers}) from {source} where {given}"
    )
    if there == right:
        return "" if right else None
    if right < _MOSTLY * there:
        return None
    cells = connection.execute(
        f"select {text} as cell, count(*) as n from {source} where {given} and not {numbers} group by cell "
        "order by n desc, cell limit 4"
    ).fetchall()
    named = ", ".join(f"{str(cell)[:30]!r}" + (f" ({n:,} times)" if n > 1 else "") for cell, n in cells)
    return f"{there - right:,} of {there:,} cells: {named}"


def _gathered(
    connection: DuckDBPyConnection,
    source: str,
    path: Path,
    by: str,
    names: list[str],
    standardise: bool,
    codes: Sequence[str],
    tell: Progress,
) -> Gaussians:
    cells = [f'{_number(name, codes)} as "v{i}"' for i, name in enumerate(names)]
    finite = " and ".join(f"isfinite({_number(name, codes)})" for name in names)
    kept = f"{identifier(by)} is not null and {finite}"
    rows = f"(select {identifier(by)}::varchar as who, {', '.join(cells)} from {source} where {kept})"
    whole = _one(connection, f"select count(*), count(distinct {identifier(by)}) from {source}")
    scales = np.array(_one(connection, f"select {_each(names, 'stddev_pop')} from {rows}"), np.float64)
    scales = np.where(scales > 0, scales, 1.0) if standardise else np.ones(len(names))
    tell(Step(1, 3, "means and variances", counts=False))
    # var_pop is Welford's in DuckDB, so large means do not cancel
    table = connection.execute(
        f"select who, count(*) as n, {_each(names, 'avg', 'm')}, {_each(names, 'var_pop', 's')} from {rows} "
        "group by who order by who"
    ).fetchnumpy()
    counts = np.asarray(table["n"], np.int64)
    if not len(counts):
        raise DataError(f"{path} has no row with a value in each of {some(names)}; name fewer columns")
    means = np.column_stack([np.asarray(table[f"m{i}"], np.float64) for i in range(len(names))])
    variances = np.column_stack([np.asarray(table[f"s{i}"], np.float64) for i in range(len(names))])
    samples = None
    if counts.sum() * len(names) <= SAMPLES_UP_TO:
        tell(Step(2, 3, "rows", counts=False))
        columns_found = connection.execute(f"select * exclude (who) from {rows} order by who").fetchnumpy()
        samples = (
            np.column_stack([np.asarray(columns_found[f"v{i}"], np.float64) for i in range(len(names))])
            / scales
        )
    labels = [str(who) for who in table["who"]]
    tell(Step(3, 3, f"{len(labels):,} individuals", counts=False))
    return Gaussians(
        means / scales,
        np.maximum(variances, 0.0) / scales**2,
        Items(
            _plain(labels, path),
            {"rows": counts, "few": counts < FEW, **{name: means[:, i] for i, name in enumerate(names)}},
        ),
        counts,
        samples=None if samples is None else samples.astype(np.float32),
        metadata={"table": path.name, "by": by, "columns": names, "standardised": standardise},
        notes=_notes(connection, source, by, whole, counts, labels),
    )


def _notes(
    connection: DuckDBPyConnection,
    source: str,
    by: str,
    whole: tuple[Any, ...],
    counts: np.ndarray,
    labels: list[str],
) -> tuple[str, ...]:
    notes, used = [], int(counts.sum())
    if used < whole[0]:
        notes.append(f"{whole[0] - used:,} of {whole[0]:,} rows with missing values were left out")
    if few := [label for label, n in zip(labels, counts.tolist(), strict=True) if n < FEW]:
        notes.append(f"{len(few):,} of {len(labels):,} items have fewer than {FEW} rows: {some(few)}")
    if len(labels) < whole[1]:
        distinct = f"select distinct {identifier(by)}::varchar as who from {source}"
        every = connection.execute(f"{distinct} where who is not null order by who").fetchall()
        lost = sorted({str(who) for (who,) in every} - set(labels))
        notes.append(f"{len(lost)} individuals have no complete row and are left out: {some(lost)}")
    return tuple(notes)


def _plain(labels: list[str], path: Path) -> list[str]:
    """Names or labels as they were before a CSV was written."""
    if reader_of(path) != "read_csv" or not may_be_guarded(labels):
        return labels
    return [unguarded(label) for label in labels]


def _each(names: Sequence[str], function: str, letter: str = "x") -> str:
    return ", ".join(f'{function}("v{i}") as "{letter}{i}"' for i in range(len(names)))


def _one(connection: DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    row = connection.execute(query).fetchone()
    assert row is not None
    return tuple(0 if value is None else value for value in row)
