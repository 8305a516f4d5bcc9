"""Every error a user can meet, one tree.

LangscapeError
├── SettingsError      a setting is out of range or does not fit the data
├── DataError          the data given cannot be used (NaN, wrong shape, empty, truncated)
│   └── FileError      a file is missing, unreadable, cut short or of another format
│   TooLargeError      (of both) what is asked does not fit; says what would, in the words of the face used
├── MissingError       something that must be installed, downloaded or built is not there
├── StoreError         the store of results cannot be read or written
└── Cancelled          the user stopped it; says what was kept

A message names the thing, its value, what was expected and the next step.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from langscape.faces import written


class LangscapeError(Exception):
    """Base of every error that langscape raises on purpose."""


class SettingsError(LangscapeError, ValueError):
    """A setting is out of range or does not fit the data."""


class DataError(LangscapeError, ValueError):
    """The data given cannot be used."""


class FileError(DataError):
    """A file is missing, unreadable, cut short or of another format."""


class OtherVersionError(FileError):
    """A result was written by a langscape whose nouns were different."""


class WayOut(NamedTuple):
    """What would fit: in plain words, and the setting that asks for it; `action` begins with a verb."""

    words: str
    setting: str
    value: Any
    action: bool = False


class TooLargeError(SettingsError, DataError):
    """What is asked for does not fit into memory, or into the model; `ways` would.

    An analysis names those that it has a setting for, and each face writes settings as they are given there.
    """

    def __init__(self, problem: str, ways: Sequence[WayOut] = (), otherwise: str = "") -> None:
        super().__init__(problem, tuple(ways), otherwise)
        self.problem = problem
        self.ways = tuple(ways)
        self.otherwise = otherwise

    def narrowed(self, settings: Collection[str]) -> "TooLargeError":
        """The same with only the ways that these settings open."""
        ways = [way for way in self.ways if way.setting in settings]
        return TooLargeError(self.problem, ways, self.otherwise)

    def __str__(self) -> str:
        acts = [_way(way) for way in self.ways if way.action]
        fits = [_way(way) for way in self.ways if not way.action]
        parts = [*acts, *([f"what fits: {', '.join(fits)}"] if fits else [])]
        parts = parts or [self.otherwise or "take a shorter text"]
        return f"{self.problem}; {', or '.join(parts)}"


def _way(way: WayOut) -> str:
    setting = written(way.setting, way.value)
    return f"{way.words} ({setting})" if setting else way.words


class MissingError(LangscapeError, ImportError):
    """Something that must be installed, downloaded or built is not there."""


class StoreError(LangscapeError, OSError):
    """The store of results cannot be read or written."""


class Cancelled(LangscapeError):
    """The user stopped the work; `partial` is what stood by then, where that is of use."""

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


def not_there(noun: str, number: object, known: Sequence[int], whose: str = "this model") -> SettingsError:
    """The error for a layer or head that is not among those held: one wording, with the valid numbers.

    >>> not_there("head", 99, range(12), "default")
    SettingsError('head 99 is not there; default has heads 0 to 11')
    """
    first, last = known[0], known[-1]
    if len(known) > 2 and list(known) == list(range(first, last + 1)):
        zero = " (the embedding)" if noun == "hidden layer" and first == 0 else ""
        listed = f"{first}{zero} to {last}"
    else:
        listed = ", ".join(str(one) for one in known)
    plural = noun if len(known) == 1 else f"{noun}s"
    return SettingsError(f"{noun} {number} is not there; {whose} has {plural} {listed}")
