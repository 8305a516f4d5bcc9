"""Options that several commands share, and their checks: one wording for all, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from langscape.errors import SettingsError

MODEL = typer.Argument("default", help="default, decoder, a folder, or a Hub id.")
TEXT = typer.Option(None, "--text", "-t", help="A text file; a sample text if left out.")
CUT = typer.Option(False, "--cut", help="Of a text too long for the model, take the first part.")
STEPS = typer.Option(1000, min=1, help="Steps of each run.")
SEED = typer.Option(0, help="The same seed gives the same maps, bit for bit.")
LAYERS = typer.Option(None, help="Only these layers, from 0: 0-3 or 0,5,11.")


def check_choice(option: str, value: str | None, *known: str | None) -> None:
    """Refuse a value that is none of those known."""
    if value not in known:
        named = [one for one in known if one is not None]
        listed = " or ".join(part for part in (", ".join(named[:-1]), named[-1]) if part)
        raise SettingsError(f"--{option} {value} is not known; use {listed}")


def over(text: Path | None) -> str:
    """How a title names the text that was read."""
    return f"over {text.name if text else 'a sample text'}"


def absolute(model: str) -> str:
    """A folder by its whole path, so that the store knows it from anywhere."""
    path = Path(model).expanduser()
    return (
        str(path.resolve()) if path.is_dir() and ("/" in model or (path / "config.json").exists()) else model
    )


def numbers(text: str | None, option: str = "--layers") -> list[int] | None:
    """Numbers written as 0-3 or 0,5,11."""
    if text is None:
        return None
    found: list[int] = []
    try:
        for part in text.split(","):
            low, dash, high = part.strip().partition("-")
            found += range(int(low), int(high) + 1) if dash else [int(low)]
    except ValueError:
        found = []
    if not found:
        raise SettingsError(f"{option} {text} is not understood; write 0-3, or 0,5,11")
    return sorted(set(found))


def check_numbers(
    model: str,
    *,
    layers: Iterable[int | None] | None = None,
    heads: Iterable[int | None] | None = None,
    hidden: Iterable[int | None] | None = None,
    side: str | None = None,
) -> None:
    """Refuse layers and heads that the model does not have; its weights are not read for it."""
    asked = {"layer": layers, "head": heads, "hidden layer": hidden}
    wanted = {noun: [one for one in given or () if one is not None] for noun, given in asked.items()}
    if not any(wanted.values()):
        return
    from langscape.errors import not_there
    from langscape.models import check_model, model_size

    check_model(absolute(model))
    size = model_size(absolute(model), side)
    if size is None:
        return
    counts = {"layer": size.layers, "head": size.heads, "hidden layer": size.layers + 1}
    for noun, given in wanted.items():
        for number in given:
            if not 0 <= number < counts[noun]:
                raise not_there(noun, number, range(counts[noun]), Path(model).name)
