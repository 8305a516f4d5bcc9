"""Make the figures of document 001 again with both packaged models: one page, its tables and pictures.

    python -m papers.query_key
    python -m papers.query_key --quick --model default

What was computed is kept: a second run only writes the page.
"""

from __future__ import annotations

import time
from dataclasses import replace

from langscape.cli.terminal import bar
from papers import command
from papers.query_key import experiments, report


def main(arguments: list[str] | None = None) -> None:
    """Read the options, run what is missing, write the page and print what must hold."""
    read = command.options("query_key", __doc__, "400 tokens, six heads, one head under constants")
    read.add_argument("--model", action="append", help="default or decoder; both if left out")
    read.add_argument("--tagger", help="class tokens by part of speech with textblob, spacy or auto")
    asked = read.parse_args(arguments)
    from langscape.models import get_model

    began = time.monotonic()
    plan = replace(experiments.QUICK if asked.quick else experiments.Plan(), tagger=asked.tagger)
    found = []
    for model in asked.model or ["default", "decoder"]:
        get_model(model)
        with bar(model) as progress:
            found.append(experiments.run(model, plan, workers=asked.workers, progress=progress))
    command.tell(report.write(found, asked.out), asked.out, began)


if __name__ == "__main__":
    command.run(main)
