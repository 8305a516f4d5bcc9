"""A table with several rows per individual → one Gaussian per individual, through DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Gaussians, Items, Progress, Step
from langscape.errors import DataError, FileError, SettingsError
from langscape.io.csvtext import may_be_guarded, unguarded
from langscape.io.regular_file import check_regular
from langscape.io.sql import MEMORY, identifier, table_of
from langscape.sources.word_lookup import some

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SAMPLES_UP_TO = 20_000_000
"""Numbers up to which the rows themselves are kept; above, means and variances alone."""

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "U")
_READERS = {".csv": "read_csv", ".tsv": "read_csv", ".parquet": "read_parquet", ".pq": "read_parquet"}


def gaussians(
    path: str | Path,
    by: str,
    columns: Sequence[str] | None = None,
    *,
    standardise: bool = True,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> Gaussians:
    """One Gaussian for each value of the column `by`, over the columns named, or all that hold numbers.

    A row with a missing value in any of these columns is left out, and counted in `notes`; an individual
    without a complete row is named there. One row is variance 0. Columns are divided by their standard
    deviation over all complete rows, so that units do not matter; standardise=False keeps them.
    """
    path = Path(path)
    tell = progress or (lambda step: None)
    with table_of(path, reader_of(path), memory=memory) as (connection, source):
        tell(Step(0, 3, f"reading {path.name}"))
        source = _named(connection, source, path)
        names = _columns(connection, source, path, by, columns)
        return _gathered(connection, source, path, by, names, standardise, tell)


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
    connection: DuckDBPyConnection, source: str, path: Path, by: str, wanted: Sequence[str] | None
) -> list[str]:
    found = connection.execute(f"describe select * from {source}").fetchall()
    kinds = {name: str(kind) for name, kind, *_ in found}
    if by not in kinds:
        raise SettingsError(f"{path} has no column {by!r}; it has {some(kinds)}")
    numbers = [name for name, kind in kinds.items() if kind.startswith(_NUMBERS) and not kind.endswith("]")]
    if wanted is None:
        names = [name for name in numbers if name != by]
    else:
        names = list(dict.fromkeys([wanted] if isinstance(wanted, str) else wanted))
        for name in names:
            if name not in kinds:
                raise SettingsError(f"{path} has no column {name!r}; it has {some(kinds)}")
            if name not in numbers:
                raise SettingsError(f"column {name!r} of {path} holds {kinds[name]}; expected numbers")
    if not names:
        raise SettingsError(f"{path} has no columns of numbers beside {by!r}; name some with columns")
    return names


def _gathered(
    connection: DuckDBPyConnection,
    source: str,
    path: Path,
    by: str,
    names: list[str],
    standardise: bool,
    tell: Progress,
) -> Gaussians:
    cells = [f'{identifier(name)}::double as "v{i}"' for i, name in enumerate(names)]
    finite = " and ".join(f"isfinite({identifier(name)}::double)" for name in names)
    kept = f"{identifier(by)} is not null and {finite}"
    rows = f"(select {identifier(by)}::varchar as who, {', '.join(cells)} from {source} where {kept})"
    whole = _one(connection, f"select count(*), count(distinct {identifier(by)}) from {source}")
    scales = np.array(_one(connection, f"select {_each(names, 'stddev_pop')} from {rows}"), np.float64)
    scales = np.where(scales > 0, scales, 1.0) if standardise else np.ones(len(names))
    tell(Step(1, 3, "means and variances"))
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
        tell(Step(2, 3, "rows"))
        columns_found = connection.execute(f"select * exclude (who) from {rows} order by who").fetchnumpy()
        samples = (
            np.column_stack([np.asarray(columns_found[f"v{i}"], np.float64) for i in range(len(names))])
            / scales
        )
    labels = [str(who) for who in table["who"]]
    tell(Step(3, 3, f"{len(labels):,} individuals"))
    return Gaussians(
        means / scales,
        np.maximum(variances, 0.0) / scales**2,
        Items(_plain(labels, path), {"rows": counts, **{name: means[:, i] for i, name in enumerate(names)}}),
        counts,
        samples=None if samples is None else samples.astype(np.float32),
        metadata={"table": path.name, "by": by, "columns": names, "standardised": standardise},
        notes=_notes(connection, source, by, whole, int(counts.sum()), labels),
    )


def _notes(
    connection: DuckDBPyConnection, source: str, by: str, whole: tuple[Any, ...], used: int, labels: list[str]
) -> tuple[str, ...]:
    notes = []
    if used < whole[0]:
        notes.append(f"{whole[0] - used:,} of {whole[0]:,} rows with missing values were left out")
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
