"""langscape: pictures of what a language model holds, each with a score that says how far to trust it.

Names are loaded when first used, so that `import langscape` costs next to nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Affinities": "langscape.data",
    "Capture": "langscape.data",
    "Edit": "langscape.data",
    "Gaussians": "langscape.data",
    "Items": "langscape.data",
    "Map": "langscape.data",
    "Step": "langscape.data",
    "View": "langscape.data",
    "LangscapeError": "langscape.errors",
    "Schedule": "langscape.engine",
    "embed": "langscape.engine",
    "embed_many": "langscape.engine",
    "capture": "langscape.models",
    "check": "langscape.models",
    "look": "langscape.looking",
    "open_model": "langscape.models",
    "read_gaussians": "langscape.io.gaussian_file",
    "read_map": "langscape.io.map_file",
    "read_vectors": "langscape.sources",
    "read_word_list": "langscape.sources",
    "Vectors": "langscape.sources",
    "widget": "langscape.notebook",
}
_MODULES = ("affinity", "engine", "errors", "estimators", "metrics", "models", "sources", "views")

# one file, one analysis: a file that is there is a function that is there
_ANALYSES = tuple(
    one.name
    for one in pkgutil.iter_modules([str(Path(__file__).parent / "analyses")])
    if not one.name.startswith("_")
)

__all__ = sorted({*_HOME, *_MODULES, *_ANALYSES, "__version__"})  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:  # what a type checker sees; a test holds it equal to what is there
    from langscape.analyses.atlas import atlas as atlas
    from langscape.analyses.chunks import chunks as chunks
    from langscape.analyses.compare import compare as compare
    from langscape.analyses.compare_kl import compare_kl as compare_kl
    from langscape.analyses.edges import edges as edges
    from langscape.analyses.edit import edit as edit
    from langscape.analyses.effects import effects as effects
    from langscape.analyses.ellipses import ellipses as ellipses
    from langscape.analyses.flow import flow as flow
    from langscape.analyses.gaussians import gaussians as gaussians
    from langscape.analyses.generate import generate as generate
    from langscape.analyses.head import head as head
    from langscape.analyses.heads import heads as heads
    from langscape.analyses.hidden import hidden as hidden
    from langscape.analyses.insert import insert as insert
    from langscape.analyses.insert_texts import insert_texts as insert_texts
    from langscape.analyses.max_attention import max_attention as max_attention
    from langscape.analyses.patch import patch as patch
    from langscape.analyses.probe import probe as probe
    from langscape.analyses.query_key import query_key as query_key
    from langscape.analyses.query_key_beside import query_key_beside as query_key_beside
    from langscape.analyses.query_key_constants import query_key_constants as query_key_constants
    from langscape.analyses.query_key_grid import query_key_grid as query_key_grid
    from langscape.analyses.query_key_scale import query_key_scale as query_key_scale
    from langscape.analyses.query_key_search import query_key_search as query_key_search
    from langscape.analyses.robustness import robustness as robustness
    from langscape.analyses.roles import roles as roles
    from langscape.analyses.texts import texts as texts
    from langscape.analyses.why import why as why
    from langscape.analyses.words import words as words


def __getattr__(name: str) -> Any:
    if name in _ANALYSES:
        return getattr(importlib.import_module(f"langscape.analyses.{name}"), name)
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"langscape.{name}")
    raise AttributeError(f"module 'langscape' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
