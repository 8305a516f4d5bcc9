"""A map as a file for people: a table, a page or a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from langscape.data import Map
from langscape.errors import SettingsError

PAGE_UP_TO = 100_000
"""Points drawn on a page; of larger maps, the old items and an even sample of the inserted ones."""

SUFFIXES = (".csv", ".html", ".svg", ".png", ".pdf")


def write_map(
    map: Map,
    path: str | Path,
    *,
    title: str | None = None,
    color: str | None = None,
    quantiles: int | None = None,
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
    return write(scatter(shown, color=color, title=title, quantiles=quantiles), path)


def columns_of(map: Map) -> dict[str, np.ndarray]:
    """Label, coordinates, the items' columns and the scores per point."""
    places = {axis: map.xy[:, at] for at, axis in enumerate("xyzw"[: map.xy.shape[1]])}
    columns = {"label": np.array(map.labels, object), **places, **map.items.columns, **map.per_point}
    if map.shapes is not None:
        xx, xy, yy = map.shapes[:, 0, 0], map.shapes[:, 0, 1], map.shapes[:, 1, 1]
        columns |= {"shape_xx": xx, "shape_xy": xy, "shape_yy": yy}
    return columns


def thinned(map: Map) -> Map:
    """At most PAGE_UP_TO items for a page; says so on the map."""
    if len(map) <= PAGE_UP_TO:
        return map
    inserted = map.items.columns.get("inserted", np.zeros(len(map), bool))
    old, new = np.flatnonzero(~inserted), np.flatnonzero(inserted)
    old = old[:: -(-len(old) // PAGE_UP_TO)] if len(old) > PAGE_UP_TO else old
    room = PAGE_UP_TO - len(old)
    rows = np.sort(
        np.concatenate([old, new[np.linspace(0, len(new) - 1, room).astype(int)] if room else new[:0]])
    )
    return map.but(
        xy=map.xy[rows],
        items=map.items.take(rows),
        per_point={name: values[rows] for name, values in map.per_point.items()},
        vectors=None,
        shapes=None if map.shapes is None else map.shapes[rows],
        notes=(*map.notes, f"{len(rows):,} of {len(map):,} items are drawn; the map file holds all"),
    )
