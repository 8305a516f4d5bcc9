"""A declared analysis as the studio's ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape.data import View
from langscape.declarations import Analysis, Parameter
from langscape.declarations import Picture as DeclaredPicture
from langscape.declarations.running import name_call
from langscape.store import Recipe, Store
from langscape.studio.asks.ask import Ask, Given, Later, Made, Picture, Wanted
from langscape.studio.asks.setting import Setting


def ask_of(declared: Analysis) -> Ask:
    """What the studio needs to know of an analysis, read off its declaration."""
    return Ask(
        declared.name,
        declared.title,
        declared.room,
        tuple(_wanted(one) for one in declared.signature.inputs),
        tuple(setting_of(one) for one in declared.signature.settings),
        tuple(_picture(one) for one in declared.pictures),
        lambda settings, inputs, store: _recipe(declared, settings, inputs, store),
        lambda settings, inputs: declared.called(settings, {key: one.name for key, one in inputs.items()}),
    )


def setting_of(one: Parameter) -> Setting:
    """A parameter as a form shows it."""
    return Setting(
        one.name,
        one.said.label,
        one.type,
        one.default,
        one.said.help,
        one.said.document,
        one.said.ge,
        one.said.le,
        tuple((value, one.said.labels.get(value, str(value))) for value in one.choices)
        if one.type == "choice"
        else (),
        one.required,
    )


def _wanted(one: Any) -> Wanted:
    # a form begins with one text
    several = one.said.sample in ("sample-text", "sample-texts")
    sample = "sample-harbour" if several else one.said.sample
    needed = one.required and sample is None
    return Wanted(one.name, one.said.kind, one.said.label, one.said.help, needed, sample)


def _recipe(
    declared: Analysis, settings: Mapping[str, Any], inputs: Mapping[str, Given], store: Store
) -> Recipe:
    from langscape.declarations.inputs import SAMPLES

    given = {key: SAMPLES[one.id][2] if one.id in SAMPLES else one.source for key, one in inputs.items()}
    named = name_call(declared, {**settings, **given}, store)
    assert named is not None  # the studio has names of everything
    return named


def _picture(one: DeclaredPicture) -> Picture:
    def draw(made: Made, asked: Mapping[str, Any]) -> View:
        return one.draw(made.result, made, **asked)

    def whole(made: Made, asked: Mapping[str, Any]) -> View:
        assert one.whole is not None
        return one.whole(made.result, made, **asked)

    def later(made: Made, asked: Mapping[str, Any]) -> Mapping[str, Later]:
        assert one.later is not None
        return one.later(made.result, made, **asked)

    parameters = tuple(setting_of(each) for each in one.parameters)
    return Picture(
        one.name, one.kind, draw, parameters, whole if one.whole else None, later if one.later else None
    )
