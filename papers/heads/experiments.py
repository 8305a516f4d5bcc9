"""Everything that the page shows, computed through the store: a second run only writes the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.analyses._captures import text_capture
from langscape.analyses._experiments import Experiment
from langscape.analyses.atlas import Atlas, atlas
from langscape.analyses.compare_kl import compare_kl
from langscape.analyses.head import head
from langscape.analyses.hidden import hidden
from langscape.analyses.robustness import robustness
from langscape.analyses.texts import texts
from langscape.data import Capture, Map, Progress
from langscape.declarations.running import using
from langscape.sources import samples
from langscape.store import Store

OCCUPATIONS = Path(__file__).parent / "occupations.csv"
KEPT = {"special": "keep", "sinks": "keep"}
LEFT_OFF = {"special": "drop", "sinks": "drop"}
WAYS = {"kept": KEPT, "special tokens left off": {"special": "drop", "sinks": "keep"}, "left off": LEFT_OFF}
"""What becomes of special tokens and sinks: the document keeps both, maps leave both off by default."""

SENTENCE = "The red lamp hung over the north door."


@dataclass(frozen=True)
class Plan:
    """How much is run: the document's counts, or a first look."""

    restarts: int = 100
    steps: int = 1000
    runs: int = 100
    repeats: int = 1000
    repeats_everywhere: int = 100
    layers: tuple[int, ...] | None = None
    text: str = "harbour"


QUICK = Plan(restarts=3, steps=120, runs=3, repeats=4, repeats_everywhere=3, layers=(0, 1), text="orchard")


@dataclass(frozen=True, eq=False)
class Results:
    """The captures, maps and tables behind the figures; heads are (layer, head), numbered from 0.

    maps     by what each stands for, without special tokens and sinks
    kept     the same with them, which is the document's way
    robust   by way ("kept", "left off") and schedule ("our", "the document’s"), of the most active head
    robust_everywhere   by way, of all heads
    """

    plan: Plan
    model: str
    said: str
    sentence: Capture
    capture: Capture
    atlas: Atlas
    heads: dict[str, tuple[int, int]]
    maps: dict[str, Map]
    kept: dict[str, Map]
    occupations: Map
    compared: dict[str, Experiment]
    robust: dict[tuple[str, str], Experiment]
    robust_everywhere: dict[str, Experiment]


def run(
    plan: Plan,
    model: str = "default",
    text: Path | None = None,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing and give all results."""
    with using(store or Store()):
        return _run(plan, model, text, workers, progress)


def _run(
    plan: Plan, model: str, text: Path | None, workers: int | None, progress: Progress | None
) -> Results:
    given = text if text is not None else samples.text(plan.text)
    told = {"progress": progress}
    capture = text_capture(model, given, cut=False, **told)
    every = atlas(model, given, special="drop", restarts=8, steps=plan.steps, cut=False, **told)
    heads = chosen(every)
    many = {"restarts": plan.restarts, "steps": plan.steps, "cut": False, **told}

    def mapped(**way: Any) -> dict[str, Map]:
        found = {
            name: head(model, given, layer=at, head=h, **way, **many).map for name, (at, h) in heads.items()
        }
        return {**found, "hidden": hidden(model, given, special=way["special"], **many)}

    how = {"workers": workers, "progress": progress, "steps": plan.steps, "cut": False}
    layer, active = heads["active"]
    alone = {**how, "layers": [layer], "heads": [active], "repeats": plan.repeats}
    layers = None if plan.layers is None else list(plan.layers)
    everywhere = {**how, "repeats": plan.repeats_everywhere, "layers": layers}
    return Results(
        plan,
        model,
        f"{len(capture.tokens)} tokens of {text.name if text else f'the sample text “{plan.text}”'}",
        text_capture(model, SENTENCE, want=["attention"], cut=False, **told),
        capture,
        every,
        heads,
        mapped(**LEFT_OFF),
        mapped(**KEPT),
        texts(model, OCCUPATIONS, restarts=plan.restarts, **told),
        {
            way: compare_kl(model, given, runs=plan.runs, layers=layers, **kept, **how)
            for way, kept in WAYS.items()
        },
        {
            ("kept", "our"): robustness(model, given, **KEPT, **alone),
            ("kept", "the document’s"): robustness(model, given, schedule="document", **KEPT, **alone),
            ("left off", "our"): robustness(model, given, **LEFT_OFF, **alone),
        },
        {
            "kept": robustness(model, given, **KEPT, **everywhere),
            "left off": robustness(model, given, **LEFT_OFF, **everywhere),
        },
    )


def chosen(atlas: Atlas) -> dict[str, tuple[int, int]]:
    """The heads that stand for the document's, by what it says of them, for its numbers are of another model.

    low     in the first two layers, no pattern of places: words by what they share (its head 2 of layer 1)
    chain   in the lower half, whose strongest key is most often the neighbour, the most active one aside (its
            head 2 of layer 2)
    high    in the last third, no pattern of places (its head 10 of layer 9)
    active  the largest mean of maximum attention of all (its head 10 of layer 3)
    """
    columns = atlas.scores.columns
    layer, tags = columns["layer"].astype(int), columns["tags"]
    count = int(layer.max()) + 1
    places = (
        "previous-token",
        "next-token",
        "itself",
        "local band",
        "diffuse",
        "first-token sink",
        "separator sink",
    )
    free = np.array([not any(tag in told.split(", ") for tag in places) for told in tags])
    mapped = np.array([key in atlas.maps for key in zip(layer, columns["head"].astype(int), strict=True)])

    def first(score: str, where: np.ndarray) -> tuple[int, int]:
        allowed = mapped & where if (mapped & where).any() else mapped
        row = int(np.argmax(np.where(allowed, columns[score], -np.inf)))
        return int(layer[row]), int(columns["head"][row])

    active = first("max_attention", np.ones(len(layer), bool))
    other = (layer != active[0]) | (columns["head"].astype(int) != active[1])
    return {
        "low": first("interest", free & (layer < 2)),
        "chain": first("chain", other & (layer < (count + 1) // 2)),
        "high": first("interest", free & (layer >= count - max(1, count // 3))),
        "active": active,
    }
