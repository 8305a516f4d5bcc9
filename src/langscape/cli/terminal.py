"""What the terminal shows: a progress bar, tables, errors. Everything but results goes to stderr."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langscape.data import Progress, Step


def say(*lines: str) -> None:
    """Print plain lines to stderr."""
    for line in lines:
        print(line, file=sys.stderr)


def say_error(error: BaseException) -> None:
    """One message, no traceback."""
    say(f"error: {error}")


@contextlib.contextmanager
def bar(title: str) -> Iterator[Progress]:
    """A rich bar as a `progress` callable: steps, figures and time left. Silent when not a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[far]}"),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(title, total=None, far="", figures="")

        def progress(step: Step) -> None:
            figures = "  ".join(f"{name} {value:.4g}" for name, value in step.figures.items())
            shown.update(
                task, completed=step.done, total=step.total, description=step.doing or title,
                far=_how_far(step), figures=figures,
            )  # fmt: skip

        yield progress


def _how_far(step: Step) -> str:
    if not step.total:
        return ""
    share = step.done / step.total
    return f"{step.done:,}/{step.total:,}" if step.counts else f"{100 * min(share, 1.0):.0f} %"
