"""Imports the modules that register steps which are not declared yet."""

from __future__ import annotations

from langscape.run import (  # noqa: F401  register their steps
    distributions,
    flow,
)
