"""`langscape studio`: the local web application."""

from __future__ import annotations

from pathlib import Path

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import bar, say
from langscape.errors import MissingError


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        rich_help_panel="look",
        epilog=examples(
            "langscape studio",
            "langscape studio --port 8899 --no-open",
        ),
    )(studio)


def studio(
    port: int = typer.Option(None, min=0, max=65535, help="The port; 8765 or the next free one if left out."),
    host: str = typer.Option("127.0.0.1", help="The address to listen on; loopback only."),
    store: Path = typer.Option(None, help="The folder of results; the usual store if left out."),
    workers: int = typer.Option(2, min=1, max=16, help="Jobs computed at the same time, a process each."),
    open_it: bool = typer.Option(True, "--open/--no-open", help="Open it in the browser."),
    prepare: bool = typer.Option(False, "--prepare", help="Only compute the examples it opens on."),
) -> None:
    """Explore heads, words and more in the browser; everything stays on this machine."""
    try:
        from langscape.studio.access import Access, check_loopback
        from langscape.studio.browser import open_browser
        from langscape.studio.examples import prepare as prepare_examples
        from langscape.studio.serve import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] in ("fastapi", "starlette", "uvicorn", "pydantic"):
            raise MissingError(
                f"the studio needs {error.name}; run `pip install 'langscape[models,studio]'`"
            ) from None
        raise
    from langscape.store import Store

    check_loopback(host)
    opened = Store(store)
    opened.check_writable("what the studio computes")
    if prepare:
        with bar("the studio's examples") as progress:
            prepare_examples(opened, progress, say)
        return

    def ready(access: Access) -> None:
        def print_address() -> None:
            typer.echo(access.new_address(used=print_next))

        def print_next() -> None:
            say("that address was used; to open another browser:")
            print_address()

        say("the studio is running; open this address, which works once, on this machine (Ctrl-C ends it):")
        print_address()
        if open_it and not open_browser(access):
            say("no browser could be started here; open the address yourself")

    serve(opened, host, 8765 if port is None else port, ready, exact=port is not None, workers=workers)
