"""Every kind of view, one line each; `web/src/registry.ts` has the same names."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from langscape.data import View
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# kind: the function that draws it with matplotlib, loaded when first used.
KINDS = {
    "atlas": "langscape.views.figure_atlas:draw",
    "attention": "langscape.views.figure_attention:draw",
    "boxes": "langscape.views.figure_boxes:draw",
    "edited": "langscape.views.figure_edited:draw",
    "effects": "langscape.views.figure_effects:draw",
    "matrices": "langscape.views.figure_matrices:draw",
    "ellipses": "langscape.views.figure_ellipses:draw",
    "flow": "langscape.views.figure_flow:draw",
    "max_attention": "langscape.views.figure_max_attention:draw",
    "probe": "langscape.views.figure_probe:draw",
    "query_key": "langscape.views.figure_query_key:draw",
    "survey": "langscape.views.figure_survey:draw",
    "scatter": "langscape.views.figure_scatter:draw",
}


def check_kind(view: View) -> str:
    """The view's kind, if there is one of that name."""
    if view.kind not in KINDS:
        raise SettingsError(f"there is no kind of view {view.kind!r}; there are {', '.join(sorted(KINDS))}")
    return view.kind


def drawer(view: View) -> Callable[[View], Figure]:
    """The function that makes a matplotlib figure of this view."""
    module, name = KINDS[check_kind(view)].split(":")
    return getattr(importlib.import_module(module), name)
