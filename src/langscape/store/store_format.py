"""A store's own file: its format, its id, and who made it."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from langscape import __version__
from langscape.errors import StoreError
from langscape.store import disk, locks
from langscape.store.manifest import FORMAT, label_format

OLDEST = 1
"""The oldest format of a store that this langscape reads."""

_ALWAYS = {"aside", "cancelled", "locks", "results"}
_FOLDERS = _ALWAYS | {"checkpoints", "damaged", "records", "studio"}


def store_id(root: Path) -> str:
    """The store's id, made for an empty folder; a folder of another format or use is refused.

    Where the file is lost or damaged, the labels of the results say the format, and it is written anew.
    """
    path = root / "store.json"
    contents = _read(path) or _make(root, path)
    number, by = contents["format"], contents["by"]
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
    return contents["id"]


def _read(path: Path) -> dict[str, Any] | None:
    """What the file says, or None if it is missing or damaged."""
    try:
        contents = json.loads(path.read_text())
        return {
            "format": int(contents["format"]),
            "id": str(contents["id"]),
            "by": str(contents.get("by", "langscape")),
        }
    except (
        FileNotFoundError,
        IsADirectoryError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):
        return None


def _make(root: Path, path: Path) -> dict[str, Any]:
    """Write the file of a new store, or of one whose file is lost."""
    _refuse_others(root, path)
    if not os.access(root, os.W_OK):
        raise disk.read_only(root, "store.json, which is missing or damaged,")
    disk.make_folder(root / "locks", root)
    with locks.held(root / "locks" / "new"):
        contents = _read(path)
        if contents is None:
            if path.exists():
                disk.set_aside(path, root)
            contents = {"format": _format_of(root), "id": uuid.uuid4().hex, "by": f"langscape {__version__}"}
            with disk.aside(root / "locks", "store", ".json") as written:
                written.write_text(json.dumps(contents, indent=1))
                disk.make_private(written)
                disk.sync(written)
                written.replace(path)
            disk.sync(root)
        return contents


def _refuse_others(root: Path, path: Path) -> None:
    """Refuse a folder that is neither empty nor a store whose file alone is missing."""
    names = {entry.name for entry in root.iterdir()}
    strange = sorted(name for name in names - _FOLDERS if not name.startswith(("index.sqlite", "damaged")))
    if path.exists() or names <= {"locks"} or (not strange and names >= _ALWAYS):
        return
    raise StoreError(
        f"{root} holds {(strange or sorted(names))[0]!r} and is no store of langscape; "
        "name an empty folder, or set LANGSCAPE_HOME to one"
    )


def _format_of(root: Path) -> int:
    """The newest format that a label names; ours where there is none."""
    formats = [label_format(path) for path in (root / "results").glob("??/*.json")]
    return max((number for number in formats if number is not None), default=FORMAT)
