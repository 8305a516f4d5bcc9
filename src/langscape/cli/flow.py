"""`langscape flow`: how vectors move through a model over a prompt, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from langscape.cli.choices import absolute, check_choice
from langscape.cli.outputs import check_outs
from langscape.cli.terminal import bar, say
from langscape.errors import SettingsError

SUFFIXES = (".html", ".png", ".svg", ".pdf")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(flow)


def flow(
    model: str = typer.Argument(
        "lstm-tiny", help="lstm-tiny, lstm, decoder, default, a folder that holds a model, or a Hub id."
    ),
    prompt: str = typer.Option(None, "--prompt", "-p", help="The text to read; a short one if left out."),
    text: Path = typer.Option(None, "--text", "-t", help="A file with the text to read."),
    top: int = typer.Option(8, min=1, help="Words named at every place."),
    space: str = typer.Option("oklab", help="Colour space: oklab, or rgb as in the document."),
    fit: str = typer.Option(
        "exact", help="How vectors find their colours: exact, or force as in the document."
    ),
    seed: int = typer.Option(0, help="The same seed gives the same colours."),
    out: list[Path] = typer.Option(
        [], "--out", "-o", help="A page (.html) or a figure (.png, .svg, .pdf); else a page opens."
    ),
    open_it: bool = typer.Option(
        True, "--open/--no-open", help="Without --out, open the page in the browser."
    ),
) -> None:
    """Watch vectors move through an LSTM or a transformer, and see what made each number."""
    check_outs(out, SUFFIXES)
    if prompt is not None and text is not None:
        raise SettingsError("give --prompt or --text, not both")
    if prompt is not None and not prompt.strip():
        raise SettingsError("--prompt is empty; give at least one word")
    check_choice("space", space, "oklab", "rgb")
    check_choice("fit", fit, "exact", "force")
    import tempfile
    import webbrowser

    from langscape.run import Recipe, Store
    from langscape.run.flow import unpack_view
    from langscape.views import write

    settings: dict[str, Any] = {
        "model": absolute(model), "prompt": prompt, "top": top, "space": space, "fit": fit, "seed": seed
    }  # fmt: skip
    inputs = {} if text is None else {"prompt": text}
    with bar(f"flow through {model}") as progress:
        made = unpack_view(Store().run(Recipe("flow.view", settings, inputs), progress))
    say(*(f"{one['label']}: {one['shown']}" for one in made.properties["quality"]))
    say(*(f"alarm: {one['text']}" for one in made.properties["alarms"]))
    say(*made.properties["notes"])
    places = out or [Path(tempfile.mkdtemp(prefix="langscape-")) / "flow.html"]
    for path in places:
        typer.echo(write(made, path))
    if not out and open_it and not webbrowser.open(places[0].resolve().as_uri()):
        say("no browser could be opened; open the file above in one")
