"""`langscape sweep`: look after long runs of many tasks."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import bar, say

if TYPE_CHECKING:
    from langscape.execution.sweep_runner import Report

sweep = typer.Typer(help="See, go on with, or stop long runs of many tasks.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(
        sweep,
        name="sweep",
        rich_help_panel="keep",
        epilog=examples("langscape sweep status", "langscape sweep resume 4f1c"),
    )


@sweep.command(epilog=examples("langscape sweep status", "langscape sweep status 4f1c"))
def status(id: str = typer.Argument("", help="A sweep's id, or its start; all sweeps if left out.")) -> None:
    """Show how far sweeps are; for one, also what failed."""
    from langscape.cli.store import age
    from langscape.execution.sweep import find_sweep, statuses
    from langscape.store.store import Store

    store = Store()
    records = [find_sweep(store, id)] if id else statuses(store)
    if not records:
        say("no sweeps yet")
    for record in records:
        left = record["total"] - record["done"] - record["failed"]
        line = f"{record['id']}  {record['state']:<9} {record['done']} of {record['total']}"
        if record["failed"]:
            line += f", {record['failed']} failed"
        if record["state"] == "running" and record["rate"]:
            line += f", {record['rate']:.3g} a second, {age(left / record['rate'])} left"
        typer.echo(f"{line}  {record['title']}  ({age(time.time() - record['changed'])} ago)")
    if id:
        for task in store.index.tasks(records[0]["id"], "failed"):
            typer.echo(f"  {task['key']}: {task['error']}")


@sweep.command(epilog=examples("langscape sweep resume 4f1c", "langscape sweep resume 4f1c --workers 4"))
def resume(
    id: str = typer.Argument(..., help="A sweep's id, or its start."),
    workers: int = typer.Option(
        None, min=0, help="Worker processes; 0 runs in this one. As before if left out."
    ),
    cluster: str = typer.Option(None, help="A Dask scheduler (tcp://…), or local. As before if left out."),
) -> None:
    """Go on with a sweep: only what is missing is computed."""
    from langscape.execution.sweep import Sweep, find_sweep
    from langscape.store.store import Store

    store = Store()
    before = json.loads(find_sweep(store, id)["way"])
    opened = Sweep.open(id, store)
    with bar(opened.title) as progress:
        report = opened.run(
            workers=before.get("workers") if workers is None else workers,
            cluster=before.get("cluster") if cluster is None and workers is None else cluster,
            progress=progress,
        )
    show(report)


@sweep.command(epilog=examples("langscape sweep cancel 4f1c", "langscape sweep status 4f1c"))
def cancel(id: str = typer.Argument(..., help="A sweep's id, or its start.")) -> None:
    """Ask a running sweep to stop, from any terminal; what it computed is kept."""
    from langscape.execution.sweep import find_sweep
    from langscape.store.store import Store

    store = Store()
    record = find_sweep(store, id)
    if record["state"] != "running":
        say(f"sweep {record['id']} is not running: it is {record['state']}")
        return
    store.cancel(record["id"])
    say(f"sweep {record['id']} stops within seconds; go on with `langscape sweep resume {record['id']}`")


def show(report: Report) -> None:
    """Print how a sweep ended; exit code 1 if tasks failed."""
    now = f"{report.computed} of them now, in {report.seconds:.1f} s"
    typer.echo(f"{report.done} of {report.total} tasks done, {now}")
    for key, error in report.failed.items():
        say(f"failed: {key}: {error}")
    if report.failed:
        raise typer.Exit(1)
