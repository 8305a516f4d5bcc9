"""`langscape warm`: what is done once, at set-up."""

from __future__ import annotations

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import bar, say


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        rich_help_panel="keep",
        epilog=examples(
            "langscape warm",
            "LANGSCAPE_PLAIN_KERNELS=1 langscape warm",
        ),
    )(warm)


def warm() -> None:
    """Compile every kernel now, so that no later command waits for it."""
    from langscape.execution.warm import warm as compile_all
    from langscape.kernels.dispatch import PLAIN_BECAUSE

    with bar("compiling") as progress:
        compile_all(progress)
    if PLAIN_BECAUSE:
        say(f"kernels are compiled: the plain ones, which are slower, since {PLAIN_BECAUSE}")
    else:
        say("kernels are compiled")
