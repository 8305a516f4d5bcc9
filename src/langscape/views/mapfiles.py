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
    made: Map,
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
        return write_columns(columns_of(made), path)
    shown = thinned(made) if suffix == ".html" else made
    return write(scatter(shown, color=color, title=title, quantiles=quantiles), path)


def columns_of(made: Map) -> dict[str, np.ndarray]:
    """Label, coordinates, the items' columns and the scores per point."""
    places = {axis: made.xy[:, at] for at, axis in enumerate("xyzw"[: made.xy.shape[1]])}
    columns = {"label": np.array(made.labels, object), **places, **made.items.columns, **made.per_point}
    if made.shapes is not None:
        xx, xy, yy = made.shapes[:, 0, 0], made.shapes[:, 0, 1], made.shapes[:, 1, 1]
        columns |= {"shape_xx": xx, "shape_xy": xy, "shape_yy": yy}
    return columns


def _of_shown(made: Map, per_point: dict[str, np.ndarray]) -> dict[str, float]:
    """The scores of the items shown, each judged against all: means over what is known per point."""
    whole: dict[str, float] = {}
    for name, values in per_point.items():
        known = values[np.isfinite(values)] if values.dtype.kind == "f" else values[:0]
        if name in made.quality and len(known):
            whole[name] = float(known.mean())
            if f"{name}_sd" in made.quality:
                whole[f"{name}_sd"] = float(known.std())
            whole["rows"] = float(len(known))
    return whole if "rows" in made.quality else {}


def thinned(made: Map) -> Map:
    """At most PAGE_UP_TO items for a page; says so on the map, whose scores are of the items shown."""
    if len(made) <= PAGE_UP_TO:
        return made
    inserted = made.items.columns.get("inserted", np.zeros(len(made), bool))
    old, new = np.flatnonzero(~inserted), np.flatnonzero(inserted)
    old = old[:: -(-len(old) // PAGE_UP_TO)] if len(old) > PAGE_UP_TO else old
    room = PAGE_UP_TO - len(old)
    rows = np.sort(np.concatenate([old, new[np.linspace(0, len(new) - 1, min(room, len(new))).astype(int)]]))
    per_point = {name: values[rows] for name, values in made.per_point.items()}
    return made.but(
        xy=made.xy[rows],
        items=made.items.take(rows),
        quality={**made.quality, **_of_shown(made, per_point)},
        per_point=per_point,
        vectors=None,
        neighbours=made.neighbours_among(rows),
        distances=None if made.distances is None else made.distances[rows],
        shapes=None if made.shapes is None else made.shapes[rows],
        notes=(*made.notes, f"{len(rows):,} of {len(made):,} items are drawn; the map file holds all"),
    )
