"""JSON from files that nobody vouches for: size, depth and types are checked; a fault is one FileError.

The standard parser takes NaN, nesting until the stack ends and text of any size; what it raises is then
met far from the file. Here the file is named, and the value, and what was expected.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, overload

from langscape.errors import FileError

LARGEST = 16_000_000
"""Bytes of JSON that are read unless told otherwise."""
DEEPEST = 32
"""Levels of lists and objects inside each other that are taken unless told otherwise."""

Kind = Literal["text", "whole number", "number", "true or false", "list", "object"]
_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "whole number": (int,),
    "number": (int, float),
    "true or false": (bool,),
    "list": (list,),
    "object": (dict,),
}


def read_object(path: Path, *, largest: int = LARGEST, deepest: int = DEEPEST) -> dict[str, Any]:
    """The JSON object in a regular file; anything else there is a FileError."""
    return parse_object(read_bytes(path, largest), str(path), largest=largest, deepest=deepest)


def parse_object(
    text: str | bytes, where: str, *, largest: int = LARGEST, deepest: int = DEEPEST, halves: bool = False
) -> dict[str, Any]:
    """The JSON object in a text; `where` names the file, or the part of it, in errors.

    `halves` lets texts hold half a character, as labels cut from files do.

    >>> parse_object('{"words": ["a"]}', "words.json")
    {'words': ['a']}
    >>> parse_object("[1]", "words.json")
    Traceback (most recent call last):
    langscape.errors.FileError: words.json holds a JSON list; expected an object, {"name": value, …}
    """
    found = parse(text, where, largest=largest, deepest=deepest, halves=halves)
    if not isinstance(found, dict):
        raise FileError(f'{where} holds a JSON {kind_of(found)}; expected an object, {{"name": value, …}}')
    return found


def parse(
    text: str | bytes, where: str, *, largest: int = LARGEST, deepest: int = DEEPEST, halves: bool = False
) -> Any:
    """The JSON value in a text of at most `largest` bytes or letters, nested at most `deepest` levels."""
    if len(text) > largest:
        raise FileError(f"{where} holds {len(text):,} bytes of JSON; at most {largest:,} are read")
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        found = json.loads(text)
    except RecursionError:
        raise FileError(f"{where} nests lists and objects deeper than {deepest} levels") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{where} is not UTF-8 text (byte {error.start:,}); write it again") from None
    except json.JSONDecodeError as error:
        raise FileError(
            f"{where} is not JSON: {error.msg[0].lower()}{error.msg[1:]} at line {error.lineno}, "
            f"column {error.colno}; write or fetch it again"
        ) from None
    except ValueError:  # a whole number of more than 4,300 digits
        raise FileError(f"{where} holds a number of thousands of digits; write or fetch it again") from None
    _check(found, where, deepest, halves=not halves and ("\\ud" in text or "\\uD" in text))
    return found


@overload
def field(parsed: Mapping[str, Any], name: str, kind: Literal["text"], where: str) -> str: ...
@overload
def field(
    parsed: Mapping[str, Any],
    name: str,
    kind: Literal["whole number"],
    where: str,
    *,
    least: float | None = None,
    most: float | None = None,
) -> int: ...
@overload
def field(
    parsed: Mapping[str, Any],
    name: str,
    kind: Literal["number"],
    where: str,
    *,
    least: float | None = None,
    most: float | None = None,
) -> float: ...
@overload
def field(parsed: Mapping[str, Any], name: str, kind: Literal["true or false"], where: str) -> bool: ...
@overload
def field(parsed: Mapping[str, Any], name: str, kind: Literal["list"], where: str) -> list[Any]: ...
@overload
def field(parsed: Mapping[str, Any], name: str, kind: Literal["object"], where: str) -> dict[str, Any]: ...


def field(
    parsed: Mapping[str, Any],
    name: str,
    kind: Kind,
    where: str,
    *,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """The value of that name, of that kind and in its range; `where` names the file in errors.

    >>> field({"rows": 3}, "rows", "whole number", "map.json", least=1)
    3
    >>> field({"rows": "3"}, "rows", "whole number", "map.json", least=1)
    Traceback (most recent call last):
    langscape.errors.FileError: map.json: "rows" is "3"; expected a whole number, at least 1
    """
    if name not in parsed:
        raise FileError(f'{where} lacks "{name}"; expected {_wanted(kind, least, most)}')
    value = parsed[name]
    if is_kind(value, kind) and (least is None or value >= least) and (most is None or value <= most):
        return value
    raise FileError(f'{where}: "{name}" is {shown(value)}; expected {_wanted(kind, least, most)}')


def texts(values: Any, what: str, where: str) -> list[str]:
    """A list of texts and nothing else; `what` names it in errors."""
    if not isinstance(values, list):
        raise FileError(f"{where}: {what} is {shown(values)}; expected a list of texts")
    for value in values:
        if not isinstance(value, str):
            raise FileError(f"{where}: {what} holds {shown(value)}; expected texts only")
    return values


def is_kind(value: Any, kind: Kind) -> bool:
    """Whether a value is of that kind; true and false are no numbers, and a number is finite."""
    if isinstance(value, bool) and kind != "true or false":
        return False
    if isinstance(value, float) and not float("-inf") < value < float("inf"):
        return False
    return isinstance(value, _KINDS[kind])


def kind_of(value: Any) -> str:
    """What JSON calls a value: "list", "text", "nothing" …"""
    if value is None:
        return "nothing"
    return next((kind for kind in _KINDS if is_kind(value, kind)), "number")  # type: ignore[arg-type]


def shown(value: Any) -> str:
    """A value in an error: short, on one line, and as JSON writes it."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return f"a number of {value.bit_length() * 30103 // 100000 + 1:,} digits"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def read_bytes(path: Path, largest: int) -> bytes:
    """The bytes of a regular file of at most that size; a FIFO or a device is refused without waiting."""
    try:
        # without O_NONBLOCK, opening a FIFO waits for a writer
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError:  # a NUL in the name
        raise FileError(f"{str(path)!r} is not the name of a file") from None
    try:
        regular = stat.S_ISREG(os.fstat(number).st_mode)
        data = b""
        if regular:
            with open(number, "rb", closefd=False) as file:
                data = file.read(largest + 1)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    finally:
        os.close(number)
    if not regular:
        raise FileError(f"{path} is not a regular file, which is expected there")
    if len(data) > largest:
        raise FileError(f"{path} holds more than {largest:,} bytes of JSON, which are not read")
    return data


def _wanted(kind: str, least: float | None, most: float | None) -> str:
    noun = kind if kind in ("text", "true or false") else f"{'an' if kind == 'object' else 'a'} {kind}"
    if least is not None and most is not None:
        return f"{noun} from {least:,} to {most:,}"
    if least is not None:
        return f"{noun}, at least {least:,}"
    return f"{noun}, at most {most:,}" if most is not None else noun


def _check(found: Any, where: str, deepest: int, halves: bool) -> None:
    """Depth, and with `halves` that no text holds half a surrogate pair: such text cannot be written."""
    level, depth = [found], 0
    while level:
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict | list):
                if depth == deepest:
                    raise FileError(f"{where} nests lists and objects deeper than {deepest} levels")
                if isinstance(value, list):
                    inner.extend(value)
                else:
                    inner.extend(value.values())
                    if halves:
                        inner.extend(value)
            elif halves and isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
                raise FileError(f"{where} holds half a character ({shown(value)}); write it again as UTF-8")
        level, depth = inner, depth + 1
