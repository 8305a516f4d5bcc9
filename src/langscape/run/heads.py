"""What the steps that are not declared yet share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.analyses._captures import captured as captured
from langscape.declarations.running import _opened as opened
from langscape.sources.textfile import read_text as read_text

__all__ = ["captured", "opened", "read_text", "revision"]


def revision(settings: Mapping[str, Any]) -> str:
    """Which model a recipe's settings mean, so that another one of the same name is another result."""
    from langscape.models import model_revision

    return model_revision(settings["model"])
