"""Regular files: a pipe, device, socket or folder in the place of one is refused at once, without waiting."""

from __future__ import annotations

import os
import stat
from difflib import get_close_matches
from io import BufferedReader
from itertools import islice
from pathlib import Path

from langscape.errors import FileError

_MOST_NAMES = 1000
"""Names of a folder that are looked through for the one that was meant."""

_OTHER = (
    (
        stat.S_ISFIFO,
        "a named pipe, not a file; write what it carries to a file and give that",
    ),
    (stat.S_ISSOCK, "a socket; give a file"),
    (stat.S_ISCHR, "a device; give a file"),
    (stat.S_ISBLK, "a device; give a file"),
)


def check_regular(path: str | Path, *, missing: str = "") -> os.stat_result:
    """What the system says of a regular file; anything else at that path is a FileError of one line.

    `missing` is the message for a path where there is nothing.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(missing or f"{path} does not exist; {_meant(Path(path))}") from None
    except ValueError:  # a zero byte in the name
        raise FileError(f"{str(path)!r} is not the name of a file; check the path") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}; check the path") from None
    _refuse_other(path, found.st_mode)
    return found


def open_regular(path: str | Path, *, missing: str = "") -> BufferedReader:
    """A regular file, open for reading bytes; as `check_regular`, and sure of what was opened."""
    check_regular(path, missing=missing)
    try:
        # without O_NONBLOCK, a pipe that took the file's place just now would be waited for
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        number = os.open(path, flags)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}; check its permissions") from None
    try:
        _refuse_other(path, os.fstat(number).st_mode)
    except FileError:
        os.close(number)
        raise
    return open(number, "rb")


def _refuse_other(path: str | Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise FileError(f"{path} is a folder; name a file in it")
    kind = next((reason for test, reason in _OTHER if test(mode)), "no regular file; give one")
    raise FileError(f"{path} is {kind}")


def _meant(path: Path) -> str:
    """The next step for a path where there is nothing: the name beside it that is most like it, if any is."""
    try:
        names = [one.name for one in islice(path.parent.iterdir(), _MOST_NAMES)]
    except OSError:
        return "check the path"
    near = get_close_matches(path.name, names, 1, 0.75)
    return f"did you mean {path.parent / near[0]}?" if near else "check the path"
