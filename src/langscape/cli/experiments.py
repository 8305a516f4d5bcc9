"""`langscape compare` and `langscape robustness`: the experiments of document 000."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli import choices
from langscape.cli.outputs import check_outs, write_columns
from langscape.cli.terminal import bar, say
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.run.experiments import Experiment
    from langscape.run.results import Table

SUFFIXES = (".csv", ".parquet", ".html", ".png", ".svg", ".pdf")

SPECIAL = typer.Option("keep", help="Special tokens such as [CLS]: keep (the document's) or drop.")
PERPLEXITY = typer.Option(20.0, help="Of the hidden states; heads need none.")
SCHEDULE = typer.Option("ours", help="ours, or document: learning rate 5, no gains, no exaggeration.")
HEADS = typer.Option(None, help="Only these heads of each layer: 0-3 or 0,5,11.")
WORKERS = typer.Option(None, min=0, help="Worker processes; one per core if left out, 0 for this one.")
CLUSTER = typer.Option(None, help="A Dask scheduler (tcp://…), or local.")
OUT = typer.Option(
    [], "--out", "-o",
    help="A figure (.png, .svg, .pdf), page (.html), summary (.csv), all runs (.parquet), or a folder.",
)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(compare)
    app.command()(robustness)


def compare(
    model: str = choices.MODEL,
    text: list[Path] = typer.Option(
        [], "--text", "-t", help="A text file; may be given several times. A sample text if left out."
    ),
    runs: int = typer.Option(100, min=2, help="Runs of each hidden state and each head."),
    layers: str = choices.LAYERS,
    heads: str = HEADS,
    special: str = SPECIAL,
    perplexity: float = PERPLEXITY,
    steps: int = choices.STEPS,
    schedule: str = SCHEDULE,
    cut: bool = choices.CUT,
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    out: list[Path] = OUT,
) -> None:
    """Compare KL of hidden-state t-SNE and of attention-head t-SNE, layer by layer, as box plots."""
    chosen = _chosen(model, out, special, schedule, layers, heads)
    from langscape.run.experiments import compared, comparison, finish

    texts = {path.name: path for path in text} if text else None
    if text and len(texts or {}) < len(text):
        raise SettingsError(
            "two texts have the same file name; rename one, so that the table tells them apart"
        )
    settings: dict[str, Any] = {
        **chosen, "runs": runs, "special": special,
        "perplexity": perplexity, "steps": steps, "schedule": schedule, "cut": cut,
    }  # fmt: skip
    with bar("compare") as progress:
        sweep = comparison(choices.absolute(model), texts, **settings)
        finish(sweep, workers, cluster, progress)
    made = compared(sweep, model)
    shown = ("layer", "method", "runs", "mean", "sd", "sd_of_one", "q1", "median", "q3")
    _deliver(made, out, shown, lambda row: True)


def robustness(
    model: str = choices.MODEL,
    text: Path = choices.TEXT,
    repeats: int = typer.Option(1000, min=2, help="Disturbed texts, and undisturbed runs beside them."),
    share: float = typer.Option(
        0.05, help="Share of the tokens replaced, each by another token of the text."
    ),
    layers: str = choices.LAYERS,
    heads: str = HEADS,
    special: str = SPECIAL,
    perplexity: float = PERPLEXITY,
    steps: int = choices.STEPS,
    schedule: str = SCHEDULE,
    cut: bool = choices.CUT,
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    out: list[Path] = OUT,
) -> None:
    """Replace a share of the tokens again and again: how much more does the KL of both methods vary?"""
    chosen = _chosen(model, out, special, schedule, layers, heads)
    from langscape.run.experiments import disturbance, disturbed, finish

    settings: dict[str, Any] = {
        **chosen, "repeats": repeats, "share": share,
        "special": special, "perplexity": perplexity, "steps": steps, "schedule": schedule, "cut": cut,
    }  # fmt: skip
    with bar("robustness") as progress:
        sweep = disturbance(choices.absolute(model), text, **settings)
        finish(sweep, workers, cluster, progress)
    made = disturbed(sweep, model, share)
    shown = (
        "layer",
        "method",
        "repeats",
        "mean",
        "sd",
        "mean_disturbed",
        "sd_disturbed",
        "ratio",
        "median_ratio",
    )
    _deliver(made, out, shown, lambda row: row["method"] != "head")


def _chosen(
    model: str, outs: list[Path], special: str, schedule: str, layers: str | None, heads: str | None
) -> dict[str, list[int] | None]:
    """The layers and heads asked for, everything checked that can be before the model is opened."""
    check_outs(outs, SUFFIXES, folder=True)
    choices.check_choice("special", special, "keep", "drop")
    choices.check_choice("schedule", schedule, "ours", "document")
    chosen = {"layers": choices.numbers(layers), "heads": choices.numbers(heads, "--heads")}
    choices.check_numbers(model, hidden=chosen["layers"], heads=chosen["heads"])
    return chosen


def _deliver(made: Experiment, outs: list[Path], shown: tuple[str, ...], which: Any) -> None:
    for line in _lines(made.summary, shown, which):
        typer.echo(line)
    say(*made.notes)
    for out in outs:
        single = out.suffix.lower() in SUFFIXES and not out.is_dir()
        for file in [out] if single else [out / "index.html", out / "summary.csv", out / "runs.parquet"]:
            _write(made, file)
            typer.echo(file)


def _write(made: Experiment, file: Path) -> None:
    suffix = file.suffix.lower()
    if suffix == ".csv":
        write_columns(made.summary.columns, file)
    elif suffix == ".parquet":
        from langscape.run.results import write as write_result
        from langscape.whole import whole

        with whole(file) as aside:
            write_result(made.runs, aside)
    else:
        from langscape.views import write

        write(made.views() if suffix == ".html" else made.views()[0], file)


def _lines(table: Table, shown: tuple[str, ...], which: Any) -> list[str]:
    lines = ["  ".join(f"{name:>{max(8, len(name))}}" for name in shown)]
    for at in range(len(table)):
        row = {name: table[name][at] for name in table.columns}
        if which(row):
            lines.append("  ".join(f"{_cell(row[name]):>{max(8, len(name))}}" for name in shown))
    return lines


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value != value:
        return "–"
    return f"{value}" if isinstance(value, Integral) else f"{value:z.4f}"
