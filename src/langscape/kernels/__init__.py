"""The hot loops, in Numba: exact and gridded t-SNE steps, perplexity search, KL.

Importing this package decides where compiled code is kept (the user's cache folder, so that
the second start is fast) before Numba reads it. `reference.py` holds the same formulas in NumPy:
the oracle that tests compare with.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _choose_cache() -> Path:
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        # a process started by one with plain kernels is given their folder, and may make another choice
        return Path(given).parent if Path(given).name == _PLAIN else Path(given)
    from langscape.paths import home_folder

    # Numba looks only at a function's own file, so a change in maths.py would leave exact.py's
    # compiled code stale: the folder is named by the sources of all kernels.
    sources = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(file.read_bytes())
    folder = home_folder() / "kernels" / sources.hexdigest()[:16]
    # An unwritable cache makes Numba raise at import, so a private folder stands in.
    return folder if _writable(folder) else Path(tempfile.mkdtemp(prefix="langscape-kernels-"))


# Idle threads that spin halve the speed of shared cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
_PLAIN = "plain"
cache_folder = _choose_cache()
os.environ["NUMBA_CACHE_DIR"] = str(cache_folder)

import numba  # noqa: E402


def keep_compiled_code(*, plain: bool) -> None:
    """Keep what is compiled from now on apart from the other set of kernels (see `dispatch.py`)."""
    folder = str(cache_folder / _PLAIN if plain else cache_folder)
    # in the environment too: Numba reads it again when any of its variables changes
    os.environ["NUMBA_CACHE_DIR"] = folder
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]


keep_compiled_code(plain=False)
