"""A view in a notebook: the studio's own picture as a widget, which gives back what was selected.

Needs `pip install 'langscape[notebook]'`, and works in JupyterLab, VS Code and wherever anywidget does.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import View
from langscape.errors import MissingError
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
