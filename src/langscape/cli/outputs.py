"""Where a map goes: the file for each --out, by its suffix, and a summary for the reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from langscape.cli.terminal import say
from langscape.errors import SettingsError
from langscape.io.atomic_write import check_writable

if TYPE_CHECKING:
    from langscape.data import Map

SUFFIXES = (".parquet", ".csv", ".html", ".svg", ".png", ".pdf")


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


def summary(map: Map, known: Sequence[str] = ()) -> None:
    """Say what the map is like, in a few lines on stderr; notes that the reader knows are left out."""
    from langscape.analyses._maps import summary as lines

    say(*lines(map, known))
