"""langscape: pictures of what a language model holds, each with a figure that says how far to trust it.

Names are loaded when first used, so that `import langscape` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Affinities": "langscape.data",
    "Capture": "langscape.data",
    "Gaussians": "langscape.data",
    "Items": "langscape.data",
    "Map": "langscape.data",
    "Step": "langscape.data",
    "View": "langscape.data",
    "LangscapeError": "langscape.errors",
    "Schedule": "langscape.engine",
    "embed": "langscape.engine",
    "embed_many": "langscape.engine",
    "insert": "langscape.analyses.insert",
    "words": "langscape.analyses.words",
    "compare": "langscape.analyses.compare",
    "capture": "langscape.models",
    "open_model": "langscape.models",
    "read_gaussians": "langscape.gaussianfile",
    "read_map": "langscape.mapfile",
    "read_vectors": "langscape.sources",
    "read_word_list": "langscape.sources",
    "Vectors": "langscape.sources",
    "widget": "langscape.notebook",
}
_MODULES = ("affinity", "engine", "errors", "estimators", "metrics", "models", "sources", "views")

__all__ = [*sorted(_HOME), *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"langscape.{name}")
    raise AttributeError(f"module 'langscape' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
