"""Problem: the one shape in which anything that goes wrong reaches the page.

{"error": {"code": "bad_input", "message": "what, which value, what was expected", "hint": "what to do"}}
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from langscape import errors
from langscape.errors import (
    Cancelled,
    DataError,
    LangscapeError,
    MissingError,
    SettingsError,
    StoreError,
)

STATUS = {
    "bad_request": 400,
    "no_session": 401,
    "bad_host": 403,
    "bad_origin": 403,
    "not_found": 404,
    "not_allowed": 405,
    "too_slow": 408,
    "not_ready": 409,
    "gone": 410,
    "too_large": 413,
    "bad_input": 422,
    "missing": 424,
    "headers_too_large": 431,
    "internal": 500,
    "lost": 500,
    "store": 507,
}
"""Every code, and the HTTP status that goes with it."""

_CODES = (
    (SettingsError, "bad_input"),
    (DataError, "bad_input"),
    (MissingError, "missing"),
    (StoreError, "store"),
    (Cancelled, "not_ready"),
)
_HINTS = {
    "internal": "This is a fault in langscape: what happened stands in the terminal. Please report it.",
    "lost": "Ask again; if it happens again, take a shorter text or fewer items.",
    "store": "Free space on the disk, or start the studio with another --store.",
}


class Problem(Exception):
    """An error with a code of STATUS, a message, and what to do about it."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.hint = hint or _HINTS.get(code, "")

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.code]

    def to_json(self) -> dict[str, Any]:
        """What the page gets."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class PathCleaner:
    """Takes the paths of the store and of temporary files out of problem, where they are no help."""

    def __init__(self, root: Path) -> None:
        roots = sorted({str(root), str(root.resolve())}, key=len, reverse=True)
        within = "|".join(map(re.escape, roots))
        temporary = re.escape(tempfile.gettempdir())
        # A file of the store, or the store itself; not a folder beside it whose name only begins so.
        self._store = re.compile(rf"(?:{within})(?:/[^\s'\"`,;:)]*)?(?![\w-])")
        self._temporary = re.compile(rf"{temporary}/langscape-[^\s'\"`,;:)]*")

    def __call__(self, problem: Problem) -> Problem:
        """The same problem without them."""
        return Problem(problem.code, self.clean(problem.message), self.clean(problem.hint))

    def clean(self, text: str) -> str:
        """The message without them."""
        return self._temporary.sub("a temporary file", self._store.sub("the store", text))


def problem_of(error: LangscapeError) -> Problem:
    """An error of the library as problem."""
    return _problem(type(error), str(error))


def problem_named(kind: str, message: str) -> Problem:
    """The same for an error that a worker process reported by its name."""
    if kind in ("Lost", "MemoryError"):
        return Problem("lost", message, _hint("lost", message))
    found = getattr(errors, kind, None)
    return _problem(found if isinstance(found, type) else Exception, message)


def _problem(kind: type, message: str) -> Problem:
    code = next((code for one, code in _CODES if issubclass(kind, one)), "internal")
    return Problem(code, message, _hint(code, message))


def _hint(code: str, message: str) -> str:
    command = re.search(r"`([^`]+)`", message)
    return f"Run: {command[1]}" if command and code == "missing" else _HINTS.get(code, "")
