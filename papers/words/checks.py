"""What must hold of local perplexity and insertion, measured."""

from __future__ import annotations

import time

import numpy as np

from langscape.data import Map
from langscape.engine import Schedule, insert
from langscape.kernels.median import STEPS
from papers.command import Check
from papers.words.experiments import DEFAULT, HELD_OUT, OURS, Results
from papers.words.tables import behind, gains


def checks(results: Results, milliseconds: float) -> list[Check]:
    """The claims, for every start that was run."""
    said: list[Check] = []
    for start in results.plan.starts:
        name = {"pca": "from the principal axes", "random": "from random places"}[start]
        gain = gains(results, start)
        lost = gains(results, start, "document")
        said += [
            _at_least(f"local perplexity, floor 10, {name}: least gain at 10 nearest", gain.min(), 1.0),
            _at_least(f"… mean gain over {len(gain)} perplexities", float(gain.mean()), 2.0),
            Check(
                "… and the document’s floor of 1: mean gain",
                "a loss",
                f"{lost.mean():+.2f} points",
                lost.mean() < 0,
            ),
        ]
        for kind, which in (("insert", "nouns"), ("held out", f"each {HELD_OUT}th word")):
            for way, called in ((OURS, OURS), (DEFAULT, f"{DEFAULT}, the default")):
                lag = behind(results, kind, start, way)
                for figure, most in (("local", 4.0), ("global", 5.0)):
                    claim = (
                        f"{which} inserted with {called}, {name}: {figure} quality behind t-SNE of everything"
                    )
                    found = f"{lag[figure]:+.2f} points"
                    said.append(Check(claim, f"at most {most:g} points", found, lag[figure] <= most))
    kinds = ("insert", "held out")
    tables = [table for key, table in results.found.items() if key[0] in kinds and key[3] != "made again"]
    capped = sum(int(table["capped"].sum()) for table in tables)
    placed = sum(len(table) for table in tables)
    return [
        *said,
        Check("one word by itself, median CPU", "under 5 ms", f"{milliseconds:.2f} ms", milliseconds < 5),
        Check("medians stopped", f"at {STEPS:,} steps", f"{capped} of {placed:,} words", STEPS <= 1000),
        Check("late exaggeration by default", "off", "on" if _late_is_on() else "off", not _late_is_on()),
    ]


def insertion_milliseconds(base: Map, X: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """CPU time of a call that inserts one word, median, and per word of one call for all.

    CPU time, since a busy machine makes others wait for what we did not do.
    """
    base = base.but(vectors=X)
    insert(base, new)  # compiled kernels are loaded by now
    alone = []
    for vector in new:
        began = time.process_time()
        insert(base, vector)
        alone.append(time.process_time() - began)
    began = time.process_time()
    insert(base, new)
    return 1000 * float(np.median(alone)), 1000 * (time.process_time() - began) / len(new)


def _at_least(claim: str, found: float, wanted: float) -> Check:
    return Check(claim, f"at least {wanted:g} points", f"{found:+.2f} points", found >= wanted)


def _late_is_on() -> bool:
    return Schedule().late_steps > 0 and Schedule().late_exaggeration != 1.0
