"""Make the tables and figures of document 004 again: one page, a CSV per table, and a map to walk.

    python -m papers.distributions
    python -m papers.distributions --quick

Corpora and model are fetched once. What was computed is kept: a second run only writes the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from langscape.cli.terminal import bar, say, say_error
from langscape.errors import LangscapeError
from langscape.models import get_model
from papers.distributions import experiments, report
from papers.distributions.material import material


def main(arguments: list[str] | None = None) -> None:
    """Read the options, run what is missing, write the page and print what must hold."""
    read = argparse.ArgumentParser(
        prog="python -m papers.distributions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--quick", action="store_true", help="a quarter of the words, 30 contexts, two starts")
    read.add_argument(
        "--out", type=Path, default=Path("demo/papers/distributions"), help="folder to write to"
    )
    read.add_argument("--workers", type=int, default=0, help="worker processes; 0 runs in this one")
    asked = read.parse_args(arguments)
    began = time.monotonic()
    with bar("contexts") as progress:
        get_model("default", progress=progress)
        stuff = material(quick=asked.quick, workers=asked.workers, progress=progress)
    say(stuff.said, *stuff.notes)
    seeds = (0, 1) if asked.quick else (0, 1, 2, 3, 4)
    with bar("maps") as progress:
        results = experiments.run(stuff.path, seeds=seeds, workers=asked.workers, progress=progress)
    held = report.write(results, stuff, asked.out, seeds=(0,) if asked.quick else (0, 1, 2))
    for one in held:
        print(f"{'holds' if one.holds else 'FAILS'}  {one.claim}: {one.found} ({one.wanted})")
    say(f"{asked.out / 'index.html'} written, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except LangscapeError as error:
        say_error(error)
        sys.exit(1)
