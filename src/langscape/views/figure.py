"""Views as pictures for print: PNG, SVG and PDF through matplotlib."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from langscape.data import View
from langscape.errors import SettingsError
from langscape.views.kinds import drawer
from langscape.whole import whole

SUFFIXES = (".png", ".svg", ".pdf")

# The same view gives the same bytes: no dates, no random names inside.
_SETTINGS: Any = {"svg.hashsalt": "langscape", "pdf.fonttype": 42}
_METADATA = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}


def write_figure(view: View, path: str | Path, *, dpi: int = 200) -> Path:
    """Write the view as .png, .svg or .pdf. The file is there whole or not at all."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingsError(f"{path.name!r} ends in {suffix or 'nothing'}; a figure is {', '.join(SUFFIXES)}")
    draw = drawer(view)
    import matplotlib

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with matplotlib.rc_context(_SETTINGS), whole(path) as temporary:
            draw(view).savefig(temporary, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
    glyphs = [warning for warning in caught if "missing from font" in str(warning.message)]
    for warning in caught:
        if warning not in glyphs:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if glyphs:
        warnings.warn(
            f"{path.name}: some labels have letters that no installed font can draw, and show boxes instead; "
            "install fonts for their script, or write .html",
            stacklevel=2,
        )
    return path
