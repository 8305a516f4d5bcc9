"""The sweep over faults and seeds, and every figure that is asked of its models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from langscape import metrics
from langscape.analyses.flow import flow
from langscape.data import Capture, Progress, View
from langscape.engine.colour import WordColours, colours, force, oklab, shown
from langscape.errors import DataError
from langscape.execution import Sweep
from langscape.metrics import Alarm
from langscape.models import LSTMModel, capture
from langscape.models.lines import encode_lines
from langscape.models.perplexity import perplexity
from langscape.store import Recipe, Store
from papers.flow.faults import FAULTS, KNOWN, rebuilt
from papers.flow.grammar import least_perplexity, sentences

SENTENCES = 300
"""Sound sentences that every model reads; none of the training seeds made them."""

PROMPT = "the dogs bark . a small dog near the cats chases a cat ."
"""What the page of every model is made of."""

VECTORS = ("candidate", "remember_product", "cell", "cell_tanh", "hidden")


@dataclass(frozen=True)
class Plan:
    """How much is trained."""

    seeds: Sequence[int] = (0, 1, 2)
    steps: int = 8000


QUICK = Plan(seeds=(0,), steps=2500)


@dataclass(frozen=True, eq=False)
class Looked:
    """One model, and what its captures say.

    seen      a capture per sentence
    changes   mean change of every operation
    """

    model: LSTMModel
    seen: Sequence[Capture]
    loss: np.ndarray
    perplexity: float
    alarms: Sequence[Alarm]
    changes: Mapping[str, float]

    @property
    def kinds(self) -> Counter[str]:
        """How many alarms of each kind."""
        return Counter(alarm.kind for alarm in self.alarms)

    def raised(self, fault: str) -> bool:
        """Whether the alarm is there that this fault should raise."""
        wanted = FAULTS[fault]
        return any((alarm.kind, alarm.where) == (wanted.kind, wanted.where) for alarm in self.alarms)


@dataclass(frozen=True, eq=False)
class Results:
    """Every model by fault and seed, the least perplexity possible, and a flow page of each fault's first."""

    plan: Plan
    looked: Mapping[tuple[str, int], Looked]
    least: float
    pages: Mapping[str, View]

    def of(self, fault: str) -> list[Looked]:
        """The models of a fault, one per seed."""
        return [self.looked[fault, seed] for seed in self.plan.seeds]


def run(
    plan: Plan, *, store: Store | None = None, workers: int | None = None, progress: Progress | None = None
) -> Results:
    """Train what is missing and look at all of it."""
    keys = [(fault, seed) for fault in FAULTS for seed in plan.seeds]
    tasks = {
        f"{fault}/{seed}": Recipe("papers.flow.model", {"fault": fault, "seed": seed, "steps": plan.steps})
        for fault, seed in keys
    }
    sweep = Sweep(tasks, store=store or Store(), title="papers.flow")
    report = sweep.run(workers=workers, progress=progress)
    if report.failed:
        key, why = next(iter(report.failed.items()))
        raise DataError(f"{len(report.failed)} of {report.total} tasks failed, the first is {key}: {why}")
    lines, surprises = sentences(SENTENCES, seed=1_000_003)
    looked = {}
    for key, (_, result) in zip(keys, sweep.results(), strict=True):
        looked[key] = look(rebuilt(result), result["loss"], lines)
    first = plan.seeds[0]
    pages = {fault: flow(looked[fault, first].model, PROMPT).view(title=fault) for fault in FAULTS}
    return Results(plan, looked, least_perplexity(lines, surprises), pages)


def look(model: LSTMModel, loss: np.ndarray, lines: Sequence[str]) -> Looked:
    """Everything the figures say of a model that reads these sentences."""
    seen = capture(model, list(lines))
    found = [
        *metrics.alarms(seen),
        *metrics.twins(model.weights()["embedding"], model.words),
        *metrics.weak_pairs(seen, model.words),
    ]
    each = [metrics.lstm_changes(one) for one in seen]
    changes = {name: float(np.mean(np.concatenate([one[name] for one in each], 1))) for name in each[0]}
    score = perplexity(model.network, encode_lines(lines, KNOWN))  # type: ignore[arg-type]
    return Looked(model, seen, loss, score, found, changes)


def told_by_page(fault: str, view: View) -> list[str]:
    """Of the alarms on a model's page, those that its fault should raise."""
    wanted = FAULTS[fault]
    said = {"open": "open", "closed": "closed", "dead": "never move"}.get(wanted.kind, "")
    return [
        one["text"]
        for one in view.properties["alarms"]
        if one["vector"] == wanted.where and said in one["text"]
    ]


def pairs_told_again(models: Sequence[Looked]) -> tuple[int, int]:
    """Pairs of words that models are told not to expect, and those of them told again on other sentences."""
    lines, _ = sentences(SENTENCES, seed=2_000_003)
    told = again = 0
    for one in models:
        pairs = {alarm.units for alarm in one.alarms if alarm.kind == "pair"}
        if pairs:
            found = metrics.weak_pairs(capture(one.model, list(lines)), one.model.words)
            told += len(pairs)
            again += len(pairs & {alarm.units for alarm in found})
    return told, again


def colour_figures(
    model: LSTMModel, seen: Sequence[Capture]
) -> tuple[WordColours, dict[str, dict[str, float]]]:
    """How well each way to colour vectors tells them apart: see the page for what the columns say."""
    made = colours(model.weights()["embedding"])
    vectors = np.concatenate([one[name].reshape(-1, model.width) for one in seen for name in VECTORS])
    ways = {
        "the document’s, as printed": _as_printed(made, vectors),
        "the document’s, backing off by stress": made.fit(vectors, "force"),
        "exact, over all words": made.fit(vectors, "exact"),
    }
    return made, {name: _told_apart(made, vectors, rgb) for name, rgb in ways.items()}


def _as_printed(made: WordColours, vectors: np.ndarray) -> np.ndarray:
    """`WordColours.fit` by "force", but with the back-off that compares the lengths of steps."""
    far = np.linalg.norm(vectors[:, None] - made.embeddings[made.references][None], axis=2)
    most = far.max(1, keepdims=True)
    placed = force(far / most / 2, 0.25 ** (far / most), made.points[made.references], back_off="step")
    return shown(np.clip(placed, 0, 1), made.space)


def _told_apart(made: WordColours, vectors: np.ndarray, rgb: np.ndarray) -> dict[str, float]:
    lab = oklab(rgb)
    few = np.linspace(0, len(vectors) - 1, min(400, len(vectors))).astype(int)
    above = np.triu_indices(len(few), 1)
    far = np.linalg.norm(lab[few][:, None] - lab[few][None], axis=2)[above]
    return {
        "words": float(made.follows(vectors[few], rgb[few]).mean()),
        "vectors": float(metrics.spearman(vectors[few], lab[few])),
        "apart": float(far.mean()),
        "alike": 100 * float(np.mean(far < 0.02)),
    }
