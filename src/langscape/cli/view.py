"""`langscape view`: a map file as a page in the browser."""

from __future__ import annotations

from pathlib import Path

import typer

from langscape.cli.commands import examples
from langscape.cli.outputs import check_outs
from langscape.cli.terminal import say

PICTURES = (".html", ".png", ".svg", ".pdf")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        rich_help_panel="look",
        epilog=examples(
            "langscape view map.parquet",
            "langscape view map.parquet --color group --out map.svg",
        ),
    )(view)


def view(
    map: Path = typer.Argument(help="A map file (.parquet)."),
    out: Path = typer.Option(None, help="Write to this .html, .png, .svg or .pdf; else to a temporary page."),
    color: str = typer.Option(None, help="Colour by this column of the map."),
    title: str = typer.Option(None, help="Title of the picture; else the file's name."),
    quantiles: int = typer.Option(
        None, min=1, help="Stretch the axes so that K quantiles are equally far apart."
    ),
    point: str = typer.Option(
        None, help="Draw lines from this item to its true neighbours: kept, missing and false."
    ),
    gaussians: Path = typer.Option(
        None, help="With ellipses: the file of `langscape gaussians`, for their contexts."
    ),
    open_it: bool = typer.Option(True, "--open/--no-open", help="Open it in the browser."),
) -> None:
    """Show a map: one self-contained page that needs no network."""
    import tempfile
    import webbrowser

    from langscape.io.gaussian_file import read_gaussians
    from langscape.io.map_file import read_map
    from langscape.views import ellipses, scatter, write

    if out is not None:
        check_outs([out], PICTURES)
    found = read_map(map)
    if found.shapes is not None and quantiles is None:
        given = None if gaussians is None else read_gaussians(gaussians)
        picture = ellipses(found, given, color=color, title=title or map.stem, point=point)
    else:
        picture = scatter(found, color=color, title=title or map.stem, quantiles=quantiles, point=point)
    path = out or Path(tempfile.mkdtemp(prefix="langscape-")) / f"{map.stem}.html"
    path = write(picture, path).resolve()
    typer.echo(path)
    if open_it and not webbrowser.open(path.as_uri()):
        say("no browser could be opened; open the file above in one")
