"""`langscape check`: what can be done with a model."""

from __future__ import annotations

import typer

from langscape.cli.commands import examples


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        rich_help_panel="measure",
        epilog=examples(
            "langscape check default",
            "langscape check decoder@bfloat16",
        ),
    )(check)


def check(
    model: str = typer.Argument(
        help="A name, a folder or a Hub id; NAME@bfloat16, @stored, @auto or @8bit opens it so."
    ),
    text: str = typer.Option(None, help="What is read; a short text if left out."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Try on a model what langscape does with models: weights, q and k, the stream, edits, memory."""
    from langscape.models import check as try_all

    found = try_all(model, text)
    typer.echo(found.to_json() if as_json else repr(found))
