"""The command tree. Each file here holds one command or one group, and imports nothing heavy."""

from __future__ import annotations

import typer

from langscape import __version__
from langscape.cli import (
    check,
    corpora,
    demo,
    import_lstm,
    measure,
    models,
    store,
    studio,
    sweep,
    train_lstm,
    upkeep,
    view,
)
from langscape.cli.commands import CommandTree

app = typer.Typer(
    cls=CommandTree,
    help="Pictures of what a language model holds, each with a score that says how far to trust it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 120},
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"langscape {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


for part in (
    studio,
    demo,
    measure,
    check,
    view,
    corpora,
    train_lstm,
    import_lstm,
    models,
    store,
    sweep,
    upkeep,
):
    part.register(app)
