"""A map as one Parquet file: label, x, y, the items' columns, and the rest as metadata in the file.

Any table tool opens it. Coordinates and vectors are float32 and come back bit for bit. A file is
written beside its place and renamed, so a crash leaves the old one or the new one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Items, Map
from langscape.errors import FileError
from langscape.io.atomic_write import atomic_write
from langscape.io.parquet import PICTURE, metadata_of, open_parquet, read_columns, read_lists, write_parquet
from langscape.io.regular_file import open_regular

FORMAT = 1
_AXES = ("x", "y", "z", "w")
_TRUE, _FAR = "neighbours", {"distances": "neighbour_distances", "weights": "neighbour_weights"}
_SHAPES = ("shape_xx", "shape_xy", "shape_yy")


def save_map(m: Map, path: str | Path, *, vectors: bool = True) -> Path:
    """Write the map to path (.parquet), whole or not at all; returns the path."""
    path = Path(path)
    columns: dict[str, np.ndarray] = {"label": np.array(m.labels, dtype=object)}
    for d in range(m.xy.shape[1]):
        columns[_AXES[d]] = np.ascontiguousarray(m.xy[:, d])
    if m.shapes is not None:
        columns |= dict(zip(_SHAPES, (m.shapes[:, 0, 0], m.shapes[:, 0, 1], m.shapes[:, 1, 1]), strict=True))
    taken = {*columns, "vector", _TRUE, *_FAR.values()}
    own = _free_names(m.items.columns, "item", taken)
    points = _free_names(m.per_point, "point", taken)
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
    lists = {} if keep is None else {"vector": keep}
    by = "distances" if m.weights is None else "weights"
    far = getattr(m, by)
    if m.neighbours is not None and far is not None and m.neighbours.shape[1]:
        lists |= {_TRUE: m.neighbours, _FAR[by]: far}
        meta |= {"neighbours": m.neighbours.shape[1], "neighbours_by": by}
    with atomic_write(path) as aside:
        write_parquet(aside, columns, lists=lists, metadata=_json(meta))
    return path


def read_map(path: str | Path) -> Map:
    """The map that `Map.save` wrote, equal to it; or any Parquet table with label, x and y columns."""
    path = Path(path)
    with open_regular(path, missing=f"there is no map file {path}; make one with `langscape words`") as file:
        if file.read(4) != b"PAR1" and path.suffix.lower() != ".parquet":
            raise FileError(
                f"{path} is not a map; give a file such as `langscape words … --out map.parquet` writes"
            )
    with open_parquet(path) as opened:
        raw = metadata_of(opened)
        meta = _parsed(raw, path) if raw is not None else {}
        table = read_columns(opened)
        vectors = None
        if meta.get("vectors"):
            vectors = read_lists(opened, "vector").astype(meta["vectors"]["dtype"], copy=False)
        true = _true_of(opened, meta, path)
    return _map_of(path, table, meta, vectors).but(**true)


def _true_of(opened: Any, meta: dict[str, Any], path: Path) -> dict[str, np.ndarray]:
    """The true neighbours that a file holds, each a row of it or −1."""
    if not meta.get("neighbours"):
        return {}
    by = meta.get("neighbours_by", "distances")
    rows, far = (read_lists(opened, name) for name in (_TRUE, _FAR[by]))
    whole = rows.dtype.kind in "iu" and far.dtype.kind == "f" and rows.shape == far.shape
    if not whole or rows.min(initial=0) < -1 or rows.max(initial=-1) >= len(rows):
        raise FileError(f"{path} names neighbours that it does not hold; make it again")
    return {"neighbours": rows.astype(np.int32), by: far.astype(np.float32)}


def _map_of(path: Path, table: dict[str, Any], meta: dict[str, Any], vectors: np.ndarray | None) -> Map:
    axes = _AXES[: meta.get("dims", 3 if "z" in table else 2)]
    own = meta.get("columns")
    if own is None:  # a table of someone else's: every further column describes the items
        own = {name: name for name in table if name not in ("label", *axes, "vector")}
    points = meta.get("points", {})
    absent = [name for name in ("label", *axes, *own.values(), *points.values()) if name not in table]
    if absent:
        raise FileError(f"{path} has no column {absent[0][:60]!r}; a map has label, x and y")
    types = meta.get("types", {})

    def column(name: str) -> np.ndarray:
        return _typed(table[name], types.get(name), path, name)

    if any(table[axis].dtype.kind not in "iuf" for axis in axes):
        raise FileError(f"{path} holds coordinates that are not numbers; a map has numbers in x and y")
    xy = np.column_stack([column(axis) for axis in axes]).astype(meta.get("xy", "float32"))
    if not np.isfinite(xy).all():
        raise FileError(
            f"{path} holds coordinates that are not numbers (row {np.argwhere(~np.isfinite(xy))[0][0]})"
        )
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
        per_point={name: column(at) for name, at in points.items()},
        shapes=shapes,
        vectors=vectors,
        metric=meta.get("metric", "euclidean"),
        notes=tuple(meta.get("notes", ())),
    )


def _typed(values: np.ndarray, stated: str | None, path: Path, name: str) -> np.ndarray:
    """A column in the type it was saved from, as far as what the file says of it can be believed."""
    if stated is None or stated == "object":
        return values
    kind = np.dtype(stated).kind  # checked before: one of ours
    if kind == "U":  # the width is the text's own: a width from a file could ask for any amount of memory
        return values.astype(object)
    if values.dtype.kind not in "biuf":
        raise FileError(
            f"{path} says that its column {name[:60]!r} is {stated}, but it is not; make it again"
        )
    with np.errstate(all="ignore"):
        return values.astype(stated, copy=False)


def _parsed(raw: bytes, path: Path) -> dict[str, Any]:
    """The metadata with every value of the type that a map file has."""
    try:
        meta = json.loads(raw)
    except (ValueError, RecursionError):
        raise FileError(f"{path} carries damaged langscape metadata; make it again") from None
    if isinstance(meta, dict) and PICTURE in meta and "format" not in meta:
        return {}  # the table of a picture: its further columns describe the items
    version = meta.get("format") if isinstance(meta, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise FileError(f"{path} was written by a newer langscape (format {version}); update langscape")
    wrong = next((name for name, fits in _META.items() if name in meta and not fits(meta[name])), None)
    if not isinstance(version, int) or wrong is not None:
        raise FileError(f"{path} carries wrong langscape metadata ({wrong or 'format'}); make it again")
    return meta


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e300


def _is_names(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _is_vectors(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict)
        and isinstance(value.get("dim"), int)
        and value.get("dtype") in ("float16", "float32", "float64")
    )


def _is_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(_is_kl, pair)) for pair in value
    )


def _is_kl(value: Any) -> bool:
    return _is_number(value) or (isinstance(value, float) and not math.isfinite(value))


_TYPE = re.compile(r"object|bool|u?int(8|16|32|64)|float(16|32|64)|[<>|=]?U\d{1,9}")
_META: dict[str, Callable[[Any], bool]] = {
    "kl": lambda value: value is None or _is_kl(value),
    "kls": lambda value: isinstance(value, list) and all(map(_is_kl, value)),
    "history": _is_pairs,
    "settings": lambda value: isinstance(value, dict),
    "quality": lambda value: isinstance(value, dict) and all(map(_is_kl, value.values())),
    "metric": lambda value: isinstance(value, str),
    "notes": lambda value: isinstance(value, list) and all(isinstance(note, str) for note in value),
    "columns": _is_names,
    "points": _is_names,
    "dims": lambda value: isinstance(value, int) and 2 <= value <= len(_AXES),
    "xy": lambda value: value in ("float32", "float64"),
    "vectors": _is_vectors,
    "neighbours": lambda value: isinstance(value, int) and value >= 0,
    "neighbours_by": lambda value: value in ("distances", "weights"),
    "types": lambda value: _is_names(value) and all(map(_TYPE.fullmatch, value.values())),
}
"""What each part of the metadata must be."""


def _free_names(names: Iterable[str], kind: str, taken: set[str]) -> dict[str, str]:
    """For each name a column that no other has; they are added to `taken`."""
    found: dict[str, str] = {}
    for name in names:
        column = f"{kind} {name}" if name in taken else name
        while column in taken:
            column += "_"
        taken.add(column)
        found[name] = column
    return found


def _json(meta: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        return str(value)

    return json.dumps(meta, default=plain, ensure_ascii=True)
