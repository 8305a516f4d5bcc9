"""Pictures of maps and captures as data, and the files they become.

`scatter`, `attention`, `max_attention`, `atlas` and `flow` make a `View`; `write` makes a file of it,
by its suffix.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from langscape.data import View
from langscape.errors import SettingsError
from langscape.views.atlas import atlas
from langscape.views.attention import attention
from langscape.views.flow import flow
from langscape.views.max_attention import max_attention
from langscape.views.scatter import scatter

__all__ = ["atlas", "attention", "flow", "max_attention", "scatter", "write"]


def write(view: View | Sequence[View], path: str | Path) -> Path:
    """Write a view as a self-contained page (.html) or a picture (.png, .svg, .pdf).

    Several views become the tabs of one page; a picture takes one.
    """
    from langscape.views.figure import SUFFIXES, write_figure
    from langscape.views.page import write_page

    suffix = Path(path).suffix.lower()
    if suffix in (".html", ".htm"):
        return write_page(view, path)
    if suffix not in SUFFIXES:
        known = ", ".join((".html", *SUFFIXES))
        raise SettingsError(f"{Path(path).name!r} has no suffix that is known; a view is written as {known}")
    if not isinstance(view, View):
        raise SettingsError(f"{Path(path).name!r} takes one view, not {len(view)}; write .html instead")
    return write_figure(view, path)
