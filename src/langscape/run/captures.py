"""A text through a model, kept in the store: what maps of heads and of hidden states are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from langscape import strict_json
from langscape.data import Capture, Progress
from langscape.errors import FileError
from langscape.run.heads import captured, opened, read_text, revision, sample_text
from langscape.run.recipe import Recipe
from langscape.run.registry import step
from langscape.run.results import Arrays, read


def capture_recipe(
    model: str,
    text: str | Path | None = None,
    want: Sequence[str] = ("attention", "hidden"),
    *,
    target: str | Path | None = None,
    cut: bool = False,
) -> Recipe:
    """The recipe of a capture: text is a file (a Path), the text itself, or None for a sample text.

    target is what the decoder of an encoder–decoder reads, given in the same way.
    """
    told = {"text": text, "target": target}
    inputs = {name: value for name, value in told.items() if isinstance(value, Path)}
    said = {name: value for name, value in told.items() if isinstance(value, str)}
    return Recipe("text.capture", {"model": model, "want": sorted(want), "cut": cut, **said}, inputs)


@step(
    "text.capture",
    version=1,
    defaults={
        "model": "default",
        "text": None,
        "target": None,
        "want": ["attention", "hidden"],
        "cut": False,
    },
    revision=revision,
)
def text_capture(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """What `model` held while it read `text`, or the file of the input `text`; see `unpack_capture`."""
    model, text = model_and_text(settings, inputs)
    target = read_text(inputs["target"]) if "target" in inputs else settings["target"]
    return pack_capture(captured(model, text, settings["want"], cut=settings["cut"], target=target))


def model_and_text(settings: Mapping[str, Any], inputs: Mapping[str, Path]) -> tuple[Any, str]:
    """The opened model and the text that a step's settings and inputs name."""
    model = opened(settings["model"], revision(settings))
    text = read_text(inputs["text"]) if "text" in inputs else settings["text"] or sample_text(model.kind)
    return model, text


def pack_capture(capture: Capture) -> Arrays:
    """The capture as arrays and plain facts, for the store."""
    facts = {
        "tokens": list(capture.tokens),
        "axes": {name: list(axes) for name, axes in capture.axes.items() if name in capture.arrays},
        "made": dict(capture.made),
        "notes": list(capture.notes),
    }
    return Arrays(dict(capture.arrays), facts)


def unpack_capture(stored: Arrays) -> Capture:
    """The capture that `pack_capture` stored."""
    facts, where = stored.facts, "a capture of the store"
    axes = strict_json.field(facts, "axes", "object", where)
    named = {name: _texts(axes, name, f"{where}: axes") for name in axes}
    made = strict_json.field(facts, "made", "object", where)
    return Capture(_texts(facts, "tokens", where), stored.arrays, named, made, _texts(facts, "notes", where))


def _texts(facts: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    listed = strict_json.field(facts, name, "list", where)
    if not all(isinstance(one, str) for one in listed):
        raise FileError(f"{where}: {strict_json.shown(name)} is no list of texts; compute it again")
    return tuple(listed)


def read_capture(path: Path) -> Capture:
    """The capture of a file of the store; the last one is held, for many tasks of one worker share it."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, stamp: int) -> Capture:
    return unpack_capture(read("arrays", path))
