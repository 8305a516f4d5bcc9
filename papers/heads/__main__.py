"""Make the figures of document 000 again, and set its claims beside what was found: one page.

    python -m papers.heads
    python -m papers.heads --text abstract.txt --model bert-base-uncased
    python -m papers.heads --repeats-everywhere 20

Without a text, a sample text of the package is read with the packaged MiniLM. What was computed is kept:
a second run only writes the page. Fewer runs or repeats are said on the page.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from langscape.cli.terminal import bar
from papers import command
from papers.heads import experiments, report

_COUNTS = {
    "runs": "runs of every head and layer in the comparison, 100 if left out",
    "repeats": "texts with tokens replaced for the most active head, 1,000 if left out",
    "repeats_everywhere": "texts with tokens replaced for all heads, 100 if left out",
}


def main(arguments: list[str] | None = None) -> None:
    """Read the options, run what is missing, write the page and print the claims."""
    read = command.options("heads", __doc__, "two layers, few runs, a short text")
    read.add_argument("--model", default="default", help="default, decoder, a folder, or a Hub id")
    read.add_argument("--text", type=Path, help="a text file; a sample text if left out")
    for name, told in _COUNTS.items():
        read.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=told)
    asked = read.parse_args(arguments)
    began = time.monotonic()
    plan = experiments.QUICK if asked.quick else experiments.Plan()
    plan = replace(plan, **{name: given for name in _COUNTS if (given := getattr(asked, name)) is not None})
    with bar("heads") as progress:
        results = experiments.run(plan, asked.model, asked.text, workers=asked.workers, progress=progress)
    command.tell(report.write(results, asked.out), asked.out, began)


if __name__ == "__main__":
    command.run(main)
