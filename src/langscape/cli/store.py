"""`langscape store`: what is kept, how much of it, and how to be rid of it."""

from __future__ import annotations

import re
import time

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import bar, say
from langscape.errors import SettingsError

store = typer.Typer(help="Look at kept results; remove old or damaged ones.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(
        store,
        name="store",
        rich_help_panel="keep",
        epilog=examples("langscape store size", "langscape store prune --older-than 30d"),
    )


@store.command(
    "list", epilog=examples("langscape store list", "langscape store list --step atlas --limit 10")
)
def list_(
    step: str = typer.Option("", help="Only results of steps whose name starts so."),
    limit: int = typer.Option(50, min=0, help="How many, the last used first; 0 for all."),
) -> None:
    """List kept results, the last used first."""
    from langscape.store.store import Store

    found = [
        entry for entry in Store().entries() if str(entry.recipe.get("step", entry.kind)).startswith(step)
    ]
    found.sort(key=lambda entry: entry.used, reverse=True)
    shown = found[: limit or None]
    for entry in shown:
        name = entry.recipe.get("step", entry.kind)
        settings = " ".join(f"{key}={value}" for key, value in entry.recipe.get("settings", {}).items())
        used = age(time.time() - entry.used)
        typer.echo(
            f"{entry.digest[:12]}  {name:<20} {size(entry.bytes):>9}  {used:>5}  {settings[:60]}".rstrip()
        )
    if len(shown) < len(found):
        say(f"{len(found) - len(shown)} more; --limit 0 lists all")


@store.command(
    "size", epilog=examples("langscape store size", "LANGSCAPE_HOME=/data/langscape langscape store size")
)
def size_() -> None:
    """Say where the store is and how much is in it."""
    from langscape.store.store import Store

    opened = Store()
    count, total = opened.size()
    typer.echo(f"{count} results, {size(total)} in {opened.root}")


@store.command(epilog=examples("langscape store prune --older-than 30d", "langscape store prune --keep 5GB"))
def prune(
    older_than: str = typer.Option("", metavar="AGE", help="Remove what was not used for 30d, 12h, …"),
    keep: str = typer.Option(
        "", metavar="SIZE", help="Then remove the least used until 2GB, 500MB, … remain."
    ),
) -> None:
    """Remove results that were not used for long, or that are too many."""
    from langscape.store.store import Store

    removed, freed = Store().prune(
        seconds(older_than) if older_than else None, bytes_(keep) if keep else None
    )
    typer.echo(f"removed {removed} results, {size(freed)}")


@store.command(
    epilog=examples("langscape store check", "LANGSCAPE_HOME=/data/langscape langscape store check")
)
def check() -> None:
    """Hash every result anew; damaged ones are removed, to be computed again when needed."""
    from langscape.store.store import Store

    with bar("checking results") as progress:
        checked = Store().check(progress)
    for digest in checked.damaged:
        typer.echo(f"{digest[:12]} was damaged and is removed")
    typer.echo(f"{checked.good} good, {len(checked.damaged)} damaged, {checked.strays} strays removed")


def size(count: float) -> str:
    """Bytes as people say them: 12.3 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def age(seconds: float) -> str:
    """A length of time in its largest unit: 3d."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{seconds / length:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"


def seconds(text: str) -> float:
    """Seconds of "30d", "12h", "90m" or "45s"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text)
    if not found:
        raise SettingsError(
            f"{text!r} is no length of time; expected a number and s, m, h, d or w, such as 30d"
        )
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[found[2]]


def bytes_(text: str) -> int:
    """Bytes of "2GB", "500 MB" or "0"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text.lower())
    if not found:
        raise SettingsError(f"{text!r} is no size; expected a number and kB, MB, GB or TB, such as 2GB")
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2] or " "))
