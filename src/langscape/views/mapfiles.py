"""A map as a file for people: a table, a page or a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from langscape.data import Map
from langscape.errors import SettingsError

PAGE_UP_TO = 1_000_000
"""Points drawn on a page; of larger maps, the old items and an even sample of the inserted ones."""

SUFFIXES = (".csv", ".html", ".svg", ".png", ".pdf")


def write_map(
    map: Map,
    path: str | Path,
    *,
    title: str | None = None,
    color: str | None = None,
    quantiles: int | None = None,
    point: str | None = None,
) -> Path:
    """Write the map as .csv, .html, .svg, .png or .pdf."""
    from langscape.views import scatter, write
    from langscape.views.table import write_columns

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingsError(
            f"{path.name} has no ending that a map is written as: .parquet, {', '.join(SUFFIXES)}"
        )
    if suffix == ".csv":
        return write_columns(columns_of(map), path)
    shown = thinned(map) if suffix == ".html" else map
    return write(scatter(shown, color=color, title=title, quantiles=quantiles, point=point), path)


def columns_of(map: Map) -> dict[str, np.ndarray]:
    """Label, coordinates, the items' columns and the scores per point."""
    places = {axis: map.xy[:, at] for at, axis in enumerate("xyzw"[: map.xy.shape[1]])}
    columns = {"label": np.array(map.labels, object), **places, **map.items.columns, **map.per_point}
    if map.shapes is not None:
        xx, xy, yy = map.shapes[:, 0, 0], map.shapes[:, 0, 1], map.shapes[:, 1, 1]
        columns |= {"shape_xx": xx, "shape_xy": xy, "shape_yy": yy}
    return columns


def _of_shown(map: Map, per_point: dict[str, np.ndarray]) -> dict[str, float]:
    """The scores of the items shown, each judged against all: means over what is known per point."""
    whole: dict[str, float] = {}
    for name, values in per_point.items():
        known = values[np.isfinite(values)] if values.dtype.kind == "f" else values[:0]
        if name in map.quality and len(known):
            whole[name] = float(known.mean())
            if f"{name}_sd" in map.quality:
                whole[f"{name}_sd"] = float(known.std())
            whole["rows"] = float(len(known))
    return whole if "rows" in map.quality else {}


def thinned(map: Map) -> Map:
    """At most PAGE_UP_TO items for a page; says so on the map, whose scores are of the items shown."""
    if len(map) <= PAGE_UP_TO:
        return map
    inserted = map.items.columns.get("inserted", np.zeros(len(map), bool))
    old, new = np.flatnonzero(~inserted), np.flatnonzero(inserted)
    old = old[:: -(-len(old) // PAGE_UP_TO)] if len(old) > PAGE_UP_TO else old
    room = PAGE_UP_TO - len(old)
    rows = np.sort(np.concatenate([old, new[np.linspace(0, len(new) - 1, min(room, len(new))).astype(int)]]))
    per_point = {name: values[rows] for name, values in map.per_point.items()}
    return map.but(
        xy=map.xy[rows],
        items=map.items.take(rows),
        quality={**map.quality, **_of_shown(map, per_point)},
        per_point=per_point,
        vectors=None,
        neighbours=map.neighbours_among(rows),
        distances=None if map.distances is None else map.distances[rows],
        weights=None if map.weights is None else map.weights[rows],
        shapes=None if map.shapes is None else map.shapes[rows],
        notes=(*map.notes, f"{len(rows):,} of {len(map):,} items are drawn; the map file holds all"),
    )
