"""What an ask is: inputs and settings that make a recipe, and the pictures of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langscape.data import View
from langscape.declarations import Later
from langscape.errors import SettingsError
from langscape.store import Recipe, Store
from langscape.store.manifest import Entry
from langscape.studio.asks.setting import Setting, read_settings
from langscape.studio.problem import Problem


@dataclass(frozen=True)
class Given:
    """An input that was given. `source` is how a recipe takes it, a path or `sha256:…`; `path` its file."""

    id: str
    kind: str
    name: str
    source: str
    path: Path | None = None


@dataclass(frozen=True)
class Wanted:
    """An input that an ask takes; `default` is the id of a sample taken where none is given."""

    name: str
    kind: str
    label: str
    help: str = ""
    required: bool = True
    default: str | None = None

    def to_json(self) -> dict[str, Any]:
        """What the page is told."""
        return {
            "name": self.name,
            "kind": self.kind,
            "label": self.label,
            "help": self.help,
            "required": self.required,
            "default": self.default,
        }


@dataclass(frozen=True)
class Made:
    """A finished job: its result as the ask opened it, its settings and recipe, and the store it is in."""

    result: Any
    settings: Mapping[str, Any]
    recipe: Recipe
    store: Store
    title: str
    needs: Mapping[str, Any]

    def needed(self, *names: str) -> Entry:
        """The entry of a result that this one was made from, by the names of the inputs that lead to it."""
        found: Mapping[str, Any] = {"needs": self.needs}
        for name in names:
            found = found["needs"].get(name) or {"needs": {}, "digest": ""}
        entry = self.store.entry(found["digest"]) if found.get("digest") else None
        if entry is None:
            raise Problem(
                "gone", f"what {self.title} was made from is not in the store any more", "Ask again."
            )
        return entry

    def load(self, *names: str) -> Any:
        """The same, read."""
        return self.store.load(self.needed(*names))


Draw = Callable[[Made, Mapping[str, Any]], View]


@dataclass(frozen=True)
class Picture:
    """A view of a result by name. `whole` is drawn for files, where nothing can be fetched later."""

    name: str
    kind: str
    draw: Draw
    parameters: tuple[Setting, ...] = ()
    whole: Draw | None = None
    later: Callable[[Made, Mapping[str, Any]], Mapping[str, Later]] | None = None

    def to_json(self) -> dict[str, Any]:
        """What the page is told."""
        return {
            "name": self.name,
            "kind": self.kind,
            "parameters": [one.to_json() for one in self.parameters],
        }


@dataclass(frozen=True)
class Ask:
    """One thing that can be asked of the studio."""

    name: str
    title: str
    room: str
    inputs: tuple[Wanted, ...]
    settings: tuple[Setting, ...]
    pictures: tuple[Picture, ...]
    recipe: Callable[[Mapping[str, Any], Mapping[str, Given], Store], Recipe]
    called: Callable[[Mapping[str, Any], Mapping[str, Given]], str]
    open: Callable[[Any], Any] = lambda result: result

    def to_json(self) -> dict[str, Any]:
        """What the page is told."""
        return {
            "title": self.title,
            "room": self.room,
            "inputs": [one.to_json() for one in self.inputs],
            "settings": [one.to_json() for one in self.settings],
            "views": [one.to_json() for one in self.pictures],
        }

    def read(self, settings: Any) -> dict[str, Any]:
        """The settings, checked and complete."""
        return read_settings(self.settings, settings, self.name)

    def picture(self, name: str) -> Picture:
        """The picture of that name."""
        for picture in self.pictures:
            if picture.name == name:
                return picture
        known = ", ".join(picture.name for picture in self.pictures)
        raise SettingsError(f"{self.name} has no view {name[:60]!r}; it has {known}")
