"""Files that are there whole or not at all: written aside, made to last, renamed into place."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from langscape.errors import LangscapeError, StoreError


@contextlib.contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """A free name beside `path` to write to; it becomes `path` when the block ends, and is gone if it fails.

    Folders that are missing are made. Disk errors become a StoreError that names the path.
    """
    path = Path(path)
    if path.is_dir():
        raise StoreError(f"cannot write {path}: it is a folder; name a file in it")
    aside = path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        sync(aside)
        aside.replace(path)
        sync(path.parent)
    except LangscapeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"cannot write {path}: {reason}; free space or choose another folder") from None
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def sync(path: Path) -> None:
    """Return when a file's bytes, or a folder's names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
