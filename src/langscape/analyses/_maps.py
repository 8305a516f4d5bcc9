"""What analyses that give a `Map` share: its picture, its files, its summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langscape.data import Map, View
from langscape.declarations import picture
from langscape.declarations.settings import Color, Point, Quantiles
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.metrics.scores import Place

FORMATS = (".parquet", ".csv", ".html", ".svg", ".png", ".pdf")


@picture("scatter", name="map")
def map_picture(found: Map, context: Any, *, color: Color = None, quantiles: Quantiles = None) -> View:
    """The map."""
    from langscape.views import scatter

    return scatter(found, title=context.title, color=color, quantiles=quantiles)


def check_color(color: str | None, *columns: str, place: Place = "map") -> None:
    """Refuse a colour that a map with these columns, and the scores of its kind, cannot have.

    This is asked before anything is computed.
    """
    from langscape.metrics.scores import applying

    columns = (*columns, *(score.name for score in applying(place, computed=True)))
    if color is not None and color not in columns:
        raise SettingsError(f"color {color!r} is not known; use {', '.join(dict.fromkeys(columns))}")


def save_map_as(
    found: Map,
    path: Path,
    *,
    title: str | None = None,
    color: Color = None,
    quantiles: Quantiles = None,
    point: Point = None,
) -> Path:
    """A map as a file."""
    return found.save(path, title=title, color=color, quantiles=quantiles, point=point)


def summary(found: Map, known: Sequence[str] = ()) -> list[str]:
    """What a map is like, in a few lines; notes that the reader knows already are left out."""
    from langscape.views import trust

    return [trust.summary(found), *(note for note in trust.notes_of(found) if note not in known)]
