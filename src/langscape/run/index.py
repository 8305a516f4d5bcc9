"""The store's SQLite index: sweeps and their tasks, jobs, inputs, and the hashes of input files.

Nothing here is needed to trust a result: labels beside the results say what they are. An index that
is lost or damaged costs the list of sweeps and the remembered hashes, and is made anew.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from langscape.errors import StoreError
from langscape.run import locks

VERSION = 1
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TABLES = """
create table if not exists files (
    path text primary key, size integer, mtime_ns integer, inode integer, sha256 text) without rowid;
create table if not exists sweeps (
    id text primary key, title text, made real, changed real, state text, total integer, done integer,
    failed integer, rate real, modules text, way text) without rowid;
create table if not exists tasks (
    sweep text, place integer, key text, digest text, recipe text, state text, tries integer, error text,
    primary key (sweep, place)) without rowid;
"""

# Tables added without a new version: who does not know them does not look at them.
_LATER = """
create table if not exists jobs (
    id text primary key, made real, changed real, state text, owner text, record text) without rowid;
create table if not exists inputs (id text primary key, made real, record text) without rowid;
"""
_LIVE = ("queued", "running")


class Index:
    """One connection, usable from any thread; other processes may have theirs."""

    def __init__(self, path: Path, lock: Path) -> None:
        self.path = path
        self.notes: tuple[str, ...] = ()
        self._mutex = threading.Lock()
        try:
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            if _code(error) not in _DAMAGED:
                raise _said(error, path) from None
            with locks.held(lock):
                self._db = self._open_anew()

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def file_hash(self, path: str, size: int, mtime_ns: int, inode: int) -> str | None:
        """The remembered sha256 of a file that has not changed since."""
        rows = self._ask(
            "select sha256 from files where path = ? and size = ? and mtime_ns = ? and inode = ?",
            (path, size, mtime_ns, inode),
        )
        return rows[0]["sha256"] if rows else None

    def remember_hash(self, path: str, size: int, mtime_ns: int, inode: int, sha256: str) -> None:
        """Keep the sha256 of a file as it is now."""
        with self._change() as db:
            db.execute(
                "insert or replace into files values (?, ?, ?, ?, ?)", (path, size, mtime_ns, inode, sha256)
            )

    def add_sweep(
        self, id: str, title: str, modules: Sequence[str], tasks: Iterable[tuple[str, str, str]], total: int
    ) -> None:
        """Record a sweep and its tasks (key, digest, recipe as JSON), unless it is there already."""
        with self._change() as db:
            if db.execute("select 1 from sweeps where id = ?", (id,)).fetchone():
                return
            now = time.time()
            sweep = (id, title, now, now, "new", total, 0, 0, 0.0, json.dumps(list(modules)), "{}")
            db.execute("insert into sweeps values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", sweep)
            rows = ((id, place, *task, "waiting", 0, "") for place, task in enumerate(tasks))
            db.executemany("insert into tasks values (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def change_sweep(self, id: str, **columns: Any) -> None:
        """Set columns of a sweep: state, done, failed, rate, way."""
        columns["changed"] = time.time()
        names = ", ".join(f"{name} = ?" for name in columns)
        with self._change() as db:
            db.execute(f"update sweeps set {names} where id = ?", (*columns.values(), id))

    def change_tasks(self, id: str, changes: Sequence[tuple[str, int, str, int]]) -> None:
        """Set (state, tries, error) of the tasks at those places."""
        with self._change() as db:
            db.executemany(
                "update tasks set state = ?, tries = ?, error = ? where sweep = ? and place = ?",
                [(state, tries, error, id, place) for state, tries, error, place in changes],
            )

    def sweeps(self) -> list[dict[str, Any]]:
        """Every sweep, the latest first."""
        return self._ask("select * from sweeps order by changed desc", ())

    def tasks(self, id: str, state: str | None = None) -> list[dict[str, Any]]:
        """The tasks of a sweep in their order."""
        if state is None:
            return self._ask("select * from tasks where sweep = ? order by place", (id,))
        return self._ask("select * from tasks where sweep = ? and state = ? order by place", (id, state))

    def forget_sweep(self, id: str) -> None:
        """Remove a sweep from the list; its results stay in the store."""
        with self._change() as db:
            db.execute("delete from tasks where sweep = ?", (id,))
            db.execute("delete from sweeps where id = ?", (id,))

    def jobs(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Every job changed after that time, the oldest first."""
        return self._ask("select * from jobs where changed > ? order by made, id", (since,))

    def job_ids(self) -> set[str]:
        """The ids of all jobs."""
        return {row["id"] for row in self._ask("select id from jobs", ())}

    def claim_job(self, id: str, owner: str, record: str) -> bool:
        """Take a job on, a new one or one that has ended; never one that somebody is at."""
        now = time.time()
        with self._change() as db:
            row = db.execute("select state from jobs where id = ?", (id,)).fetchone()
            if row is not None and row["state"] in _LIVE:
                return False
            made = "coalesce((select made from jobs where id = ?), ?)"
            db.execute(
                f"insert or replace into jobs values (?, {made}, ?, 'queued', ?, ?)",
                (id, id, now, now, owner, record),
            )
            return True

    def adopt_job(self, id: str, was: str, owner: str) -> bool:
        """Take over a live job of an owner who is gone; one of several who try gets it."""
        with self._change() as db:
            done = db.execute(
                "update jobs set owner = ?, state = 'queued', changed = ? where id = ? and owner = ? "
                "and state in ('queued', 'running')",
                (owner, time.time(), id, was),
            )
            return done.rowcount == 1

    def change_job(self, id: str, owner: str, state: str, record: str) -> bool:
        """Write down how a job of ours stands; False if it is not ours any more."""
        with self._change() as db:
            done = db.execute(
                "update jobs set state = ?, record = ?, changed = ? where id = ? and owner = ?",
                (state, record, time.time(), id, owner),
            )
            return done.rowcount == 1

    def forget_job(self, id: str) -> None:
        """Remove a job from the list; its result stays in the store."""
        with self._change() as db:
            db.execute("delete from jobs where id = ?", (id,))

    def inputs(self) -> list[dict[str, Any]]:
        """Every input that was given, the latest first."""
        return self._ask("select * from inputs order by made desc", ())

    def input(self, id: str) -> dict[str, Any] | None:
        """The input of that id."""
        rows = self._ask("select * from inputs where id = ?", (id,))
        return rows[0] if rows else None

    def add_input(self, id: str, record: str) -> None:
        """Write an input down, or give it a new time and record."""
        with self._change() as db:
            db.execute("insert or replace into inputs values (?, ?, ?)", (id, time.time(), record))

    def forget_input(self, id: str) -> None:
        """Remove an input from the list; its bytes stay in the store."""
        with self._change() as db:
            db.execute("delete from inputs where id = ?", (id,))

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            db.row_factory = sqlite3.Row
            db.execute("pragma busy_timeout = 30000")
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = normal")
            version = db.execute("pragma user_version").fetchone()[0]
            if version > VERSION:
                raise StoreError(
                    f"the index {self.path} has version {version}, written by a newer langscape; this one "
                    f"reads {VERSION}. Update langscape, or set LANGSCAPE_HOME to another folder"
                )
            if version < VERSION:
                db.executescript(f"begin immediate; {_TABLES} pragma user_version = {VERSION}; commit;")
            held = "select count(*) from sqlite_master where type = 'table' and name in ('jobs', 'inputs')"
            if db.execute(held).fetchone()[0] < 2:
                db.executescript(f"begin immediate; {_LATER} commit;")
            return db
        except BaseException:
            db.close()
            raise

    def _open_anew(self) -> sqlite3.Connection:
        """Set a damaged index aside; another process may have done so while we waited for the lock."""
        try:
            return self._open()
        except sqlite3.DatabaseError as error:
            if _code(error) not in _DAMAGED:
                raise _said(error, self.path) from None
        aside = self.path.with_name(f"damaged-{time.time_ns()}.sqlite")
        self.path.replace(aside)
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        self.notes = (f"the index was damaged and was made anew; the old one is {aside}",)
        return self._open()

    def _ask(self, query: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
        try:
            with self._mutex:
                return [dict(row) for row in self._db.execute(query, values)]
        except sqlite3.Error as error:
            raise _said(error, self.path) from None

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._mutex:
                self._db.execute("begin immediate")
                try:
                    yield self._db
                    self._db.execute("commit")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        self._db.execute("rollback")
                    raise
        except sqlite3.Error as error:
            raise _said(error, self.path) from None


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _said(error: sqlite3.Error, path: Path) -> StoreError:
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        next_step = "free space on that disk, or set LANGSCAPE_HOME to another; results are kept"
    elif code in _DAMAGED:
        next_step = "run again: it is then set aside and made anew; results are kept"
    elif code == sqlite3.SQLITE_BUSY:
        next_step = "another process has held it for 30 s; run again when that one is done"
    else:
        next_step = "check that the folder can be written, or set LANGSCAPE_HOME to another"
    return StoreError(f"the index {path} cannot be used ({error}); {next_step}")
