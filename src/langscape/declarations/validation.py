"""Settings checked by pydantic: the model is made from the signature, the messages are ours."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langscape.declarations.declaration import Analysis, Parameter
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from pydantic import BaseModel

TEXT = 2000
"""Characters of a setting that is text."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def check_settings(
    parameters: Iterable[Parameter],
    given: Any,
    what: str,
    *,
    called: Callable[[str], str] = str,
) -> dict[str, Any]:
    """All settings, checked and completed with their defaults; a name that is not known is an error.

    `called` says what the face calls a setting: `--head-map` where the library says `head_map`.
    """
    from pydantic import ValidationError

    parameters = tuple(parameters)
    if not isinstance(given, Mapping):
        raise SettingsError(f"the settings of {what} are {shown(given)}; expected names with values")
    known = {one.name: one for one in parameters}
    for name in given:
        if name not in known:
            listed = ", ".join(called(one) for one in known) or "none"
            raise SettingsError(f"{what} has no setting {str(name)[:60]!r}; it has {listed}")
    # None is "not said", and a tuple is a list
    values = {k: list(v) if isinstance(v, tuple) else v for k, v in given.items() if v is not None}
    try:
        model = settings_model(what, parameters).model_validate(values)
    except ValidationError as error:
        place = error.errors()[0]["loc"][0]
        one = known[str(place)]
        if one.name not in values:
            raise SettingsError(f"{called(one.name)} is missing; expected {one.expected}") from None
        value = shown(values[one.name])
        raise SettingsError(f"{called(one.name)} is {value}; expected {one.expected}") from None
    return {one.name: getattr(model, one.name) for one in parameters}


def parse_setting(one: Parameter, text: str) -> Any:
    """The value that a text from a query or an option stands for; `check_settings` then judges it."""
    for value in one.choices:
        if str(value) == text:
            return value
    if one.type in ("text", "choice"):
        return text
    if one.type == "words":
        return [part.strip() for part in text.split(",") if part.strip()]
    if one.type == "numbers":
        return parse_numbers(text) or text
    if one.type == "vectors":
        return _vectors(text) or text
    if one.type == "flag":
        return {"true": True, "false": False}.get(text, text)
    try:
        value = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def parse_numbers(text: str) -> list[int] | None:
    """Numbers written as 0-3 or 0,5,11; None where the text is something else."""
    found: list[int] = []
    try:
        for part in text.split(","):
            low, dash, high = part.strip().partition("-")
            if dash and int(high) - int(low) > 10_000:
                return None
            found += range(int(low), int(high) + 1) if dash else [int(low)]
    except ValueError:
        return None
    return sorted(set(found)) or None


def shown(value: Any) -> str:
    """A value in a message: not too long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


@functools.lru_cache(maxsize=256)
def settings_model(name: str, parameters: tuple[Parameter, ...]) -> type[BaseModel]:
    """The pydantic model of these parameters: frozen, unknown names refused."""
    from pydantic import ConfigDict, Field, create_model

    fields: Any = {}
    for one in parameters:
        value = _annotation(one) if one.required or one.default is not None else _annotation(one) | None
        described = Field(title=one.annotation.label, description=one.annotation.help)
        fields[one.name] = (Annotated[value, described], ... if one.required else one.default)
    config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), arbitrary_types_allowed=False)
    return create_model(f"{re.sub('[._]', '', name.title())}Settings", __config__=config, **fields)


def model_of(analysis: Analysis) -> type[BaseModel]:
    """The settings of an analysis as a pydantic model."""
    return settings_model(analysis.name, analysis.signature.settings)


def _annotation(one: Parameter) -> Any:
    from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, StrictStr

    limits = Field(
        ge=one.annotation.ge,
        le=one.annotation.le,
        description=one.annotation.help,
        title=one.annotation.label,
    )
    described = Field(description=one.annotation.help, title=one.annotation.label)
    if one.type == "integer":
        number = Annotated[StrictInt, limits, BeforeValidator(_whole)]
        return number | Literal[one.choices] if one.choices else number  # type: ignore[valid-type]
    if one.type == "number":
        return Annotated[float, limits, BeforeValidator(_real)]
    if one.type == "flag":
        return Annotated[StrictBool, described]
    if one.type == "choice":
        return Annotated[Literal[one.choices], BeforeValidator(_exactly(one.choices)), described]  # type: ignore[valid-type]
    if one.type == "numbers":
        inner = Annotated[StrictInt, Field(ge=one.annotation.ge, le=one.annotation.le)]
        return Annotated[
            list[inner],
            Field(min_length=1, max_length=1000, description=one.annotation.help, title=one.annotation.label),
        ]
    if one.type == "words":
        word = Annotated[StrictStr, Field(min_length=1, max_length=200)]
        return Annotated[
            list[word],
            Field(min_length=1, max_length=2000, description=one.annotation.help, title=one.annotation.label),
        ]
    if one.type == "vectors":
        name = Annotated[StrictStr, Field(min_length=1, max_length=200)]
        numbers = Annotated[list[Annotated[float, BeforeValidator(_real)]], Field(min_length=1)]
        return Annotated[
            dict[name, numbers],
            Field(min_length=1, max_length=100, description=one.annotation.help, title=one.annotation.label),
        ]
    visible = Field(
        min_length=1,
        max_length=TEXT,
        pattern=one.annotation.pattern and f"^(?:{one.annotation.pattern})$",
        description=one.annotation.help,
        title=one.annotation.label,
    )
    return Annotated[StrictStr, AfterValidator(_visible), visible]


def _whole(value: Any) -> Any:
    if hasattr(value, "item") and not isinstance(value, int | float | str):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _real(value: Any) -> float:
    if hasattr(value, "item") and not isinstance(value, int | float | str):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e300:
        raise ValueError("no finite number")
    return float(value)


def _exactly(choices: tuple[Any, ...]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not any(type(value) is type(one) and value == one for one in choices):
            raise ValueError("none of the choices")
        return value

    return check


def _visible(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("control characters")
    return value


def _vectors(text: str) -> dict[str, list[float]] | None:
    """Named vectors from `name:0.5,-1.2;other:1,2`; None where a part is no name with numbers."""
    try:
        parts = [part.rsplit(":", 1) for part in text.split(";") if part.strip()]
        return {name.strip(): [float(one) for one in numbers.split(",")] for name, numbers in parts}
    except ValueError:
        return None
