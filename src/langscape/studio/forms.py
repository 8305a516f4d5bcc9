"""Declared analyses as the studio offers them: the form on the page, and the recipe that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langscape.declarations import Analysis, InputParameter, Parameter, analyses
from langscape.declarations.inputs import SAMPLES
from langscape.declarations.running import name_call
from langscape.errors import SettingsError
from langscape.store import Recipe, Store


@dataclass(frozen=True)
class GivenInput:
    """An input that was given. `source` is how a recipe takes it, a path or `sha256:…`; `path` its file."""

    id: str
    kind: str
    name: str
    source: str
    path: Path | None = None


OFFERED: dict[str, Analysis] = {name: one for name, one in analyses().items() if not one.hidden}
"""Every analysis that has a face of its own."""


def offered(name: object) -> Analysis:
    """The analysis of that name."""
    if not isinstance(name, str) or name not in OFFERED:
        raise SettingsError(f"there is no analysis {str(name)[:60]!r}; there are {', '.join(OFFERED)}")
    return OFFERED[name]


def form_of(analysis: Analysis) -> dict[str, Any]:
    """The form of an analysis, and the views that its result has."""
    return {
        "title": analysis.title,
        "room": analysis.room,
        "inputs": [input_field(one) for one in analysis.signature.inputs],
        "settings": [setting_field(one) for one in analysis.signature.settings],
        "views": [
            {
                "name": one.name,
                "kind": one.kind,
                "parameters": [setting_field(each) for each in one.parameters],
            }
            for one in analysis.pictures
        ],
    }


def setting_field(one: Parameter) -> dict[str, Any]:
    """A setting, or the parameter of a view, as a form shows it."""
    choices = [
        {"value": value, "label": one.annotation.labels.get(value, str(value))}
        for value in (one.choices if one.type == "choice" else ())
    ]
    return {
        "name": one.name,
        "label": one.annotation.label,
        "type": one.type,
        "default": one.default,
        "low": one.annotation.ge,
        "high": one.annotation.le,
        "choices": choices or None,
        "required": one.required,
        "help": one.annotation.help,
        "hint": one.annotation.hint,
        "percent": one.annotation.percent,
        "source": one.annotation.document,
    }


def input_field(one: InputParameter) -> dict[str, Any]:
    """An input as a form shows it."""
    return {
        "name": one.name,
        "kind": one.annotation.kind,
        "label": one.annotation.label,
        "help": one.annotation.help,
        "required": one.required and one.annotation.sample is None,
        "default": default_input(one),
    }


def default_input(one: InputParameter) -> str | None:
    """The id of the sample that is taken where nothing is given; a form begins with one text."""
    return (
        "sample-harbour"
        if one.annotation.sample in ("sample-text", "sample-texts")
        else one.annotation.sample
    )


def recipe_of(
    analysis: Analysis, settings: Mapping[str, Any], inputs: Mapping[str, GivenInput], store: Store
) -> Recipe:
    """The recipe that a filled form stands for."""
    given = {key: SAMPLES[one.id][2] if one.id in SAMPLES else one.source for key, one in inputs.items()}
    recipe = name_call(analysis, {**settings, **given}, store)
    assert recipe is not None  # whatever a form gives has a name
    return recipe


def title_of(analysis: Analysis, settings: Mapping[str, Any], inputs: Mapping[str, GivenInput]) -> str:
    """What a filled form is called."""
    return analysis.called(settings, {key: one.name for key, one in inputs.items()})
