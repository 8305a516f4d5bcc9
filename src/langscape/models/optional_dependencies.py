"""What is said where a package of the extra `models` is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from langscape.errors import MissingError
from langscape.models.tile_instructions import avoid_tiles

_PACKAGES = ("torch", "transformers", "huggingface_hub", "safetensors", "tokenizers")
INSTALL = "`pip install 'langscape[models]'`"


def lacking() -> str | None:
    """The first package of the extra that is not installed; nothing is imported to find out."""
    return next((name for name in _PACKAGES if find_spec(name) is None), None)


@contextmanager
def needs_models() -> Iterator[None]:
    """Within, an import that fails for want of such a package says what to install."""
    avoid_tiles()
    try:
        yield
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in _PACKAGES:
            raise MissingError(f"models need {missing}; run {INSTALL}") from None
        raise
