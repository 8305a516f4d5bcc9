"""What pictures, pages and lists call a model. Loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langscape.models.catalog import CATALOG


def model_title(name: str) -> str:
    """A model's name for readers: for `default` and the like what they are, of a folder its last part.

    >>> model_title("default"), model_title("/data/models/mine"), model_title("someone/model")
    ('MiniLM-L6', 'mine', 'someone/model')
    """
    if name in CATALOG:
        return CATALOG[name].title
    is_folder = Path(name).is_absolute() or name.startswith((".", "~"))
    return Path(name).name if is_folder else name


def title_of(model: Any) -> str:
    """The same of a model that is named, or opened already."""
    return model_title(model) if isinstance(model, str) else getattr(model, "name", "a model")
