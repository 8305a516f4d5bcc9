"""Views as pictures for print: PNG, SVG and PDF through matplotlib."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from typing import Any

from langscape.data import View
from langscape.errors import SettingsError
from langscape.io.atomic_write import atomic_write
from langscape.views.kinds import drawer

SUFFIXES = (".png", ".svg", ".pdf")

# The same view gives the same bytes: no dates, no random names inside.
_SETTINGS: Any = {"svg.hashsalt": "langscape", "pdf.fonttype": 42}
# Letters are outlines 6,400 units high, hence a stroke so wide: 1.4 points around letters of 6.
_RIM = "stroke: #ffffff; stroke-opacity: 0.85; stroke-width: 1536"
_METADATA = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}


def write_figure(view: View, path: str | Path, *, dpi: int = 200) -> Path:
    """Write the view as .png, .svg or .pdf. The file is there whole or not at all."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingsError(f"{path.name!r} ends in {suffix or 'nothing'}; a figure is {', '.join(SUFFIXES)}")
    drawn, caught, boxes = _drawn(view, suffix, dpi)
    if boxes:
        from langscape.views.paper import found_new_fonts

        if found_new_fonts():
            drawn, caught, boxes = _drawn(view, suffix, dpi)
    with atomic_write(path) as temporary:
        temporary.write_bytes(drawn)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if boxes:
        warnings.warn(
            f"{path.name}: some labels have letters that no installed font can draw, and show boxes instead; "
            "install fonts for their script, or write .html",
            stacklevel=2,
        )
    return path


def _drawn(view: View, suffix: str, dpi: int) -> tuple[bytes, list[warnings.WarningMessage], bool]:
    """The file's bytes, what was warned of meanwhile, and whether letters are missing from all fonts.

    It is drawn in memory: on a full disk the writer of PDF files fails with an error of zlib's.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawn = figure_bytes(view, suffix, dpi=dpi)
    glyphs = [one for one in caught if "missing from font" in str(one.message)]
    return drawn, [one for one in caught if one not in glyphs], bool(glyphs)


def figure_bytes(view: View, suffix: str, *, dpi: int = 200) -> bytes:
    """The view as the bytes of a .png, .svg or .pdf file."""
    draw = drawer(view)
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        figure = draw(view)
        rimmed = suffix == ".svg" and _take_rims(figure)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
    return _with_rims(drawn.getvalue()) if rimmed else drawn.getvalue()


def _take_rims(figure: Any) -> bool:
    """Take the white rims off labels, and name these; whether there are any.

    With a rim, matplotlib spells out every letter twice; without, each is written once and used again. A
    map with 190 labels then takes 0.3 MB instead of 2.
    """
    from matplotlib.text import Text

    rimmed = [text for text in figure.findobj(Text) if text.get_path_effects()]
    for at, text in enumerate(rimmed):
        text.set_path_effects([])
        text.set_gid(f"label_{at}")
    return bool(rimmed)


def _with_rims(drawn: bytes) -> bytes:
    """The rims put back: every named label once more below itself, in white and wide."""
    again = rf'<use xlink:href="#\1" style="{_RIM}"/>\n   <g id="\1">'
    return re.sub(r'<g id="(label_\d+)">', again, drawn.decode()).encode()
