"""Make the tables and figures of document 002 again: one page, a CSV per table, a picture per map.

    python -m papers.words
    python -m papers.words --words thesis_words.csv --nouns test_words.csv

Without a list, the words and vectors of the package are mapped. A list without a file of vectors takes
GloVe's, fetched once (118 MB). What was computed is kept: a second run only writes the page.
"""

from __future__ import annotations

import time
from pathlib import Path

from langscape.cli.terminal import bar, say
from papers import command
from papers.words import experiments, report
from papers.words.material import iris, material


def main(arguments: list[str] | None = None) -> None:
    """Read the options, run what is missing, write the page and print what must hold."""
    read = command.options("words", __doc__, "three perplexities, one seed, one start")
    read.add_argument("--words", type=Path, help="a list of words, with groups if it has them (.csv, .txt)")
    read.add_argument("--vectors", type=Path, help="a file of word vectors, of any kind that langscape reads")
    read.add_argument("--nouns", type=Path, help="the words of Table 5; fifty of our own if left out")
    asked = read.parse_args(arguments)
    began = time.monotonic()
    stuff = material(asked.words, asked.vectors, asked.nouns)
    say(stuff.said, *stuff.notes)
    flowers, species = iris()
    plan = experiments.QUICK if asked.quick else experiments.Plan()
    with bar("maps") as progress:
        results = experiments.run(
            stuff.words.matrix,
            stuff.five.matrix,
            stuff.nouns.matrix,
            flowers,
            plan,
            workers=asked.workers,
            progress=progress,
        )
    held = report.write(results, stuff, flowers, species, asked.out)
    command.tell(held, asked.out, began)


if __name__ == "__main__":
    command.run(main)
