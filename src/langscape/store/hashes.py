"""Remembered hashes of input files: an SQLite file that may be lost, damaged or closed at any time.

It only saves hashing a large file twice. So whatever is wrong with it, at opening or later, it is set aside
and begun anew, and where even that cannot be done, files are hashed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from langscape.store import disk, locks

_VERSION = 2
_TABLE = """
create table files (
    path text primary key, size integer, mtime_ns integer, inode integer, sha256 text, row_check text)
    without rowid;
"""
_COLUMNS = ["path", "size", "mtime_ns", "inode", "sha256", "row_check"]
_PASSING = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
)
"""What says nothing of the file itself: it is left alone."""

_BESIDE = ("", "-journal", "-wal", "-shm")
T = TypeVar("T")


class Hashes:
    """The sha256 of files by path, size, time and inode; one connection, usable from any thread."""

    def __init__(self, root: Path, before: Callable[[Path], None] | None = None) -> None:
        """`before` is called with a file that is about to be set aside, to take from it what it holds."""
        self._root, self.path = root, root / "index.sqlite"
        self._before = before or (lambda path: None)
        self._mutex = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._inode = 0
        with self._mutex:
            self._use(lambda db: None)

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        with self._mutex:
            self._close()

    def get(self, path: str, size: int, mtime_ns: int, inode: int) -> str | None:
        """The remembered sha256 of a file that has not changed since."""
        key = (path, size, mtime_ns, inode)

        def look(db: sqlite3.Connection) -> str | None:
            query = "select * from files where path = ? and size = ? and mtime_ns = ? and inode = ?"
            row = db.execute(query, key).fetchone()
            if row is None:
                return None
            if tuple(row) != (*key, row[4], row_check(*key, row[4])):
                raise sqlite3.DatabaseError(f"the row of {path} does not match its check")
            return row[4]

        with self._mutex:
            return self._use(look)

    def put(self, path: str, size: int, mtime_ns: int, inode: int, sha256: str) -> None:
        """Keep the sha256 of a file as it is now."""
        row = (path, size, mtime_ns, inode, sha256, row_check(path, size, mtime_ns, inode, sha256))
        with self._mutex:
            self._use(lambda db: db.execute("insert or replace into files values (?, ?, ?, ?, ?, ?)", row))

    def _use(self, what: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do it; where the file is at fault, once more with a new one; None where it cannot be done."""
        for _ in range(2):
            try:
                if self._db is None:
                    self._db = self._open()
                return what(self._db)
            except sqlite3.Error as error:
                if _code(error) in _PASSING:
                    return None
                try:
                    self._set_aside()
                except OSError:
                    return None
        return None

    def _open(self) -> sqlite3.Connection:
        self._inode = _inode(self.path)
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            self._inode = self._inode or _inode(self.path)
            disk.make_private(self.path)
            # No write-ahead log: who closes a file that was set aside must not remove the log of the new one.
            db.execute("pragma busy_timeout = 30000")
            db.execute("pragma cell_size_check = on")
            db.execute("pragma trusted_schema = off")
            db.execute("pragma synchronous = off")  # what a power cut damages is set aside
            db.execute("begin immediate")
            if db.execute("select count(*) from sqlite_master").fetchone()[0] == 0:
                db.execute(_TABLE)
                db.execute("pragma user_version = 2")
            version = db.execute("pragma user_version").fetchone()[0]
            columns = [row[1] for row in db.execute("pragma table_info(files)")]
            whole = db.execute("pragma quick_check(1)").fetchone()[0] == "ok"
            db.execute("commit")
            if version != _VERSION or columns != _COLUMNS or not whole:
                raise sqlite3.DatabaseError("the index is damaged or of another version")
            return db
        except UnicodeDecodeError as error:  # a damaged schema is quoted in SQLite's own error
            db.close()
            raise sqlite3.DatabaseError(f"the index is damaged: {error}") from None
        except BaseException:
            db.close()
            raise

    def _set_aside(self) -> None:
        """Set the file aside, unless another process has put a new one in its place."""
        self._close()
        disk.make_folder(self._root / "locks", self._root)
        with locks.held(self._root / "locks" / "index"):
            if _inode(self.path) not in (0, self._inode):
                return
            with contextlib.suppress(sqlite3.Error):
                self._before(self.path)
            for ending in _BESIDE:
                with contextlib.suppress(FileNotFoundError):
                    disk.set_aside(self.path.with_name(self.path.name + ending), self._root)

    def _close(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            self._db = None


def row_check(*values: object) -> str:
    """A hash over a row, so that a flipped bit is noticed which leaves the file readable."""
    return hashlib.sha256(repr(values).encode("utf-8", "replace")).hexdigest()


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
