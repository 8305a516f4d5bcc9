"""Pictures of maps and captures as data, and the files they become.

There is one function per kind of picture, each making a `View`; `write` makes a file of it, by its suffix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langscape.data import View
from langscape.errors import SettingsError
from langscape.views.atlas import atlas
from langscape.views.attention import attention, attention_difference
from langscape.views.boxes import boxes
from langscape.views.edited import edited
from langscape.views.effects import effects
from langscape.views.ellipses import ellipses
from langscape.views.flow import flow
from langscape.views.matrices import Matrix, class_tables, matrices, scales
from langscape.views.max_attention import max_attention
from langscape.views.probe import probe
from langscape.views.query_key import query_key
from langscape.views.scatter import scatter
from langscape.views.survey import survey

__all__ = [
    "Matrix",
    "atlas",
    "attention",
    "attention_difference",
    "boxes",
    "class_tables",
    "edited",
    "effects",
    "ellipses",
    "flow",
    "matrices",
    "max_attention",
    "probe",
    "query_key",
    "scales",
    "scatter",
    "survey",
    "write",
]


def write(view: View | Sequence[View], path: str | Path, *, columns: Mapping[str, Any] | None = None) -> Path:
    """Write a view as a page of its own (.html), a picture (.png, .svg, .pdf) or a table (.csv, .parquet).

    Several views become the tabs of one page; a picture or a table takes one. A .csv has these columns, where
    there are any, instead of those of the picture.
    """
    from langscape.views import table
    from langscape.views.figure import SUFFIXES, write_figure
    from langscape.views.page import write_page

    suffix = Path(path).suffix.lower()
    if suffix == ".csv" and columns is not None:
        return table.write_columns(columns, Path(path))
    if suffix in (".html", ".htm"):
        return write_page(view, path)
    if suffix not in (*SUFFIXES, *table.SUFFIXES):
        known = ", ".join((".html", *SUFFIXES, *table.SUFFIXES))
        raise SettingsError(f"{Path(path).name!r} has no suffix that is known; a view is written as {known}")
    if not isinstance(view, View):
        raise SettingsError(f"{Path(path).name!r} takes one view, not {len(view)}; write .html instead")
    return table.write_table(view, path) if suffix in table.SUFFIXES else write_figure(view, path)
