"""Recipe → result: what anything long computed is kept under, and found again.

>>> import tempfile
>>> from langscape.store import Store
>>> Store(tempfile.mkdtemp()).size()
(0, 0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langscape.store.recipe import Recipe
    from langscape.store.registry import step
    from langscape.store.results import Arrays, Table, Writes
    from langscape.store.store import Store

__all__ = ["Arrays", "Recipe", "Store", "Table", "Writes", "step"]

# loaded when first used: help needs no store
_HOME = {
    "Arrays": "results",
    "Recipe": "recipe",
    "Store": "store",
    "Table": "results",
    "Writes": "results",
    "step": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'langscape.store' has no attribute {name!r}")
    return getattr(importlib.import_module(f"langscape.store.{_HOME[name]}"), name)
