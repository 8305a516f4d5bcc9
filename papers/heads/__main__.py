"""Make the figures of document 000 again, and set its claims beside what was found: one page.

    python -m papers.heads
    python -m papers.heads --text abstract.txt --model bert-base-uncased

Without a text, a sample text of the package is read with the packaged MiniLM. What was computed is kept:
a second run only writes the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from langscape.cli.terminal import bar, say, say_error
from langscape.errors import LangscapeError
from papers.heads import experiments, report


def main(arguments: list[str] | None = None) -> None:
    """Read the options, run what is missing, write the page and print the claims."""
    read = argparse.ArgumentParser(
        prog="python -m papers.heads",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--model", default="default", help="default, decoder, a folder, or a Hub id")
    read.add_argument("--text", type=Path, help="a text file; a sample text if left out")
    read.add_argument("--quick", action="store_true", help="two layers, few runs, a short text")
    read.add_argument("--out", type=Path, default=Path("demo/papers/heads"), help="folder to write to")
    read.add_argument("--workers", type=int, help="worker processes; one for each core if left out")
    asked = read.parse_args(arguments)
    began = time.monotonic()
    plan = experiments.QUICK if asked.quick else experiments.Plan()
    with bar("heads") as progress:
        results = experiments.run(plan, asked.model, asked.text, workers=asked.workers, progress=progress)
    for one in report.write(results, asked.out):
        print(f"{one.verdict:<8} Figure {one.figure}: {one.says} {one.found}")
    say(f"{asked.out / 'index.html'} written, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except LangscapeError as error:
        say_error(error)
        sys.exit(1)
