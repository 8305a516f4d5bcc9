"""Recipe → result: the one way anything long is run, kept, and gone on with.

>>> import tempfile
>>> from langscape.run import Store
>>> Store(tempfile.mkdtemp()).size()
(0, 0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langscape.run.recipe import Recipe
    from langscape.run.registry import step
    from langscape.run.results import Arrays, Table, Writes
    from langscape.run.running import Report
    from langscape.run.store import Store
    from langscape.run.sweep import Sweep

__all__ = ["Arrays", "Recipe", "Report", "Store", "Sweep", "Table", "Writes", "step"]

# loaded when first used: help needs no store
_HOME = {
    "Arrays": "results",
    "Recipe": "recipe",
    "Report": "running",
    "Store": "store",
    "Sweep": "sweep",
    "Table": "results",
    "Writes": "results",
    "step": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'langscape.run' has no attribute {name!r}")
    return getattr(importlib.import_module(f"langscape.run.{_HOME[name]}"), name)
