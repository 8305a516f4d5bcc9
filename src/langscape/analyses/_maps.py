"""What analyses that give a `Map` share: its picture, its files, its summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langscape.data import Map, View
from langscape.declarations import picture
from langscape.declarations.settings import Color, Quantiles
from langscape.errors import SettingsError

SCORES = ("local", "global", "ndcg", "trustworthiness")
"""What every item of a map made from vectors has; items that were inserted have the first two."""

FORMATS = (".parquet", ".csv", ".html", ".svg", ".png", ".pdf")


@picture("scatter", name="map")
def map_picture(found: Map, context: Any, *, color: Color = None, quantiles: Quantiles = None) -> View:
    """The map."""
    from langscape.views import scatter

    return scatter(found, title=context.title, color=color, quantiles=quantiles)


def check_color(color: str | None, *columns: str) -> None:
    """Refuse a colour that a map with these columns cannot have, before anything is computed."""
    if color is not None and color not in columns:
        raise SettingsError(f"color {color!r} is not known; use {', '.join(dict.fromkeys(columns))}")


def save_map_as(
    found: Map, path: Path, *, title: str | None = None, color: Color = None, quantiles: Quantiles = None
) -> Path:
    """A map as a file."""
    return found.save(path, title=title, color=color, quantiles=quantiles)


def summary(found: Map, known: Sequence[str] = ()) -> list[str]:
    """What a map is like, in a few lines; notes that the reader knows already are left out."""
    from langscape.views.trust import notes_of

    scores = found.quality
    parts = [f"{len(found):,} items"]
    if found.kl == found.kl:
        parts.append(f"KL {found.kl:z.4f}")
    if len(found.kls) > 1:
        parts.append(f"best of {len(found.kls)}, {found.kls.min():z.4f} to {found.kls.max():z.4f}")
    if "local" in scores:
        before = "before insertion " if "before" in scores else ""
        parts.append(f"{before}local {100 * scores['local']:.1f} % ± {100 * scores['local_sd']:.1f}")
        parts.append(f"global {scores['global']:z.3f}")
    if scores.get("inserted"):
        parts.append(
            f"{int(scores['inserted']):,} inserted: local {100 * scores['inserted_local']:.1f} %, "
            f"global {scores['inserted_global']:z.3f}"
        )
    return [", ".join(parts), *(note for note in notes_of(found) if note not in known)]
