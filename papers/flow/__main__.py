"""Train models that went wrong as document 003 tells, and see whether the figures find it: one page.

    python -m papers.flow
    python -m papers.flow --quick

What was trained is kept: a second run only writes the page.
"""

from __future__ import annotations

import time

from langscape.cli.terminal import bar
from papers import command
from papers.flow import experiments, report


def main(arguments: list[str] | None = None) -> None:
    """Read the options, train what is missing, write the page and print what must hold."""
    read = command.options("flow", __doc__, "one seed, a third of the steps")
    asked = read.parse_args(arguments)
    began = time.monotonic()
    plan = experiments.QUICK if asked.quick else experiments.Plan()
    with bar("models") as progress:
        results = experiments.run(plan, workers=asked.workers, progress=progress)
    command.tell(report.write(results, asked.out), asked.out, began)


if __name__ == "__main__":
    command.run(main)
