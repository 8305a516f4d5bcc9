"""`langscape train-lstm`: a language model of your own text, for `langscape flow`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import bar, say
from langscape.errors import FileError, SettingsError

if TYPE_CHECKING:
    from langscape.data import Step


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "train-lstm",
        rich_help_panel="train",
        epilog=examples(
            "langscape train-lstm letters.txt --out my-lstm",
            "langscape flow my-lstm --prompt 'dear'",
        ),
    )(train_lstm)


def train_lstm(
    corpus: str = typer.Argument(
        help="A text file, a folder of them, or the name of a packaged corpus; one sentence a line."
    ),
    out: Path = typer.Option(..., "--out", "-o", help="The model's folder; a killed run in it goes on."),
    dim: int = typer.Option(64, min=1, help="Width of a word's embedding."),
    hidden: int = typer.Option(None, min=1, help="Units of a layer; as many as --dim if left out."),
    layers: int = typer.Option(1, min=1, help="LSTM layers."),
    steps: int = typer.Option(2000, min=1, help="Steps of training."),
    cut: bool = typer.Option(False, "--sentences", help="Cut prose into sentences first."),
    level: str = typer.Option("word", help="word, or char for every character."),
    words: int = typer.Option(5000, min=3, help="Size of the vocabulary; rarer words become <unk>."),
    tied: bool = typer.Option(False, "--tied", help="Predict words by the embedding itself."),
    batch: int = typer.Option(32, min=1, help="Streams of text read side by side."),
    length: int = typer.Option(32, min=1, help="Words of a stream read in one step."),
    rate: float = typer.Option(4e-3, help="The highest learning rate."),
    dropout: float = typer.Option(0.0, help="Share of values dropped while training."),
    decay: float = typer.Option(0.0, help="Weight decay."),
    held_out: float = typer.Option(0.05, help="Share of lines kept apart for the perplexity."),
    keep: int = typer.Option(200, min=1, help="Steps between checkpoints."),
    threads: int = typer.Option(1, min=1, help="Threads; one is the fastest for small models."),
    half: bool = typer.Option(False, "--half", help="Write float16."),
    seed: int = typer.Option(0, help="The same seed gives the same model, bit for bit."),
) -> None:
    """Train an LSTM language model; `langscape flow OUT` then shows what it does."""
    if level not in ("word", "char"):
        raise SettingsError(f"--level {level} is not known; use word or char")
    from langscape.models.lstm_train import Training
    from langscape.models.lstm_train import train_lstm as train

    chosen: dict[str, Any] = {
        "dim": dim, "hidden": hidden, "layers": layers, "steps": steps, "level": level, "words": words,
        "tied": tied, "batch": batch, "length": length, "rate": rate, "dropout": dropout, "decay": decay,
        "held_out": held_out, "keep": keep, "threads": threads, "seed": seed,
    }  # fmt: skip
    settings = Training(**chosen)
    lines = _lines(corpus, cut)
    name = Path(corpus).name
    with bar(f"training on {name}") as shown:

        def progress(step: Step) -> None:
            shown(step)
            if step.done % keep == 0 or step.done == step.total:
                figures = "  ".join(f"{name} {value:.3f}" for name, value in step.figures.items())
                say(f"step {step.done} of {step.total}  {figures}")

        trained = train(lines, out, settings, half=half, about={"corpus": name}, progress=progress)
    if trained.resumed:
        say(f"went on from step {trained.resumed}")
    typer.echo(f"{trained.model}")
    compared = ", ".join(f"{name} {value:.1f}" for name, value in trained.baselines.items())
    typer.echo(
        f"held-out perplexity {trained.perplexity:.2f} ({compared}; {trained.unknown:.1%} unknown words)"
    )
    typer.echo(out)


def _lines(corpus: str, cut: bool) -> list[str]:
    from langscape.sources import corpus as read
    from langscape.sources import corpus_path, sentences

    texts = read(corpus_path(corpus)).documents()
    lines = [line.strip() for text in texts for line in (sentences(text) if cut else text.splitlines())]
    if not any(lines):
        raise FileError(f"{corpus} holds no text; give a file with words in it")
    return [line for line in lines if line]
