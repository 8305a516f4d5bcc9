"""How a name says in which precision, and where, a model is opened: `decoder@bfloat16`, `folder@stored,auto`.

So a command, a form and a recipe say it where they name the model, and two precisions are two results.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from langscape.errors import SettingsError

Precision = Literal["float32", "float16", "bfloat16", "stored"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
DEVICE_MAPS = ("auto", "balanced", "sequential")
QUANTIZED = ("8bit", "4bit")


class ModelName(NamedTuple):
    """A name without what follows its @; `quantized` is "8bit", "4bit" or nothing."""

    name: str
    precision: Precision | None = None
    device_map: Any = None
    quantized: str = ""


def split_name(name: str) -> ModelName:
    """The parts of a name; a folder whose own name has an @ is taken as it is.

    >>> split_name("decoder@bfloat16")
    ModelName(name='decoder', precision='bfloat16', device_map=None, quantized='')
    >>> split_name("me@home/model").name
    'me@home/model'
    """
    base, at, options = name.rpartition("@")
    if not at or not base or "/" in options or Path(name).expanduser().is_dir():
        return ModelName(name)
    found: dict[str, Any] = {}
    for one in options.split(","):
        kind = next((kind for kind, known in _KINDS.items() if one in known), None)
        if kind is None:
            listed = ", ".join(word for known in _KINDS.values() for word in known)
            raise SettingsError(f"{name}: {one!r} is not known after @; there are {listed}")
        if kind in found:
            raise SettingsError(f"{name}: {found[kind]} and {one} exclude each other; say one of them")
        found[kind] = one
    return ModelName(base, **found)


_KINDS = {"precision": PRECISIONS, "device_map": DEVICE_MAPS, "quantized": QUANTIZED}
