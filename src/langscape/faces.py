"""Which face somebody uses, so that a message names a setting as it is given there.

Python writes `layers=range(6)`, the command line `--layers 0-5`, and the studio's forms nothing but words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, get_args

Face = Literal["python", "command", "studio"]

VARIABLE = "LANGSCAPE_FACE"
"""How a worker process hears of it."""

_FACE: ContextVar[Face | None] = ContextVar("langscape_face", default=None)


def face() -> Face:
    """The face in use here."""
    found = _FACE.get() or os.environ.get(VARIABLE, "python")
    return found if found in get_args(Face) else "python"  # type: ignore[return-value]


@contextmanager
def speaking(to: Face) -> Iterator[None]:
    """Within, messages are for somebody at this face."""
    token = _FACE.set(to)
    try:
        yield
    finally:
        _FACE.reset(token)


def written(setting: str, value: Any) -> str:
    """A setting with its value as the face writes it; nothing in the studio, where words do.

    >>> written("layers", range(6)), written("cut", True)
    ('layers=range(0, 6)', 'cut=True')
    >>> with speaking("command"):
    ...     written("layers", range(6)), written("first_tokens", 1000), written("cut", True)
    ('--layers 0-5', '--first-tokens 1000', '--cut')
    """
    if not setting or face() == "studio":
        return ""
    if face() == "python":
        return f'{setting}="{value}"' if isinstance(value, str) else f"{setting}={value!r}"
    option = f"--{setting.replace('_', '-')}"
    if isinstance(value, bool):
        return option if value else option.replace("--", "--no-", 1)
    if isinstance(value, range):
        last = value[-1]
        return f"{option} {value[0]}" if last == value[0] else f"{option} {value[0]}-{last}"
    return f"{option} {value}"
