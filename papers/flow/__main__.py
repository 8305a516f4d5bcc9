"""Train models that went wrong as document 003 tells, and see whether the figures find it: one page.

    python -m papers.flow
    python -m papers.flow --quick

What was trained is kept: a second run only writes the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from langscape.cli.terminal import bar, say, say_error
from langscape.errors import LangscapeError
from papers.flow import experiments, report


def main(arguments: list[str] | None = None) -> None:
    """Read the options, train what is missing, write the page and print what must hold."""
    read = argparse.ArgumentParser(
        prog="python -m papers.flow",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--quick", action="store_true", help="one seed, a third of the steps")
    read.add_argument("--out", type=Path, default=Path("demo/papers/flow"), help="folder to write to")
    read.add_argument("--workers", type=int, help="worker processes; one for each core if left out")
    asked = read.parse_args(arguments)
    began = time.monotonic()
    plan = experiments.QUICK if asked.quick else experiments.Plan()
    with bar("models") as progress:
        results = experiments.run(plan, workers=asked.workers, progress=progress)
    for one in report.write(results, asked.out):
        print(f"{'holds' if one.holds else 'FAILS'}  {one.claim}: {one.found} ({one.wanted})")
    say(f"{asked.out / 'index.html'} written, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except LangscapeError as error:
        say_error(error)
        sys.exit(1)
