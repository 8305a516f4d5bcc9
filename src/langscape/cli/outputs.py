"""Where a map goes: the file for each --out, by its suffix, and a summary for the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli.choices import check_choice
from langscape.cli.terminal import say
from langscape.errors import SettingsError
from langscape.io.atomic_write import check_writable

if TYPE_CHECKING:
    import numpy as np

    from langscape.data import Map
    from langscape.metrics.scores import Place

SUFFIXES = (".parquet", ".csv", ".html", ".svg", ".png", ".pdf")

PAGE_UP_TO = 100_000
"""Points drawn on a page; of larger maps, the old items and an even sample of the inserted ones."""

OUT = typer.Option(
    [],
    "--out",
    "-o",
    help="Where to write: .parquet, .csv, .html, .svg, .png or .pdf; may be given several times.",
)


def check_outs(outs: list[Path], known: Sequence[str] = SUFFIXES, *, folder: bool = False) -> None:
    """Refuse before anything is computed what cannot be written: an unknown suffix, a place that is closed.

    folder=True takes a path without a suffix, too.
    """
    for out in outs:
        in_it = folder and (out.is_dir() or not out.suffix)
        if out.suffix.lower() not in known and not in_it:
            listed = ", ".join(known) + (", or a folder" if folder else "")
            raise SettingsError(f"--out {out} has no suffix that is known; use one of {listed}")
        check_writable(out / "index.html" if in_it else out)


def check_color(color: str | None, *columns: str, place: Place = "map") -> None:
    """Refuse a colour that a map with these columns and the scores of its kind cannot have."""
    from langscape.metrics.scores import applying

    scores = (score.name for score in applying(place, computed=True))
    check_choice("color", color, None, *dict.fromkeys((*columns, *scores)))


def has_groups(list_: Path | None) -> bool:
    """True if there is a word list, and it has a group column."""
    from langscape.sources import read_word_list

    return list_ is not None and read_word_list(list_).groups is not None


def deliver(
    map: Map, outs: list[Path], *, title: str, color: str | None = None, quantiles: int | None = None
) -> None:
    """Write the map to every place asked for, and print where it went."""
    from langscape.views import scatter, write

    for out in outs:
        suffix = out.suffix.lower()
        if suffix == ".parquet":
            map.save(out)
        elif suffix == ".csv":
            write_csv(map, out)
        else:
            shown = _thinned(map) if suffix == ".html" else map
            write(scatter(shown, color=color, title=title, quantiles=quantiles), out)
        typer.echo(out)


def write_csv(map: Map, out: Path) -> None:
    """label, coordinates, the items' columns and the figures per point, as CSV."""
    axes = ("x", "y", "z", "w")[: map.xy.shape[1]]
    places = {axis: map.xy[:, at] for at, axis in enumerate(axes)}
    columns = {"label": map.labels, **places, **map.items.columns, **map.per_point}
    if map.shapes is not None:
        xx, xy, yy = map.shapes[:, 0, 0], map.shapes[:, 0, 1], map.shapes[:, 1, 1]
        columns |= {"shape_xx": xx, "shape_xy": xy, "shape_yy": yy}
    write_columns(columns, out)


def write_columns(columns: Mapping[str, Sequence[Any] | np.ndarray], out: Path) -> None:
    """Columns of one length as CSV, with their names above."""
    from langscape.io.atomic_write import atomic_write
    from langscape.views.table import csv_text

    text = csv_text({name: _as_column(values) for name, values in columns.items()})
    with atomic_write(out) as aside:
        aside.write_text(text, encoding="utf-8", newline="")


def _as_column(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    import numpy as np

    column = np.asarray(values)
    return column.astype(object) if column.dtype.kind in "US" else column


def summary(map: Map, known: Sequence[str] = ()) -> None:
    """Say what the map is like, in a few lines on stderr; notes that the reader knows are left out."""
    from langscape.analyses._maps import summary as lines

    say(*lines(map, known))


def _thinned(map: Map) -> Map:
    """At most PAGE_UP_TO items for a page; says so on the map."""
    import numpy as np

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
        neighbours=map.neighbours_among(rows),
        distances=None if map.distances is None else map.distances[rows],
        shapes=None if map.shapes is None else map.shapes[rows],
        notes=(*map.notes, f"{len(rows):,} of {len(map):,} items are drawn; the map file holds all"),
    )
