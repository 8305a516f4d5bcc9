"""Files that are there whole or not at all: written aside, made to last, renamed into place."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from langscape.errors import LangscapeError, StoreError

PART_AGE = 86400.0
"""Seconds after which a file being written belongs to nobody, whoever wrote it."""

_WRITER = r"(?:\.(?P<machine>[^\W_]{1,24})-(?P<pid>\d{1,10}))?"
_PART = re.compile(rf"\..{{1,40}}?{_WRITER}\.[0-9a-f]{{12}}\.part", re.DOTALL)


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """A free name beside `path` to write to; it becomes `path` when the block ends, and is gone if it fails.

    Folders that are missing are made. Disk errors become a StoreError that names the path. What writers that
    were killed left in the same folder goes.
    """
    path = _file(path)
    aside = path.with_name(part_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_parts(path.parent)
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


@contextlib.contextmanager
def work_folder(parent: Path, name: str) -> Iterator[Path]:
    """A new folder to write to, only for this user; whatever is still in it when the block ends goes."""
    remove_parts(parent)
    folder = parent / part_name(name)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def part_name(name: str) -> str:
    """A free name for a file being written; it says who writes it, so that one who was killed can be told."""
    return f".{name[:40]}.{machine()}-{os.getpid()}.{secrets.token_hex(6)}.part"


def remove_parts(folder: Path) -> None:
    """Remove what writers of this machine that are dead, or any writer a day ago, left in a folder.

    Only names that `part_name` gives, or gave before it named the writer, are touched.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            found = _PART.fullmatch(file.name)
            if found is None:
                continue
            with contextlib.suppress(OSError):
                here = found["machine"] == machine()
                old = time.time() - file.stat(follow_symlinks=False).st_mtime > PART_AGE
                if old or (here and not _is_alive(int(found["pid"]))):
                    if file.is_dir(follow_symlinks=False):
                        shutil.rmtree(file.path, ignore_errors=True)
                    else:
                        os.unlink(file.path)


def machine() -> str:
    """This machine's name, fit for file names."""
    return "".join(c for c in os.uname().nodename if c.isalnum())[:24] or "machine"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


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
