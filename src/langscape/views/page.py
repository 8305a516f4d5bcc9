"""Views as one self-contained HTML page: script, sheet and data inside, nothing fetched."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import View
from langscape.errors import DataError, MissingError, SettingsError
from langscape.io.atomic_write import atomic_write
from langscape.views.kinds import check_kind
from langscape.views.plain import plain

STATIC = Path(__file__).parent.parent / "static"
"""Where `make page` puts the built page."""

DTYPES = ("float32", "int32", "uint16", "uint8")
"""The types of an array that the page's script reads."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<circle cx="10" cy="20" r="6" fill="#315ed7"/><circle cx="22" cy="21" r="4" fill="#e35c00"/>'
    '<circle cx="19" cy="9" r="5" fill="#23d0cf"/></svg>'
)


def write_page(views: View | Sequence[View], path: str | Path) -> Path:
    """Write the views as one page; several become tabs. The file is there whole or not at all."""
    text = page_html(views)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def page_html(views: View | Sequence[View], lesson: Mapping[str, Any] | None = None) -> str:
    """The whole page as text. It runs under a content security policy that lets nothing else in.

    With a lesson, the views are its pictures (`views.lesson`).
    """
    views = [views] if isinstance(views, View) else list(views)
    if not views:
        raise SettingsError("a page needs at least one view")
    script = _inline_script(_built("page.js"))
    sheet = _built("page.css").replace("</style", "<\\/style")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(sheet)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    held: dict[str, Any] = {"views": [packed(view) for view in views]}
    if lesson is not None:
        held["lesson"] = plain(lesson)
    data = json.dumps(held, allow_nan=False, separators=(",", ":"))
    icon = base64.b64encode(_ICON.encode()).decode()
    named = (lesson or views[0].properties).get("title") or "langscape"
    title = str(named).encode("utf-8", "replace").decode()
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n"
        f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">\n'
        f"<style>{sheet}</style>\n</head>\n<body>\n"
        '<div id="app"></div>\n<noscript>This page needs JavaScript; it runs none but its own.</noscript>\n'
        f'<script type="application/json" id="langscape-data">{_inline_json(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def packed(view: View) -> dict[str, Any]:
    """The view as JSON: its properties, and its arrays gzipped in base64."""
    check_kind(view)
    # squeezing is most of the work of a page, and runs beside itself
    with ThreadPoolExecutor() as pool:
        made = pool.map(_packed_array, view.arrays.keys(), view.arrays.values())
        arrays = dict(zip(view.arrays, made, strict=True))
    return {"kind": view.kind, "properties": plain(view.properties), "arrays": arrays}


def _packed_array(name: str, array: np.ndarray) -> dict[str, Any]:
    if array.dtype.name not in DTYPES:
        raise DataError(f"array {name!r} of a view is {array.dtype}; a page takes {', '.join(DTYPES)}")
    # The browser's numbers are little-endian. mtime 0: the same view gives the same page.
    raw = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
    squeezed = base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "gzip": squeezed}


def _built(name: str) -> str:
    path = STATIC / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingError(
            f"the page is not built: {path} is missing. Run `make page` in the repository (it needs Node "
            "20.19 or later), or install langscape from a wheel, which carries it; .png, .svg, .pdf need none"
        ) from None


def _inline_script(script: str) -> str:
    """The script so that no part of it can end its element; to be done before it is hashed."""
    script = script.replace("<!--", "<\\!--")
    return re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE)


def _inline_json(data: str) -> str:
    return data.replace("<", "\\u003c")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
