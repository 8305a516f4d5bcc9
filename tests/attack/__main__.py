"""`python -m tests.attack [--budget small|full] [--only readers,…] [--write]`, or `--replay TARGET SEED`."""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.attack import report
from tests.attack.budget import BUDGETS, Budget
from tests.attack.report import CAMPAIGNS, Row


class Done(NamedTuple):
    """What came of a campaign, and under which circumstances."""

    rows: list[Row]
    about: str


def main(arguments: list[str] | None = None) -> int:
    """Run the campaigns, print the table; 1 if any promise was broken."""
    options = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    options.add_argument("--budget", choices=BUDGETS, default="small")
    options.add_argument("--only", help=f"some of {', '.join(CAMPAIGNS)}, with commas between")
    options.add_argument("--write", action="store_true", help="write the tables to docs/reliability.md")
    options.add_argument(
        "--replay", nargs=2, metavar=("TARGET", "SEED"), help="read one mutant, with traceback"
    )
    options.add_argument("--keep", type=Path, help="with --replay: put the mutant's files into this folder")
    asked = options.parse_args(arguments)
    if asked.replay:
        return replay(asked.replay[0], int(asked.replay[1]), asked.keep)
    only = asked.only.split(",") if asked.only else CAMPAIGNS
    if unknown := set(only) - set(CAMPAIGNS):
        options.error(f"no campaign {', '.join(sorted(unknown))}; there are {', '.join(CAMPAIGNS)}")
    budget, rows = BUDGETS[asked.budget], []
    for name in only:
        done = run_campaign(name, budget)
        rows += done.rows
        if asked.write:
            report.write(name, done.rows, done.about)
    print("\n" + report.told(rows), flush=True)
    return 0 if all(row.kept for row in rows) else 1


def run_campaign(name: str, budget: Budget) -> Done:
    """Run one, and print each row when it is there."""
    began, busy, rows = time.monotonic(), os.getloadavg()[1], []
    for row in importlib.import_module(f"tests.attack.{name}").run(budget):
        rows.append(row)
        print("\n  ".join([_line(row), *row.findings[:12]]), flush=True)
    minutes, after = (time.monotonic() - began) / 60, os.getloadavg()[1]
    about = (
        f"Budget {budget.name}, {minutes:.0f} minutes on {os.cpu_count()} cores. Times depend on what else "
        f"the machine does: its average load was {busy:.1f} when this began and {after:.1f} when it ended."
    )
    return Done(rows, about)


def replay(called: str, seed: int, keep: Path | None) -> int:
    """Read one mutant in this process, so that its traceback is seen."""
    from tests.attack.child import write_files
    from tests.attack.targets import find_target

    target = find_target(called)
    files, rng = target.mutant(seed)
    place = (keep or Path(tempfile.mkdtemp(prefix="langscape-mutant-"))) / "mutant"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    write_files(place, files)
    good = target.files()
    print("damaged:", ", ".join(name for name in files if good.get(name) != files[name]), "in", place)
    found = target.read(target.place(place, files), rng)
    target.check(found)
    print("read:", str(found)[:2000])
    return 0


def _line(row: Row) -> str:
    promise, tried, result = row.cells()
    return f"{'kept  ' if row.kept else 'BROKEN'} {promise} → {tried} → {result}"


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main())
