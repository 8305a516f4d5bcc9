"""The registry of steps: named, versioned functions from settings and input files to a result.

A step is `(settings, inputs, progress) -> result`. `settings` is the recipe's, completed with the
step's defaults; `inputs` maps names to paths; the result is a `Map`, `Arrays`, `Table`, `Writes` or a
plain mapping of figures. Raise `version` whenever a step's result would change.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langscape.data import Progress
from langscape.errors import MissingError, SettingsError
from langscape.store.recipe import plain

Run = Callable[[Mapping[str, Any], Mapping[str, Path], Progress], Any]


@dataclass(frozen=True)
class StepCode:
    """A registered step: its name, version, defaults, and the function that runs."""

    name: str
    version: Any
    run: Run
    defaults: Mapping[str, Any] | None
    revision: Callable[[Mapping[str, Any]], str] | None
    module: str

    def complete(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with defaults filled in; a name the step does not know is an error.

        Where the default is a float, an int is taken as that float: 30 and 30.0 are one setting.
        """
        if self.defaults is None:
            return dict(settings)
        for name in settings:
            if name not in self.defaults:
                known = ", ".join(sorted(self.defaults)) or "none"
                raise SettingsError(f"{self.name} has no setting {name!r}; it has {known}")
        full = dict(self.defaults)
        for name, value in settings.items():
            is_int = isinstance(value, int) and not isinstance(value, bool)
            full[name] = float(value) if is_int and isinstance(full[name], float) else value
        return full


_STEPS: dict[str, StepCode] = {}
_FINDERS: list[Callable[[str], StepCode | None]] = []


def step(
    name: str,
    *,
    version: int,
    defaults: Mapping[str, Any] | None = None,
    revision: Callable[[Mapping[str, Any]], str] | None = None,
) -> Callable[[Run], Run]:
    """Register a function as a step. `revision(settings)` names the model's revision where there is one."""

    def register(run: Run) -> Run:
        known = _STEPS.get(name)
        # A script that imports itself by name, so that workers can too, registers the same function twice.
        same = known is None or known.run.__qualname__ == run.__qualname__
        if known is not None and not (same and known.module in ("__main__", run.__module__)):
            raise SettingsError(f"step {name!r} is already registered by {known.module}; choose another name")
        settled = None if defaults is None else plain(defaults, f"the defaults of {name}")
        _STEPS[name] = StepCode(name, version, run, settled, revision, run.__module__)
        return run

    return register


def find_step(name: str) -> StepCode:
    """The step of that name: one of langscape's own, or of a module that was imported."""
    importlib.import_module("langscape.declarations.running")
    if name in _STEPS:
        return _STEPS[name]
    for find in _FINDERS:
        if (found := find(name)) is not None:
            return found
    known = ", ".join(sorted(_STEPS)) or "none"
    raise SettingsError(f"there is no step {str(name)[:60]!r}; known steps: {known}")


def add_finder(find: Callable[[str], StepCode | None]) -> None:
    """Let a function find steps that are declared elsewhere: the analyses."""
    if find not in _FINDERS:
        _FINDERS.append(find)


def import_steps(modules: list[str]) -> None:
    """Import the modules that register steps outside langscape."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise MissingError(
                f"module {module!r}, which registers steps of this sweep, cannot be imported ({error}); "
                "start where it can be found, or put its folder on PYTHONPATH"
            ) from None
