"""Make the tables and figures of document 004 again: one page, a CSV per table, and a map to walk.

    python -m papers.distributions
    python -m papers.distributions --quick

Corpora and model are fetched once. What was computed is kept: a second run only writes the page.
"""

from __future__ import annotations

import time

from langscape.cli.terminal import bar, say
from langscape.models import get_model
from papers import command
from papers.distributions import experiments, report
from papers.distributions.material import material


def main(arguments: list[str] | None = None) -> None:
    """Read the options, run what is missing, write the page and print what must hold."""
    read = command.options(
        "distributions", __doc__, "a quarter of the words, 30 contexts, two starts", workers=0
    )
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
    command.tell(held, asked.out, began)


if __name__ == "__main__":
    command.run(main)
