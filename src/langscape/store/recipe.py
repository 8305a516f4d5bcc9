"""Recipe: plain settings that name a whole computation. Its digest is the name of its result."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from langscape.errors import FileError, SettingsError
from langscape.io.regular_file import check_regular, open_regular

Input: TypeAlias = "str | Recipe"
"""A path, `sha256:…` of bytes kept in the store, or the recipe whose result is wanted."""

DIGEST_FORMAT = 2
"""Raised when the meaning of a digest changes; every result is then computed again."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """A step, its settings and its inputs: everything that a result depends on, as plain JSON.

    An input is a file or folder, bytes kept in the store (`sha256:…`), or another recipe, whose
    result is computed first. Two recipes are equal when their JSON is.

    >>> Recipe("words", {"perplexity": 30.0}) == Recipe("words", {"perplexity": 30.0})
    True
    """

    step: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Input | Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.step, str) or not self.step:
            raise SettingsError(f"a recipe's step is {_short(self.step)}; expected a name such as 'words'")
        settings = plain(self.settings, f"the settings of {self.step}")
        if not isinstance(settings, dict):
            raise SettingsError(
                f"the settings of {self.step} are {_short(settings)}; expected a mapping of names"
            )
        object.__setattr__(self, "settings", MappingProxyType(settings))
        inputs = {
            str(name): _input(value, f"{self.step}: input {name!r}") for name, value in self.inputs.items()
        }
        object.__setattr__(self, "inputs", MappingProxyType(inputs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def text(self) -> str:
        """The recipe as canonical JSON."""
        return canonical(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The recipe as plain JSON values."""
        inputs = {k: v.to_json() if isinstance(v, Recipe) else v for k, v in self.inputs.items()}
        return {"step": self.step, "settings": dict(self.settings), "inputs": inputs}

    @classmethod
    def from_json(cls, value: Any) -> Recipe:
        """The recipe that `to_json` wrote; anything else is refused."""
        if not isinstance(value, Mapping) or not set(value) <= {"step", "settings", "inputs"}:
            raise SettingsError(f"{str(value)[:80]!r} is no recipe; expected step, settings and inputs")
        inputs = value.get("inputs") or {}
        if not isinstance(inputs, Mapping):
            raise SettingsError(f"the inputs of a recipe are {_short(inputs)}; expected a mapping of names")
        parsed = {k: cls.from_json(v) if isinstance(v, Mapping) else v for k, v in inputs.items()}
        return cls(value.get("step", ""), value.get("settings") or {}, parsed)

    def needs(self) -> Iterator[Recipe]:
        """The recipes among the inputs."""
        return (value for value in self.inputs.values() if isinstance(value, Recipe))


def digest(recipe: Recipe, file_digest: Callable[[Path], str] | None = None) -> str:
    """The name of a recipe's result: 64 hex digits over settings, input bytes, model and code version.

    Settings are completed with the step's defaults first, so leaving a default out or writing it
    down is the same computation. `file_digest` hashes one file; the store gives one that remembers.
    """
    from langscape.store.registry import find_step

    code = find_step(recipe.step)
    settings = code.complete(recipe.settings)
    of_file = file_digest or hash_file
    contents = {
        "format": DIGEST_FORMAT,
        "step": recipe.step,
        "version": code.version,
        "settings": settings,
        "inputs": {name: _input_digest(value, of_file) for name, value in recipe.inputs.items()},
        "revision": code.revision(settings) if code.revision else None,
    }
    return hashlib.sha256(canonical(contents).encode()).hexdigest()


def canonical(value: Any) -> str:
    """The one JSON text of a plain value: keys sorted, floats exact, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any, name: str) -> Any:
    """The value as plain JSON: numpy scalars unwrapped, tuples as lists, anything else refused by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SettingsError(
                f"{name} holds {value}; expected a finite number, or null where there is none"
            )
        return float(value)
    if isinstance(value, Mapping):
        wrong = [key for key in value if not isinstance(key, str)]
        if wrong:
            raise SettingsError(f"{name} has the key {wrong[0]!r}; expected text")
        return {key: plain(item, f"{name}, {key!r},") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, name) for item in value]
    raise SettingsError(
        f"{name} holds a {type(value).__name__}; expected null, true, false, numbers, text, lists and "
        "mappings. Give large arrays as a file among the inputs"
    )


def hash_file(path: Path) -> str:
    """The sha256 of a file's bytes, 64 hex digits."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(
            f"input {str(path)[:300]!r} cannot be read ({error.strerror}); check the path"
        ) from None


def stamps(recipe: Recipe) -> dict[str, list[int]]:
    """Size and time of every input file, to notice one that changes while it is being worked on."""
    found: dict[str, list[int]] = {}
    for value in recipe.inputs.values():
        if isinstance(value, str) and not value.startswith("sha256:"):
            for path in _files(Path(value)):
                status = _stat(path)
                found[str(path)] = [status.st_size, status.st_mtime_ns]
    return found


def _input(value: Any, name: str) -> Input:
    if isinstance(value, Recipe):
        return value
    if isinstance(value, str) and value.startswith("sha256:"):
        if len(value) != 71 or set(value[7:]) - set("0123456789abcdef"):
            raise SettingsError(f"{name} is {_short(value)}; expected sha256: and 64 hex digits")
        return value
    if isinstance(value, str | os.PathLike) and os.fspath(value):
        return os.path.abspath(os.path.expanduser(os.fspath(value)))
    raise SettingsError(f"{name} is {_short(value)}; expected a path, sha256:… or a recipe")


def _input_digest(value: Input | Path, of_file: Callable[[Path], str]) -> Any:
    if isinstance(value, Recipe):
        return digest(value, of_file)
    if str(value).startswith("sha256:"):
        return str(value)
    path = Path(value)
    if stat.S_ISDIR(_stat(path).st_mode):
        return {str(p.relative_to(path)): of_file(p) for p in _files(path)}
    return f"sha256:{of_file(path)}"  # readers look at what a file holds, not at its name


def _files(path: Path) -> list[Path]:
    if not stat.S_ISDIR(_stat(path).st_mode):
        check_regular(path)
        return [path]
    return sorted(p for p in path.rglob("*") if p.is_file())


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except (OSError, ValueError) as error:  # ValueError: a zero byte, or half a letter
        if isinstance(error, FileNotFoundError) and str(path).isprintable():
            check_regular(path)  # which says what name is near, if any is
        why = error.strerror if isinstance(error, OSError) else "no file can have this name"
        name = str(path) if str(path).isprintable() else repr(str(path))
        raise FileError(f"input {name[:300]} cannot be read ({why}); check the path") from None


def _short(value: Any) -> str:
    """A value in an error: on one line, and not longer than a line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
