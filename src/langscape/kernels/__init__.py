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


def _choose_cache() -> str:
    if os.environ.get("NUMBA_CACHE_DIR"):
        return os.environ["NUMBA_CACHE_DIR"]
    from langscape.home import home

    # Numba looks only at a function's own file, so a change in maths.py would leave exact.py's
    # compiled code stale: the folder is named by the sources of all kernels.
    sources = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(file.read_bytes())
    folder = home() / "kernels" / sources.hexdigest()[:16]
    # An unwritable cache makes Numba raise at import, so a private folder stands in.
    return str(folder) if _writable(folder) else tempfile.mkdtemp(prefix="langscape-kernels-")


# Idle threads that spin halve the speed of shared cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["NUMBA_CACHE_DIR"] = _choose_cache()

import numba  # noqa: E402

numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]  # type: ignore[attr-defined]
