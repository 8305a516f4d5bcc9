"""Where langscape keeps what it makes: results, models, compiled kernels."""

from __future__ import annotations

import os
from pathlib import Path


def home_folder() -> Path:
    """The folder of everything kept between runs; `LANGSCAPE_HOME` moves it."""
    if os.environ.get("LANGSCAPE_HOME"):
        return Path(os.environ["LANGSCAPE_HOME"])
    import platformdirs

    return Path(platformdirs.user_cache_dir("langscape"))
