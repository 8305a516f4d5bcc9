"""A map as one Parquet file: label, x, y, the items' columns, and the rest as metadata in the file.

Any table tool opens it. Coordinates and vectors are float32 and come back bit for bit. A file is
written beside its place and renamed, so a crash leaves the old one or the new one.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Items, Map
from langscape.errors import FileError
from langscape.whole import whole

if TYPE_CHECKING:
    import duckdb

FORMAT = 1
_AXES = ("x", "y", "z", "w")
_SHAPES = ("shape_xx", "shape_xy", "shape_yy")


def save_map(m: Map, path: str | Path, *, vectors: bool = True) -> Path:
    """Write the map to path (.parquet), whole or not at all; returns the path."""
    import duckdb

    path = Path(path)
    columns: dict[str, np.ndarray] = {"label": np.array(m.labels, dtype=object)}
    for d in range(m.xy.shape[1]):
        columns[_AXES[d]] = np.ascontiguousarray(m.xy[:, d])
    if m.shapes is not None:
        columns |= dict(zip(_SHAPES, (m.shapes[:, 0, 0], m.shapes[:, 0, 1], m.shapes[:, 1, 1]), strict=True))
    taken = {*columns, "vector"}
    own = {name: _free(f"item {name}" if name in taken else name, taken) for name in m.items.columns}
    taken |= set(own.values())
    points = {name: _free(f"point {name}" if name in taken else name, taken) for name in m.per_point}
    columns |= {own[name]: np.ascontiguousarray(values) for name, values in m.items.columns.items()}
    columns |= {points[name]: np.ascontiguousarray(values) for name, values in m.per_point.items()}
    keep = m.vectors if vectors else None
    meta = {
        "format": FORMAT,
        "kl": m.kl,
        "kls": m.kls.tolist(),
        "history": m.history.tolist(),
        "settings": dict(m.settings),
        "quality": dict(m.quality),
        "metric": m.metric,
        "notes": list(m.notes),
        "columns": own,
        "points": points,
        "dims": m.xy.shape[1],
        "xy": str(m.xy.dtype),
        "vectors": None if keep is None else {"dim": keep.shape[1], "dtype": str(keep.dtype)},
        "types": {name: str(values.dtype) for name, values in columns.items()},
    }
    connection = duckdb.connect()
    try:
        connection.execute("SET preserve_insertion_order = true")
        columns = {name: _writable_type(values) for name, values in columns.items()}
        connection.register("rows", columns)
        select = ["rows.*"]
        if keep is not None:
            parts = {f"v{i}": np.ascontiguousarray(keep[:, i]) for i in range(keep.shape[1])}
            connection.register("parts", parts)
            select.append(f"[{', '.join(parts)}] AS vector")
        source = "rows" if keep is None else "rows POSITIONAL JOIN parts"
        with whole(path) as aside:
            _copy(
                connection,
                f"COPY (SELECT {', '.join(select)} FROM {source}) TO '{_quoted(aside)}' "
                f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{langscape: '{_quoted(_json(meta))}'}})",
            )
    finally:
        connection.close()
    return path


def read_map(path: str | Path) -> Map:
    """The map that `Map.save` wrote, equal to it; or any Parquet table with label, x and y columns."""
    import duckdb

    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no map file {path}; make one with `langscape words`")
    connection = duckdb.connect()
    try:
        name = f"'{_quoted(path)}'"
        found = connection.execute(
            f"SELECT value FROM parquet_kv_metadata({name}) WHERE key = 'langscape'"
        ).fetchone()
        meta = _parsed(found[0], path) if found else {}
        names = [
            row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM read_parquet({name})").fetchall()
        ]
        plain = [f'"{column}"' for column in names if column != "vector"]
        table: dict[str, Any] = connection.execute(
            f"SELECT {', '.join(plain)} FROM read_parquet({name})"
        ).fetchnumpy()
        vectors = None
        if meta.get("vectors"):
            flat = connection.execute(f"SELECT unnest(vector) AS v FROM read_parquet({name})").fetchnumpy()[
                "v"
            ]
            vectors = (
                np.asarray(flat)
                .reshape(-1, meta["vectors"]["dim"])
                .astype(meta["vectors"]["dtype"], copy=False)
            )
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        if path.suffix.lower() != ".parquet":
            raise FileError(
                f"{path} is not a map; give a file such as `langscape words … --out map.parquet` writes"
            ) from None
        raise FileError(f"{path} is not a readable map file ({reason}); make it again") from None
    finally:
        connection.close()
    return _map_of(path, table, meta, vectors)


def _map_of(path: Path, table: dict[str, Any], meta: dict[str, Any], vectors: np.ndarray | None) -> Map:
    axes = _AXES[: meta.get("dims", 3 if "z" in table else 2)]
    absent = [column for column in ("label", *axes) if column not in table]
    if absent:
        raise FileError(f"{path} has no column {absent[0]!r}; a map has label, x and y")
    types = meta.get("types", {})

    def column(name: str) -> np.ndarray:
        values = np.ma.filled(table[name], _missing(table[name])) if np.ma.isMA(table[name]) else table[name]
        return np.asarray(values, dtype=types.get(name, values.dtype))

    xy = np.column_stack([column(axis) for axis in axes]).astype(meta.get("xy", "float32"))
    if not np.isfinite(xy).all():
        raise FileError(
            f"{path} holds coordinates that are not numbers (row {np.argwhere(~np.isfinite(xy))[0][0]})"
        )
    own = meta.get("columns")
    if own is None:  # a table of someone else's: every further column describes the items
        own = {name: name for name in table if name not in ("label", *axes, "vector")}
    shapes = None
    if "columns" in meta and all(name in table for name in _SHAPES):
        xx, xyc, yy = (column(name) for name in _SHAPES)
        shapes = np.stack([np.stack([xx, xyc], -1), np.stack([xyc, yy], -1)], -2)
    return Map(
        xy,
        Items([str(label) for label in table["label"]], {name: column(at) for name, at in own.items()}),
        kl=math.nan if meta.get("kl") is None else float(meta["kl"]),
        kls=np.array(meta.get("kls", []), np.float64),
        history=np.array(meta.get("history", []), np.float64).reshape(-1, 2),
        settings=meta.get("settings", {}),
        quality=meta.get("quality", {}),
        per_point={name: column(at) for name, at in meta.get("points", {}).items()},
        shapes=shapes,
        vectors=vectors,
        metric=meta.get("metric", "euclidean"),
        notes=tuple(meta.get("notes", ())),
    )


def _missing(values: np.ndarray) -> Any:
    return None if values.dtype == object else np.nan if values.dtype.kind == "f" else 0


def _parsed(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(raw)
    except ValueError:
        raise FileError(f"{path} carries damaged langscape metadata; make it again") from None
    if meta.get("format", 0) > FORMAT:
        raise FileError(
            f"{path} was written by a newer langscape (format {meta['format']}); update langscape"
        )
    return meta


def _writable_type(values: np.ndarray) -> np.ndarray:
    """DuckDB takes no half floats and no mixed objects; such columns become the nearest that it takes."""
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype == object:
        return np.array([None if v is None else str(v) for v in values], dtype=object)
    return values


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _json(meta: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        return str(value)

    return json.dumps(meta, default=plain, ensure_ascii=True)


def _quoted(text: Any) -> str:
    return str(text).replace("'", "''")


def _copy(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Run a COPY; what DuckDB says of a full or forbidden disk becomes an OSError, as any writer's does."""
    import duckdb

    try:
        connection.execute(statement)
    except duckdb.Error as error:
        raise OSError(str(error).splitlines()[0]) from None
