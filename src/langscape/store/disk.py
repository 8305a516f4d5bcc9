"""Writing so that a crash leaves the old state or the new one, and a full disk is one clear error."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from langscape.errors import LangscapeError, StoreError
from langscape.io.atomic_write import machine


@contextmanager
def aside(folder: Path, stem: str, ending: str) -> Iterator[Path]:
    """A name to write to; whatever is still there when the block ends, for any reason, is removed.

    The name holds machine and process, so that the leavings of a killed worker can be told apart.
    """
    path = folder / f"{stem}.{machine()}-{os.getpid()}.{secrets.token_hex(4)}{ending}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Return when a file's bytes, or a folder's names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(what: str, root: Path) -> Iterator[None]:
    """Turn a full or forbidden disk into a StoreError that says what to do."""
    try:
        yield
    except Exception as error:
        if _is_full(error, root):
            raise StoreError(
                f"no space left for {what} in {root}; nothing partial was left there, and all earlier "
                "results are kept. Free space (`langscape store prune --keep 1GB`), or set LANGSCAPE_HOME to "
                "another disk, and run again"
            ) from None
        if isinstance(error, OSError) and not isinstance(error, LangscapeError):
            if isinstance(error, FileNotFoundError) and not root.exists():
                raise gone(root) from None
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and not os.access(root, os.W_OK):
                raise read_only(root, what) from None
            raise StoreError(
                f"{what} cannot be written to {root} ({error.strerror}); "
                "set LANGSCAPE_HOME to a folder that can be written"
            ) from None
        raise


def make_private(path: Path) -> None:
    """Let only this user read a file or enter a folder, where it is theirs; others' stay as they are."""
    with suppress(OSError):
        status = path.stat()
        if status.st_uid == os.getuid() and status.st_mode & 0o077:
            path.chmod(status.st_mode & 0o700)


def read_only(root: Path, what: str) -> StoreError:
    """The error for a store that may be read and not written."""
    return StoreError(
        f"the store {root} is read-only, so {what} cannot be kept in it; what it holds can be read. Set "
        "LANGSCAPE_HOME to a folder that can be written"
    )


def gone(root: Path) -> StoreError:
    """The error for a store that was there when it was opened."""
    return StoreError(f"the store {root} is not there any more; put it back, or open it again to begin anew")


def make_folder(path: Path, root: Path) -> None:
    """See that there is a folder; whatever else has its name is set aside."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        set_aside(path, root)
        path.mkdir(mode=0o700, exist_ok=True)


def replace(written: Path, place: Path, root: Path) -> None:
    """Rename a written file into its place; a folder that has its name is set aside."""
    try:
        written.replace(place)
    except IsADirectoryError:
        set_aside(place, root)
        written.replace(place)


def set_aside(path: Path, root: Path) -> Path:
    """Move what is damaged, or where it does not belong, to root/damaged; nothing of it is lost."""
    folder = root / "damaged"
    folder.mkdir(mode=0o700, exist_ok=True)
    place = folder / f"{time.time_ns()}-{path.name}"
    path.rename(place)
    return place


def size_of(path: Path) -> int:
    """The file's bytes; 0 if it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def link(source: Path, place: Path) -> None:
    """The same file under a second name, or a copy that lasts where that cannot be."""
    try:
        os.link(source, place)
    except OSError:
        shutil.copyfile(source, place)
        sync(place)


def remove(path: Path) -> None:
    """Remove a file or a folder; nothing is fine too."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_full(error: Exception, root: Path) -> bool:
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    # DuckDB and safetensors raise errors of their own, which say it in words.
    words = ("no space left", "storagefull", "file too large", "filetoolarge", "disk quota", "quotaexceeded")
    if any(word in str(error).lower() for word in words):
        return True
    with suppress(OSError):
        return not isinstance(error, LangscapeError) and shutil.disk_usage(root).free < 4096
    return False
