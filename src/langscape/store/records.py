"""Records: small JSON files of one kind, whole or not there at all, checked by their hash."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from langscape.store import disk, locks
from langscape.store.recipe import canonical

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_GRAIN = 2_000_000_000
"""Nanoseconds within which a file may change twice and keep its time: such a file is read again."""


class Records:
    """The records of one kind by id, each the file root/records/KIND/ID.json. A damaged one is not there.

    >>> import tempfile
    >>> held = Records(Path(tempfile.mkdtemp()), "jobs")
    >>> held.put("a", {"state": "done"})
    >>> held.get("a"), held.all()
    ({'state': 'done'}, {'a': {'state': 'done'}})
    """

    def __init__(self, root: Path, kind: str) -> None:
        self._root, self._kind = root, kind
        self._folder = root / "records" / kind
        self._read: dict[str, tuple[tuple[int, int, int], str, dict[str, Any]]] = {}

    @contextmanager
    def lock(self, id: str) -> Iterator[None]:
        """Held by whoever reads a record in order to change it."""
        with ExitStack() as stack:
            with disk.writing("a record", self._root):
                stack.enter_context(locks.held(self._root / "locks" / f"{self._kind}-{file_name(id)}"))
            yield

    def get(self, id: str) -> dict[str, Any] | None:
        """The record of that id, or None if it is missing or damaged."""
        found = read_record(self._path(id))
        return found[1] if found is not None and found[0] == id else None

    def all(self) -> dict[str, dict[str, Any]]:
        """Every record that is whole, by id. Files that have not changed are not read again."""
        read = {}
        try:
            with os.scandir(self._folder) as files:
                for file in files:
                    if file.name.endswith(".json") and (one := self._known(file)) is not None:
                        read[file.name] = one
        except (FileNotFoundError, NotADirectoryError):
            pass
        self._read = read
        return {id: dict(record) for _, id, record in read.values()}

    def ids(self) -> set[str]:
        """The ids of all records by the names of their files, which are not read."""
        return {path.stem for path in self._folder.glob("*.json")}

    def put(self, id: str, record: Mapping[str, Any]) -> None:
        """Write a record down, so that it is there whatever happens next."""
        with disk.writing("a record", self._root):
            for folder in (self._root / "aside", self._folder.parent, self._folder):
                disk.make_folder(folder, self._root)
            with disk.aside(self._root / "aside", file_name(id)[:16], ".json") as written:
                written.write_text(record_text(id, record), encoding="utf-8")
                disk.make_private(written)
                disk.sync(written)
                disk.replace(written, self._path(id), self._root)
            disk.sync(self._folder)

    def remove(self, id: str) -> None:
        """Forget a record; nothing is fine too."""
        with disk.writing("a record", self._root):
            disk.remove(self._path(id))

    def remove_damaged(self) -> list[str]:
        """Set damaged records aside, so that they are not met again; the names of their files."""
        gone = []
        for path in sorted(self._folder.glob("*.json")):
            if read_record(path) is None:
                disk.set_aside(path, self._root)
                gone.append(path.stem)
        return gone

    def _path(self, id: str) -> Path:
        return self._folder / f"{file_name(id)}.json"

    def _known(self, file: os.DirEntry[str]) -> tuple[tuple[int, int, int], str, dict[str, Any]] | None:
        try:
            status = file.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        before = self._read.get(file.name)
        if before is not None and before[0] == stamp and time.time_ns() - status.st_mtime_ns > _GRAIN:
            return before
        found = read_record(Path(file.path))
        return None if found is None else (stamp, *found)


def record_text(id: str, record: Mapping[str, Any]) -> str:
    """A record as its file holds it, with the sha256 of itself."""
    contents = {"id": id, "record": dict(record)}
    return json.dumps({**contents, "check": hashlib.sha256(canonical(contents).encode()).hexdigest()})


def read_record(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Id and record of a file, or None if it is missing or damaged."""
    try:
        contents = json.loads(path.read_bytes())
        check = contents.pop("check")
        if check != hashlib.sha256(canonical(contents).encode()).hexdigest():
            return None
        if path.stem != file_name(contents["id"]) or not isinstance(contents["record"], dict):
            return None
        return contents["id"], contents["record"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def file_name(id: str) -> str:
    """The id where it is fit for a file name, else its hash."""
    return id if _PLAIN.fullmatch(id) else f"x-{hashlib.sha256(id.encode('utf-8', 'replace')).hexdigest()}"
