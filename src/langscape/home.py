"""Where langscape keeps what it makes and fetches: one folder, `LANGSCAPE_HOME` to move it."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The folder of the store and the models; it may not exist yet."""
    chosen = os.environ.get("LANGSCAPE_HOME")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("langscape"))
