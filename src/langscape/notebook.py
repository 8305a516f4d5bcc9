"""What a notebook shows: the studio's own picture as a widget, which gives back what was selected.

The widget needs `pip install 'langscape[notebook]'`, and works in JupyterLab, VS Code and wherever anywidget
does; elsewhere a page or a PNG is shown.
"""

from __future__ import annotations

import base64
import html
import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Gaussians, View
from langscape.errors import LangscapeError, MissingError
from langscape.views.page import STATIC
from langscape.views.table import table

if TYPE_CHECKING:
    from anywidget import AnyWidget


def widget(view: View, *, height: int = 560) -> AnyWidget:
    """The view as an interactive widget; `selection` has the selected rows, `selected` their labels.

    Properties travel as JSON and arrays as raw bytes. The selection may also be set from Python.
    """
    return _class()(view, height)


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
        """A view; `selection` is a list of row numbers, kept equal on both sides."""

        _esm = _built("widget.js")
        kind = traitlets.Unicode().tag(sync=True)
        properties = traitlets.Unicode().tag(sync=True)
        layout_of_arrays = traitlets.Unicode().tag(sync=True)
        data = traitlets.Bytes().tag(sync=True)
        height = traitlets.Int(560).tag(sync=True)
        selection = traitlets.List(traitlets.Int()).tag(sync=True)

        def __init__(self, view: View, height: int) -> None:
            layout, data = packed(view)
            super().__init__(
                kind=view.kind,
                properties=json.dumps(_plain(view), allow_nan=False),
                layout_of_arrays=json.dumps(layout),
                data=data,
                height=height,
                selection=[],
            )
            self.view = view

        @property
        def selected(self) -> list[str]:
            """The labels of the selected rows."""
            labels = self.view.properties.get("labels") or self.view.properties.get("tokens") or ()
            return [str(labels[row]) for row in self.selection if 0 <= row < len(labels)]

        @property
        def rows(self) -> dict[str, np.ndarray]:
            """The selected rows of the view's table."""
            chosen = np.asarray(self.selection, np.intp)
            return {name: values[chosen] for name, values in table(self.view).items()}

    return Widget


def packed(view: View) -> tuple[dict[str, Any], bytes]:
    """Where each array lies within the bytes, and the bytes; every array begins at a multiple of 8."""
    layout: dict[str, Any] = {}
    parts: list[bytes] = []
    at = 0
    for name, array in view.arrays.items():
        raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        layout[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "at": at, "bytes": len(raw)}
        parts += [raw, b"\0" * (-len(raw) % 8)]
        at += len(raw) + -len(raw) % 8
    return layout, b"".join(parts)


def _plain(view: View) -> Any:
    from langscape.views.kinds import check_kind
    from langscape.views.plain import plain

    check_kind(view)
    return plain(view.properties)


def _built(name: str) -> str:
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingError(
            f"the widget is not built: {STATIC / name} is missing. Run `make page` in the repository (needs "
            "Node 20.19 or later), or install langscape from a wheel, which carries it"
        ) from None


LARGEST_PAGE = 900_000
"""Bytes of a page within a notebook; what is larger is a PNG, so that ten pictures stay below 10 MB."""


def pictures(held: Any) -> list[View]:
    """The pictures of a noun or a result, the most telling first."""
    if isinstance(held, View):
        return [held]
    if isinstance(held, Gaussians):
        from langscape.engine import pca
        from langscape.views import ellipses

        return [ellipses(pca(held), held)]
    return held.views() if hasattr(held, "views") else [held.view()]


def bundle(held: Any) -> dict[str, Any]:
    """What a notebook shows of it, by media type; text always, and alone in a terminal.

    Where a kernel runs and anywidget is there, the widget, with a PNG for whoever reads the file later; else
    a page that needs nothing, or a PNG where that would be large.
    """
    told: dict[str, Any] = {"text/plain": repr(held)}
    shell = _shell()
    if shell is not None and not hasattr(shell, "kernel"):
        return told
    try:
        views = pictures(held)
        drawn = _widget(views[0]) if shell is not None else {}
        if drawn:
            return told | drawn | {"image/png": png(views[0])}
        return told | _still(views)
    except LangscapeError as error:
        return {"text/plain": f"{told['text/plain']}\n(no picture: {error})"}


def png(view: View, *, dpi: int = 110) -> str:
    """The view as a PNG in base64."""
    from langscape.views.figure import figure_bytes

    return base64.b64encode(figure_bytes(view, ".png", dpi=dpi)).decode()


def _still(views: list[View]) -> dict[str, str]:
    from langscape.views.page import page_html

    try:
        page = page_html(views)
    except MissingError:  # the page is not built
        return {"image/png": png(views[0])}
    # a frame of its own: neither the notebook's sheet nor its scripts reach in, nor do ours reach out
    framed = (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" width="100%" '
        f'height="580" style="border: 0" title="langscape"></iframe>'
    )
    return {"text/html": framed} if len(framed.encode()) <= LARGEST_PAGE else {"image/png": png(views[0])}


def _widget(view: View) -> dict[str, Any]:
    """What shows the widget; nothing where anywidget or the built page is missing."""
    try:
        made: Any = widget(view)._repr_mimebundle_()
    except MissingError:
        return {}
    data = made[0] if isinstance(made, tuple) else made
    return {kind: value for kind, value in (data or {}).items() if kind != "text/plain"}


def _shell() -> Any:
    """IPython's shell, where this runs in one; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
