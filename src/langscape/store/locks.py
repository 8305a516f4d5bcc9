"""File locks between processes: they end with the process that holds them, however it ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from langscape.store import disk


@contextlib.contextmanager
def held(path: Path, *, wait: bool = True, shared: bool = False) -> Iterator[bool]:
    """Hold the lock of that name for the block; yields False if it was taken and `wait` is off.

    An exclusive lock's file is removed on release, so that no file is left for each result ever made.
    A lock is a file STORE/locks/NAME; a folder of that name is set aside.
    """
    lock = _take(path, wait=wait, shared=shared)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            if not shared:
                path.unlink(missing_ok=True)
            os.close(lock)


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock, shared or alone."""
    if not path.exists():
        return True
    try:
        with held(path, wait=False) as free:
            return free
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES):
            raise
        return _is_free_to_read(path)


def _is_free_to_read(path: Path) -> bool:
    """The same where the file may only be read."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(lock)


def _take(path: Path, *, wait: bool, shared: bool) -> int | None:
    pause = 0.005
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except IsADirectoryError:
            disk.set_aside(path, path.parent.parent)
            continue
        try:
            fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            # Whoever held it may have removed the file between our opening and our locking it.
            if _is_same(lock, path):
                return lock
            os.close(lock)
            continue
        except BlockingIOError:
            os.close(lock)
        except BaseException:
            os.close(lock)
            raise
        if not wait:
            return None
        # Polling, not a blocking wait: a second of Ctrl-C or of a signal must always get through.
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def _is_same(lock: int, path: Path) -> bool:
    try:
        return os.fstat(lock).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
