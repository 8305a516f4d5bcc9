"""A setting as the page shows it and the server checks it: its type, its range, and what it does."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from langscape.errors import SettingsError

Type = Literal["integer", "number", "text", "choice", "flag", "numbers", "words", "vectors"]

TEXT = 2000
"""Characters of a setting that is text."""


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Setting:
    """One setting of an ask, or one parameter of a view.

    default   None means "chosen for you", unless it is `required`
    low, high the range of numbers, both ends allowed
    choices   (value, label) of a choice
    help      what it does, in a sentence; source names the document it comes from
    """

    name: str
    label: str
    type: Type
    default: Any = None
    help: str = ""
    source: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[tuple[Any, str], ...] = ()
    required: bool = False

    def to_json(self) -> dict[str, Any]:
        """What the page is told."""
        return {
            "name": self.name,
            "label": self.label,
            "type": self.type,
            "default": self.default,
            "low": self.low,
            "high": self.high,
            "choices": [{"value": value, "label": label} for value, label in self.choices] or None,
            "required": self.required,
            "help": self.help,
            "source": self.source,
        }

    def read(self, value: Any) -> Any:
        """The value if it can be taken; an error names it and what was expected."""
        if value is None:
            if self.required:
                raise SettingsError(f"{self.name} is missing; expected {self._expected()}")
            return self.default
        if self.type == "flag":
            good = isinstance(value, bool)
        elif self.type == "integer":
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            good = _is_number(value) and isinstance(value, int) and self._within(value)
        elif self.type == "number":
            good = _is_number(value) and self._within(value)
        elif self.type == "choice":
            good = any(type(value) is type(one) and value == one for one, _ in self.choices)
        elif self.type == "numbers":
            good = isinstance(value, list) and 0 < len(value) <= 1000
            good = good and all(type(one) is int and self._within(one) for one in value)
        elif self.type == "words":
            good = isinstance(value, list) and 0 < len(value) <= 2000
            good = good and all(isinstance(one, str) and 0 < len(one) <= 200 for one in value)
        elif self.type == "vectors":
            good = isinstance(value, dict) and 0 < len(value) <= 100
            good = good and all(0 < len(name) <= 200 and _are_numbers(one) for name, one in value.items())
        else:
            good = isinstance(value, str) and 0 < len(value) <= TEXT and not _CONTROL.search(value)
        if not good:
            raise SettingsError(f"{self.name} is {_shown(value)}; expected {self._expected()}")
        return value

    def parse(self, text: str) -> Any:
        """The value of a query parameter."""
        if self.type in ("text", "choice"):
            return self.read(text)
        if self.type in ("numbers", "words"):
            parts = [part.strip() for part in text.split(",")]
            if self.type == "words":
                return self.read([part for part in parts if part])
            try:
                return self.read([int(part) for part in parts])
            except ValueError:
                raise SettingsError(f"{self.name} is {_shown(text)}; expected {self._expected()}") from None
        if self.type == "vectors":
            return self.read(_vectors(text) or text)
        try:
            value = json.loads(text, parse_constant=lambda word: word)
        except (ValueError, RecursionError):
            value = text
        return self.read(value)

    def _within(self, value: float) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def _expected(self) -> str:
        if self.type == "choice":
            return f"one of {', '.join(str(value) for value, _ in self.choices)}"
        if self.type == "flag":
            return "true or false"
        if self.type == "text":
            return f"text of 1 to {TEXT:,} characters that can be seen"
        if self.type == "words":
            return "1 to 2,000 words"
        if self.type == "vectors":
            return "at most 100 names with numbers, as name:0.5,-1.2,0.3;other:1,2,3"
        what = {"integer": "a whole number", "number": "a number", "numbers": "whole numbers"}[self.type]
        if self.low is not None and self.high is not None:
            return f"{what} from {self.low:g} to {self.high:g}"
        return what + (f" of at least {self.low:g}" if self.low is not None else "")


def read_settings(known: tuple[Setting, ...], given: Any, what: str) -> dict[str, Any]:
    """All settings, completed with their defaults; a name that is not known is an error."""
    if not isinstance(given, dict):
        raise SettingsError(f"the settings of {what} are {_shown(given)}; expected names with values")
    names = [setting.name for setting in known]
    for name in given:
        if name not in names:
            raise SettingsError(f"{what} has no setting {name[:60]!r}; it has {', '.join(names) or 'none'}")
    return {setting.name: setting.read(given.get(setting.name)) for setting in known}


def _is_number(value: Any) -> bool:
    """Whether it is a finite number that a float can hold; JSON's integers have any length."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_number(one) for one in value)


def _vectors(text: str) -> dict[str, list[float]] | None:
    """Named vectors from `name:0.5,-1.2;other:1,2`; None where a part is no name with numbers."""
    try:
        parts = [part.rsplit(":", 1) for part in text.split(";") if part.strip()]
        return {name.strip(): [float(one) for one in numbers.split(",")] for name, numbers in parts}
    except ValueError:
        return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


SEED = Setting(
    "seed",
    "Seed",
    "integer",
    0,
    "Where chance begins: the same seed gives the same map, bit for bit.",
    low=0,
    high=2**31 - 1,
)
QUANTILES = Setting(
    "quantiles",
    "Equal quantiles",
    "integer",
    None,
    "Stretches both axes so that so many quantiles are equally far apart: crowded places open, distances are "
    "lost.",
    "000",
    low=1,
    high=100_000,
)
MODEL = Setting(
    "model",
    "Model",
    "text",
    "default",
    "default (MiniLM), decoder (SmolLM2), a folder with config.json and model.safetensors, or a Hub id.",
)
