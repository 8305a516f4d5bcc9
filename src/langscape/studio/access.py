"""Who may use the studio: one-time tokens for browsers, the sessions they open, and a key for programs.

A token opens one session. A session is two secrets: a cookie, which the browser sends by itself, and a key,
which only the page can read, since the browser keeps it by origin, port included. Cookies know no ports:
another server on this machine is sent ours too, and can do nothing with it. Of both only hashes are kept on
disk, so that an open page goes on when the studio is started again on the same store and port.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from langscape.errors import LangscapeError, SettingsError
from langscape.io.atomic_write import atomic_write

LASTING = 7 * 86400.0
"""Seconds after which a session ends, however much it is used."""

MOST_SESSIONS = 64
"""Sessions at a time; one more ends the oldest."""


class Session(NamedTuple):
    """The secrets of a session, as the browser gets them."""

    cookie: str
    key: str


class _Kept(NamedTuple):
    """What is known of a session: the hashes of its secrets, and when it was opened."""

    cookie: str
    key: str
    made: float


class Access:
    """The secrets of one studio. With a folder they are kept there, for this user alone."""

    def __init__(self, host: str, port: int, folder: Path | None = None) -> None:
        check_loopback(host)
        self.host, self.port, self.folder = host, port, folder
        self.bearer = secrets.token_urlsafe(32)
        self._mutex = threading.Lock()
        self._tokens: dict[str, Callable[[], None] | None] = {}
        self._used: set[str] = set()
        self._sessions = [] if folder is None else _read_sessions(self._sessions_file)

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies know no ports, so it has ours."""
        return f"langscape-{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What the Host header may say."""
        names = {"127.0.0.1", "localhost", "[::1]", _bracketed(self.host)}
        return frozenset(f"{name}:{self.port}" for name in names)

    def new_address(self, used: Callable[[], None] | None = None) -> str:
        """An address that opens one session; `used` is called when it has, in a thread."""
        token = secrets.token_urlsafe(24)
        with self._mutex:
            self._tokens[_hash(token)] = used
        return f"http://{_bracketed(self.host)}:{self.port}/?token={token}"

    def open_session(self, token: str) -> Session | None:
        """A new session for a token that was not used yet; the token is worth nothing afterwards."""
        name = _hash(token)
        with self._mutex:
            if name not in self._tokens:
                return None
            used = self._tokens.pop(name)
            self._used.add(name)
            session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
            self._sessions.append(_Kept(_hash(session.cookie), _hash(session.key), time.time()))
            self._sessions = _lasting(self._sessions)
            self._keep_sessions()
        if used is not None:
            # It may write to a terminal that has been stopped: the server must not wait for that.
            threading.Thread(target=used, name="studio token", daemon=True).start()
        return session

    def was_used(self, token: str) -> bool:
        """Whether a token of this start has been used already."""
        return _hash(token) in self._used

    def has_cookie(self, cookie: str) -> bool:
        """Whether the cookie is that of a session: enough for the page itself, which holds nothing secret."""
        return self._session_of(cookie) is not None

    def is_session(self, cookie: str, key: str) -> bool:
        """Whether cookie and key are those of one session."""
        kept = self._session_of(cookie)
        return kept is not None and hmac.compare_digest(_hash(key), kept.key)

    def is_bearer(self, given: str) -> bool:
        """Whether this is the key for programs."""
        return hmac.compare_digest(given.encode(), self.bearer.encode())

    @property
    def bearer_file(self) -> Path | None:
        """Where programs of this user find their key while the studio runs."""
        return None if self.folder is None else self.folder / f"{self.port}.key"

    def publish(self) -> None:
        """Write the key for programs."""
        if self.bearer_file is not None:
            write_private(self.bearer_file, self.bearer)

    def withdraw(self) -> None:
        """Remove the key for programs, unless it is another studio's by now."""
        with suppress(OSError):
            if self.bearer_file is not None and self.bearer_file.read_text() == self.bearer:
                self.bearer_file.unlink()

    @property
    def _sessions_file(self) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.port}.sessions.json"

    def _session_of(self, cookie: str) -> _Kept | None:
        name, since = _hash(cookie), time.time() - LASTING
        for kept in self._sessions:
            if hmac.compare_digest(name, kept.cookie) and kept.made > since:
                return kept
        return None

    def _keep_sessions(self) -> None:
        # A store that cannot be written costs the sessions at the next start, and nothing now.
        if self.folder is not None:
            with suppress(LangscapeError, OSError):
                write_private(self._sessions_file, json.dumps([kept._asdict() for kept in self._sessions]))


def check_loopback(host: str) -> None:
    """Refuse to listen where others could reach us."""
    try:
        safe = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        safe = False
    if not safe:
        raise SettingsError(
            f"the studio does not listen on {host}: it runs models and reads files for whoever reaches it, "
            "so it listens on this machine alone (127.0.0.1). From another machine: start it here and "
            "run `ssh -L 8765:127.0.0.1:8765 THIS-MACHINE` there; then open the printed address there"
        )


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, from its first byte on; its folder too where it is made."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_write(path) as aside, open(aside, "x", opener=_private) as file:
        file.write(text)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read_sessions(path: Path) -> list[_Kept]:
    """The sessions of the studio that was here before; none where the file is not there or not ours."""
    try:
        listed = json.loads(path.read_text())
        found = [_Kept(str(one["cookie"]), str(one["key"]), float(one["made"])) for one in listed]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    return _lasting([kept for kept in found if (kept.cookie + kept.key).isascii()])


def _lasting(sessions: list[_Kept]) -> list[_Kept]:
    since = time.time() - LASTING
    return [kept for kept in sessions if kept.made > since][-MOST_SESSIONS:]


def _hash(secret: str) -> str:
    # Secrets are random and long, so that a plain hash says nothing of them.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
