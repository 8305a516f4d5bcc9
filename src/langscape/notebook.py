"""What a notebook shows: the studio's own picture as a widget, which gives back what was selected.

The widget needs `pip install 'langscape[notebook]'`, and works in JupyterLab, VS Code and wherever anywidget
does; elsewhere a page or a PNG is shown.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Gaussians, View
from langscape.data.shown import Tabular
from langscape.errors import LangscapeError, MissingError
from langscape.views.page import STATIC
from langscape.views.table import table

if TYPE_CHECKING:
    from anywidget import AnyWidget


def widget(value: Any, *, height: int = 560) -> AnyWidget:
    """A picture, or all pictures of a result, as an interactive widget that gives back what was selected.

    `selection` is the selected rows as a data frame, `selected` their labels, `rows` their numbers, which may
    also be set from Python. Properties travel as JSON and arrays as raw bytes.
    """
    return _class()(pictures(value), height)


@cache
def _class() -> type[Any]:
    """The class is made when first used: importing langscape must not need a notebook."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingError(
            f"the widget needs {error.name}; run `pip install 'langscape[notebook]'`"
        ) from None

    class Widget(anywidget.AnyWidget):
        """Views as tabs; `picture` and `rows`, what is shown and selected, are kept equal on both sides."""

        _esm = _built("widget.js")
        pictures = traitlets.Unicode().tag(sync=True)
        data = traitlets.Bytes().tag(sync=True)
        height = traitlets.Int(560).tag(sync=True)
        picture = traitlets.Int(0).tag(sync=True)
        rows = traitlets.List(traitlets.Int()).tag(sync=True)

        def __init__(self, views: list[View], height: int) -> None:
            described, data = packed(views)
            super().__init__(pictures=described, data=data, height=height, picture=0, rows=[])
            self.views = views

        @property
        def view(self) -> View:
            """The picture that is shown."""
            return self.views[self.picture if self.picture in range(len(self.views)) else 0]

        @property
        def selected(self) -> list[str]:
            """The labels of the selected rows."""
            labels = _labels(self.view)
            return [str(labels[row]) for row in self.rows if 0 <= row < len(labels)]

        @property
        def selection(self) -> Any:
            """The selected rows: a pandas data frame, or an Arrow table where there is no pandas.

            What is selected in a matrix or a flow are tokens: then all rows of these.
            """
            return _frame(*_chosen(self.view, self.rows))

    return Widget


def _labels(view: View) -> list[Any]:
    """What the page selects among."""
    named = (view.properties.get(name) for name in ("labels", "tokens", "queries", "keys"))
    found = next((one for one in named if isinstance(one, list | tuple) and one), ())
    return list(found)


def _chosen(view: View, rows: Sequence[int]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The rows of the view's table that belong to selected labels, and their numbers in it."""
    labels, columns = _labels(view), table(view)
    length = len(next(iter(columns.values())))
    if "label" in columns:  # one row for each, or for each in every panel
        owner = np.arange(length) % max(len(labels), 1)
    elif "query_position" in columns or "position" in columns:
        owner = columns.get("query_position", columns.get("position"))
    else:  # an atlas lists its heads, and the selected are tokens
        columns = {"position": np.arange(len(labels)), "label": np.array(labels, dtype=object)}
        owner = columns["position"]
    numbers = np.concatenate([np.flatnonzero(owner == row) for row in rows] or [np.arange(0)])
    return {name: values[numbers] for name, values in columns.items()}, numbers


def _frame(columns: dict[str, np.ndarray], numbers: np.ndarray) -> Any:
    rows = Rows(columns).to_arrow()
    try:
        import pandas
    except ImportError:
        return rows
    return rows.to_pandas().set_index(pandas.Index(numbers, name="row"))


@dataclass(frozen=True)
class Rows(Tabular):
    """Columns of one length."""

    columns: Mapping[str, Any]

    def row_columns(self) -> Mapping[str, Any]:
        """The columns themselves."""
        return self.columns


def packed(views: Sequence[View]) -> tuple[str, bytes]:
    """The views as JSON, with where each of their arrays lies within the bytes; and the bytes.

    Every array begins at a multiple of 8.
    """
    from langscape.views.kinds import check_kind
    from langscape.views.plain import plain

    described: list[dict[str, Any]] = []
    parts: list[bytes] = []
    at = 0
    for view in views:
        check_kind(view)
        layout: dict[str, Any] = {}
        for name, array in view.arrays.items():
            raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
            layout[name] = {
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "at": at,
                "bytes": len(raw),
            }
            parts += [raw, b"\0" * (-len(raw) % 8)]
            at += len(raw) + -len(raw) % 8
        described.append({"kind": view.kind, "properties": plain(view.properties), "arrays": layout})
    return json.dumps(described, allow_nan=False), b"".join(parts)


def _built(name: str) -> str:
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingError(
            f"the widget is not built: {STATIC / name} is missing. Run `make page` in the repository (needs "
            "Node 20.19 or later), or install langscape from a wheel, which carries it"
        ) from None


LARGEST_PAGE = 980_000
"""Bytes of a page within a notebook; what is larger is a PNG, so that ten pictures stay below 10 MB."""


def pictures(value: Any) -> list[View]:
    """The pictures of a noun or a result, the most telling first."""
    if isinstance(value, View):
        return [value]
    if isinstance(value, Gaussians):
        from langscape.engine import pca
        from langscape.views import ellipses

        return [ellipses(pca(value), value)]
    return value.views() if hasattr(value, "views") else [value.view()]


def bundle(value: Any) -> dict[str, Any]:
    """What a notebook shows of it, by media type; text always, and alone in a terminal.

    Where somebody sits before a notebook and anywidget is there, the widget, with a PNG for whoever reads the
    file later; else a page that needs nothing, or a PNG where that would be large.
    """
    contents: dict[str, Any] = {"text/plain": repr(value)}
    shell = _shell()
    if shell is not None and not hasattr(shell, "kernel"):
        return contents
    try:
        views = pictures(value)
        drawn = _widget(value) if _shows_widgets(shell) else {}
        if drawn:
            return contents | drawn | {"image/png": png(views[0])}
        return contents | _still(views)
    except LangscapeError as error:
        return {"text/plain": f"{contents['text/plain']}\n(no picture: {error})"}


def png(view: View, *, dpi: int = 110) -> str:
    """The view as a PNG in base64, in 256 colours, which takes a third of the bytes."""
    from PIL import Image

    from langscape.views.figure import figure_bytes

    drawn = Image.open(io.BytesIO(figure_bytes(view, ".png", dpi=dpi))).convert("RGB")
    small = io.BytesIO()
    drawn.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def _still(views: list[View]) -> dict[str, str]:
    from langscape.views.page import page_html

    still = png(views[0], dpi=86)
    for some in (views, [_lighter(view) for view in views]):
        try:
            page = page_html(some)
        except MissingError:  # the page is not built
            break
        # a frame of its own: neither the notebook's sheet nor its scripts reach in, nor do ours reach out.
        # Where frames and styles are taken out, as on GitHub and in notebooks that are not trusted, the
        # picture behind it is left
        framed = (
            f"<iframe srcdoc='{_quoted(page)}' "
            f'sandbox="allow-scripts allow-downloads" width="100%" '
            f'height="580" style="border: 0" title="langscape"></iframe>'
            f'<img src="data:image/png;base64,{still}" alt="langscape" style="display: none">'
        )
        if len(framed.encode()) <= LARGEST_PAGE:
            return {"text/html": framed}
    return {"image/png": still}


def _quoted(page: str) -> str:
    """A page as the value of an attribute in single quotes; in one, `<` and `>` stand for themselves."""
    return page.replace("&", "&amp;").replace("'", "&#39;")


def _lighter(view: View) -> View:
    """An atlas without the attention of every head, which is most of its page; other views as they are."""
    if view.kind != "atlas":
        return view
    kept = {name: array for name, array in view.arrays.items() if name not in view.properties["later"]}
    note = "attention is left out here, so that the notebook stays small; save the atlas as .html to have it"
    notes = [*view.properties["notes"], note]
    return View(view.kind, {**view.properties, "later": [], "notes": notes}, kept)


def _widget(result: Any) -> dict[str, Any]:
    """What shows the widget; nothing where anywidget or the built page is missing."""
    try:
        contents: Any = widget(result)._repr_mimebundle_()
    except MissingError:
        return {}
    data = contents[0] if isinstance(contents, tuple) else contents
    return {kind: value for kind, value in (data or {}).items() if kind != "text/plain"}


def _shell() -> Any:
    """IPython's shell, where this runs in one; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _shows_widgets(shell: Any) -> bool:
    """Whether a notebook that shows widgets is open: JupyterLab and its kin, VS Code, Colab or marimo.

    A kernel alone says nothing of it: nbconvert, Quarto and papermill run one too, and what they write is
    read where none is left, and often without a network to fetch from what a widget needs there.
    """
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return True
    if not hasattr(shell, "kernel"):
        return False
    colab = "google.colab" in sys.modules
    return "JPY_SESSION_NAME" in os.environ or "__vsc_ipynb_file__" in shell.user_ns or colab
