"""`langscape demo`: the built-in example, from sample words to a page."""

from __future__ import annotations

from pathlib import Path

import typer

from langscape.cli.commands import examples
from langscape.cli.outputs import summary
from langscape.cli.terminal import bar, say
from langscape.io.atomic_write import check_writable

INSERTED = ("money", "music", "king", "river", "winter")
TITLE = "631 words in eleven groups, and five inserted later"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        rich_help_panel="look",
        epilog=examples(
            "langscape demo --open",
            "langscape demo --out words/",
        ),
    )(demo)


def demo(
    out: Path = typer.Option(Path("demo"), help="The folder to write to."),
    open_it: bool = typer.Option(False, "--open/--no-open", help="Open the page in the browser."),
) -> None:
    """Map the sample words, insert a few more, and write a self-contained page."""
    import webbrowser

    check_writable(out / "index.html")
    from langscape import affinity, embed, sources, views
    from langscape.engine import insert

    listed = sources.samples.words(groups_only=True)
    others = sources.samples.words().take(INSERTED)
    with bar("map of the sample words") as progress:
        near = affinity.points(listed.matrix, 25, items=listed.items())
        grouped = insert(embed(near, progress=progress), others.matrix, others.words)
        everything = sources.samples.words()
        wide = embed(affinity.points(everything.matrix, 30, items=everything.items()), progress=progress)
    summary(grouped)
    summary(wide)
    pictures = [
        views.scatter(grouped, color="group", title=TITLE),
        views.scatter(wide, color="group", title="5,000 common English words"),
    ]
    path = views.write(pictures, out / "index.html").resolve()
    grouped.save(out / "words.parquet")
    say("", "open this page in a browser (it needs no network):")
    typer.echo(path.as_uri())
    if open_it:
        webbrowser.open(path.as_uri())
