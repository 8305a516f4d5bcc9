"""`langscape atlas`: every attention head of a model over a text, ranked, named and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli import choices
from langscape.cli.outputs import check_outs, write_columns
from langscape.cli.terminal import bar, say
from langscape.models.titles import model_title

if TYPE_CHECKING:
    from langscape.run.atlas import Atlas

SUFFIXES = (".html", ".png", ".svg", ".pdf", ".csv")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(atlas)


def atlas(
    model: str = choices.MODEL,
    text: Path = choices.TEXT,
    special: str = typer.Option("drop", help="Special tokens such as [CLS] on the maps: keep or drop."),
    restarts: int = typer.Option(8, min=1, help="Runs per head; the lowest KL is kept."),
    steps: int = choices.STEPS,
    layers: str = choices.LAYERS,
    cut: bool = choices.CUT,
    sort: str = typer.Option("interest", help="Rank heads by this score."),
    show: int = typer.Option(15, min=0, help="How many heads to print; 0 prints all."),
    side: str = typer.Option(None, help="Of an encoder–decoder: encoder or decoder; encoder if left out."),
    target: Path = typer.Option(None, help="What the decoder of an encoder–decoder reads: a text file."),
    seed: int = choices.SEED,
    out: list[Path] = typer.Option(
        [], "--out", "-o", help="A page (.html), a figure (.png, .svg, .pdf), a table (.csv), or a folder."
    ),
) -> None:
    """Map every head of a model, rank them, name what they do and group those that attend alike."""
    check_outs(out, SUFFIXES, folder=True)
    choices.check_choice("special", special, "keep", "drop")
    choices.check_choice("side", side, None, "encoder", "decoder")
    chosen = choices.numbers(layers)
    choices.check_numbers(model, layers=chosen, side=side)
    from langscape.run import Recipe, Store
    from langscape.run.atlas import unpack_atlas

    settings: dict[str, Any] = {
        "model": choices.absolute(model), "special": special, "restarts": restarts, "seed": seed, "cut": cut,
        "layers": chosen, "steps": steps, "side": side,
    }  # fmt: skip
    inputs = {name: path for name, path in (("text", text), ("target", target)) if path is not None}
    with bar(f"atlas of {model}") as progress:
        made = unpack_atlas(Store().run(Recipe("heads.atlas", settings, inputs), progress))
    for line in table(made, sort, show):
        typer.echo(line)
    title = f"Heads of {model_title(model)} {choices.over(text)}"
    say(*dict.fromkeys(made.view(title, attention=False).properties["notes"]))
    for path in out:
        for file in _files(path):
            _write(made, file, title)
            typer.echo(file)


def table(made: Atlas, sort: str = "interest", show: int = 15) -> list[str]:
    """The heads ranked by a score, as lines of text, and how many wear each name."""
    from collections import Counter

    columns = made.scores.columns
    order = made.ranked(sort)
    shown = ["interest", "max_attention", "entropy", "sink", "kl", "kl_sd", "stability"]
    shown = [sort, *(name for name in shown if name != sort)]
    lines = ["  ".join(["head  ", *(f"{name:>{max(8, len(name))}}" for name in shown), "group", "name"])]
    for row in order[: show or len(order)]:
        figures = [f"{_figure(columns[name][row]):>{max(8, len(name))}}" for name in shown]
        where = f"{columns['layer'][row]}.{columns['head'][row]}"
        named = f"{columns['group'][row]:>5}  {columns['tags'][row]}"
        lines.append("  ".join([f"{where:<6}", *figures, named]).rstrip())
    counted = Counter(tag for tags in columns["tags"] for tag in tags.split(", ") if tag)
    for tag, count in counted.most_common():
        examples = [row for row in _strongest(made, tag)][:4]
        named = ", ".join(f"{columns['layer'][row]}.{columns['head'][row]}" for row in examples)
        lines.append(f"{tag}: {count} {'head' if count == 1 else 'heads'}, strongest {named}")
    return lines


def _strongest(made: Atlas, tag: str) -> list[int]:
    from langscape.metrics.heads import THRESHOLDS

    score = THRESHOLDS[tag][0]
    return [int(row) for row in made.ranked(score) if tag in made.scores.columns["tags"][row].split(", ")]


def _figure(value: float) -> str:
    return "–" if value != value else f"{value:z.3f}"


def _files(out: Path) -> list[Path]:
    if out.suffix.lower() in SUFFIXES and not out.is_dir():
        return [out]
    return [out / "index.html", out / "scores.csv"]


def _write(made: Atlas, file: Path, title: str) -> None:
    if file.suffix.lower() == ".csv":
        write_columns(made.scores.columns, file)
    else:
        from langscape.views import write

        write(made.view(title), file)
