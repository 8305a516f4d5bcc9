"""Many recipes at once, in worker processes here or on a Dask cluster; what was done stays done."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langscape.execution.sweep import Sweep
    from langscape.execution.sweep_runner import Report

__all__ = ["Report", "Sweep"]

# loaded when first used: help needs no workers
_HOME = {"Report": "sweep_runner", "Sweep": "sweep"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'langscape.execution' has no attribute {name!r}")
    return getattr(importlib.import_module(f"langscape.execution.{_HOME[name]}"), name)
