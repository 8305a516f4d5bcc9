"""Files that are there whole or not at all: written aside, made to last, renamed into place."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from langscape.errors import LangscapeError, StoreError


@contextlib.contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """A free name beside `path` to write to; it becomes `path` when the block ends, and is gone if it fails.

    Folders that are missing are made. Disk errors become a StoreError that names the path.
    """
    path = _file(path)
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
        raise _cannot(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def check_writable(path: str | Path) -> None:
    """Refuse a file that cannot be written, before anything is computed for it. Leaves no trace."""
    path = _file(path)
    folder = next(one for one in path.absolute().parents if one.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):  # the mode of a folder does not tell all: try
            pass
    except OSError as error:
        raise _cannot(path, error) from None


def sync(path: Path) -> None:
    """Return when a file's bytes, or a folder's names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _file(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise StoreError(f"cannot write {path}: it is a folder; name a file in it")
    return path


def _cannot(path: Path, error: OSError) -> StoreError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    next_step = "free space or choose another folder" if full else "choose another folder"
    return StoreError(f"cannot write {path}: {error.strerror or error}; {next_step}")
