"""`langscape import-lstm`: weights of an LSTM or GRU trained elsewhere → a folder for `langscape flow`."""

from __future__ import annotations

from pathlib import Path

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import say
from langscape.errors import FileError, SettingsError

_LARGEST = 50_000_000


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "import-lstm",
        rich_help_panel="train",
        epilog=examples(
            "langscape import-lstm model.pt --words vocabulary.txt --out my-lstm",
            "langscape flow my-lstm --prompt 'dear'",
        ),
    )(import_lstm)


def import_lstm(
    weights: Path = typer.Argument(
        help="A state_dict (.pt, .safetensors), or a model or weights of Keras (.keras, .h5)."
    ),
    words: Path = typer.Option(
        ...,
        "--words",
        help="The vocabulary: a word a line in the order of rows, or JSON: a list, or word → row.",
    ),
    out: Path = typer.Option(..., "--out", "-o", help="The model's folder."),
    level: str = typer.Option("word", help="word, or char for every character."),
    lower: bool = typer.Option(False, "--lower", help="Text is lowered before it is looked up."),
    unknown: str = typer.Option(None, help="The word that stands for all that are not listed."),
    start: str = typer.Option(None, help="The word that every text begins with."),
) -> None:
    """Read an LSTM or GRU language model that was trained elsewhere; `langscape flow OUT` then shows it."""
    if level not in ("word", "char"):
        raise SettingsError(f"--level {level} is not known; use word or char")
    from langscape.models.lstm_import import import_lstm as read

    model = read(
        weights, listed_words(words), level=level, lower=lower, unknown=unknown, start=start, name=out.name
    )
    model.save(out)
    say(f"{out}: {model}")
    for note in model.notes:
        say(note)


def listed_words(path: Path) -> list[str]:
    """The words of a file, in the order of rows."""
    import json

    if not path.is_file():
        raise FileError(f"there is no file {path}; give the model's words, one a line")
    if path.stat().st_size > _LARGEST:
        raise FileError(f"{path} is larger than {_LARGEST:,} bytes; a vocabulary is smaller")
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() != ".json":
            return [line for line in text.split("\n") if line]
        given = json.loads(text)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise FileError(f"{path} cannot be read as words: {str(error)[:120]}") from None
    if isinstance(given, dict) and all(isinstance(row, int) for row in given.values()):
        rows = sorted(given.items(), key=lambda item: item[1])
        first = rows[0][1] if rows else 0
        if [row for _, row in rows] != list(range(first, first + len(rows))) or first not in (0, 1):
            raise FileError(f"{path}: rows are not 0, 1, 2, …; give every row one word")
        return ["<pad>"] * first + [word for word, _ in rows]
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        return given
    raise FileError(f"{path} is neither a list of words nor word → row")
