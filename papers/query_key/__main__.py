"""Make the figures of document 001 again with both packaged models: one page, its tables and pictures.

    python -m papers.query_key
    python -m papers.query_key --quick --model default

What was computed is kept: a second run only writes the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from langscape.cli.terminal import bar, say, say_error
from langscape.errors import LangscapeError
from papers.query_key import experiments, report


def main(arguments: list[str] | None = None) -> None:
    """Read the options, run what is missing, write the page and print what must hold."""
    read = argparse.ArgumentParser(
        prog="python -m papers.query_key",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--model", action="append", help="default or decoder; both if left out")
    read.add_argument("--quick", action="store_true", help="400 tokens, six heads, one head under constants")
    read.add_argument("--out", type=Path, default=Path("demo/papers/query_key"), help="folder to write to")
    read.add_argument("--tagger", help="class tokens by part of speech with textblob, spacy or auto")
    read.add_argument("--workers", type=int, help="worker processes; one for each core if left out")
    asked = read.parse_args(arguments)
    from langscape.models import get_model

    began = time.monotonic()
    plan = replace(experiments.QUICK if asked.quick else experiments.Plan(), tagger=asked.tagger)
    found = []
    for model in asked.model or ["default", "decoder"]:
        get_model(model)
        with bar(model) as progress:
            found.append(experiments.run(model, plan, workers=asked.workers, progress=progress))
    for one in report.write(found, asked.out):
        print(f"{'holds' if one.holds else 'FAILS'}  {one.claim}: {one.found} ({one.wanted})")
    say(f"{asked.out / 'index.html'} written, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except LangscapeError as error:
        say_error(error)
        sys.exit(1)
