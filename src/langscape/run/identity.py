"""A store's own file: its format, its id, and who made it."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from langscape import __version__
from langscape.errors import StoreError
from langscape.run import disk, locks
from langscape.run.label import FORMAT

OLDEST = 1
"""The oldest format of a store that this langscape reads."""


def identity(root: Path) -> str:
    """The store's id, made for an empty folder; a folder of another format or use is refused."""
    path = root / "store.json"
    if not path.exists():
        _found(root, path)
    try:
        said = json.loads(path.read_text())
        number, id, by = int(said["format"]), str(said["id"]), str(said.get("by", "langscape"))
    except (ValueError, KeyError, TypeError):
        raise StoreError(
            f"{path} is damaged, so the store's format is not known; put a copy of it back, or set "
            "LANGSCAPE_HOME to another folder"
        ) from None
    if number > FORMAT:
        raise StoreError(
            f"the store {root} has format {number}, written by {by}; this langscape {__version__} reads "
            f"format {FORMAT}. Update langscape, or set LANGSCAPE_HOME to another folder"
        )
    if number < OLDEST:
        raise StoreError(
            f"the store {root} has format {number}, written by {by}; this langscape reads formats "
            f"{OLDEST} to {FORMAT}. Its results can be computed again: remove the folder, or keep it and set "
            "LANGSCAPE_HOME to another"
        )
    return id


def _found(root: Path, path: Path) -> None:
    others = sorted(p.name for p in root.iterdir() if p.name not in ("locks", "store.json"))
    if others and not path.exists():
        raise StoreError(
            f"{root} holds {others[0]!r} and is no store of langscape; "
            "name an empty folder, or set LANGSCAPE_HOME to one"
        )
    (root / "locks").mkdir(mode=0o700, exist_ok=True)
    with locks.held(root / "locks" / "new"), disk.aside(root / "locks", "store", ".json") as written:
        if not path.exists():
            said = {"format": FORMAT, "id": uuid.uuid4().hex, "by": f"langscape {__version__}"}
            written.write_text(json.dumps(said, indent=1))
            disk.make_private(written)
            disk.sync(written)
            written.replace(path)
            disk.sync(root)
