"""Every map and insertion that the tables need, as one sweep; its results are kept and never made twice."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from langscape.data import Map, Progress
from langscape.errors import DataError
from langscape.execution.sweep import Sweep
from langscape.store.recipe import Recipe
from langscape.store.results import Table
from langscape.store.store import Store
from papers.words import steps  # noqa: F401  registers the steps

Key = tuple[Any, ...]

METHODS: dict[str, dict[str, Any]] = {
    "plain": {"affinity": "points"},
    "floor": {"affinity": "local", "at_least": 10},
    "document": {"affinity": "local", "at_least": 1},
}
"""Plain t-SNE; local perplexity that keeps at least ten words, ours; at least one, the document's."""

_DOCUMENT = {
    "steps": 10_000,
    "learning_rate": 200.0,
    "momentum": [0.5, 0.8],
    "early_exaggeration": 12.0,
    "early_steps": 250,
    "reset": False,
    "largest_step": 0.0,
}
SCHEDULES: dict[str, dict[str, Any]] = {
    "ours": {"schedule": {}},
    "ours, late 1.5": {"schedule": {"late_exaggeration": 1.5, "late_steps": 250}},
    "ours, late 12": {"schedule": {"late_exaggeration": 12.0, "late_steps": 250}},
    "document's": {"schedule": _DOCUMENT, "spread": 1e-3},
    "document's, late 12": {
        "schedule": {**_DOCUMENT, "late_exaggeration": 12.0, "late_steps": 250},
        "spread": 1e-3,
    },
}
"""Ours is the default of `Schedule`; late exaggeration is off in it."""

INSERTIONS: dict[str, dict[str, Any]] = {
    "10 neighbours, p = 15": {"p": 15.0, "neighbours": 10},
    "10 neighbours, θ = 0.05": {"neighbours": 10, "theta": 0.05},
    "10 neighbours, θ = 0.15": {"neighbours": 10, "theta": 0.15},
    "10 neighbours, θ = 0.3": {"neighbours": 10, "theta": 0.3},
    "10 neighbours, θ = 0.6": {"neighbours": 10, "theta": 0.6},
    "10 neighbours, θ = 0.3, optimised": {"neighbours": 10, "theta": 0.3, "method": "optimise"},
    "no count, p = 15": {"p": 15.0, "neighbours": None},
}
"""The last is the document's; the first adds that only ten words pull; θ = 0.3 is `insert`'s default."""

OURS, DEFAULT, DOCUMENTS = "10 neighbours, p = 15", "10 neighbours, θ = 0.3", "no count, p = 15"
HELD_OUT = 10
"""Every tenth word of the list is also taken off it and inserted, as a second test beside the nouns."""
IRIS_PERPLEXITY, SHOWN_PERPLEXITY, INSERT_PERPLEXITY = 15, 25, 35


@dataclass(frozen=True)
class Plan:
    """How much is run: ten perplexities, three seeds and two starts, or a first look.

    Insertion has more seeds: on sixty words, what it is behind t-SNE by differs by a point between seeds.
    """

    perplexities: Sequence[int] = tuple(range(5, 51, 5))
    seeds: Sequence[int] = (0, 1, 2)
    insertion_seeds: Sequence[int] = tuple(range(15))
    starts: Sequence[str] = ("pca", "random")
    schedules: Sequence[str] = tuple(SCHEDULES)


QUICK = Plan(perplexities=(5, 25, 50), seeds=(0,), insertion_seeds=(0,), starts=("pca",))


@dataclass(frozen=True, eq=False)
class Results:
    """The results by key, the maps that figures show, and how many tasks were not in the store yet.

    Keys: ("grid", method, start, perplexity, seed), ("schedule", data, schedule, seed),
    ("insert", method, start, insertion or "made again", seed), the same with "held out" instead of
    "insert", ("five", insertion).
    """

    plan: Plan
    found: Mapping[Key, Any]
    maps: Mapping[str, Map]
    computed: int

    def median(self, *key: Any) -> dict[str, float]:
        """Each figure's median over the seeds."""
        rows = [self.found[*key, seed] for seed in self.plan.seeds]
        return {name: float(np.median([row[name] for row in rows])) for name in rows[0]}

    def new_words(self, *key: Any) -> dict[str, float]:
        """Mean and deviation over the new words of each figure; the median of these over the seeds."""
        tables: list[Table] = [self.found[*key, seed] for seed in self.plan.insertion_seeds]
        said: dict[str, float] = {}
        for name in ("local", "counted", "global"):
            said[name] = float(np.median([table[name].mean() for table in tables]))
            said[f"{name}_sd"] = float(np.median([table[name].std() for table in tables]))
        return said


def run(
    words: np.ndarray,
    five: np.ndarray,
    nouns: np.ndarray,
    flowers: np.ndarray,
    plan: Plan,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of the sweep and give all its results."""
    store = store or Store()
    X, few, new, iris = (_kept(store, matrix) for matrix in (words, five, nouns, flowers))
    base = _map(X, **METHODS["floor"], perplexity=INSERT_PERPLEXITY, seed=plan.seeds[0])
    off = np.arange(len(words)) % HELD_OUT == HELD_OUT // 2
    rest, held = _kept(store, words[~off]), _kept(store, words[off])
    tasks = {
        **_grid(plan, X),
        **_schedules(plan, X, iris),
        **_insertions(plan, X, new, "insert", ("floor", "document")),
        **_insertions(plan, rest, held, "held out", ("floor",)),
    }
    for name in (OURS, DOCUMENTS):
        tasks["five", name] = _inserted({"X": X, "map": base, "new": few}, INSERTIONS[name])
    keyed = {"/".join(str(part) for part in key): task for key, task in tasks.items()}
    sweep = Sweep(keyed, store=store, title="papers.words")
    report = sweep.run(workers=workers, progress=progress)
    if report.failed:
        key, why = next(iter(report.failed.items()))
        raise DataError(f"{len(report.failed)} of {report.total} tasks failed, the first is {key}: {why}")
    found = {key: result for key, (_, result) in zip(tasks, sweep.results(), strict=True)}
    shown = {
        "words": _map(X, **METHODS["plain"], perplexity=SHOWN_PERPLEXITY, seed=plan.seeds[0]),
        "inserted": base,
    }
    for name in plan.schedules:
        made = _map(iris, **SCHEDULES[name], perplexity=IRIS_PERPLEXITY, seed=plan.seeds[0])
        shown[f"iris, {name}"] = made
    maps = {name: store.run(recipe) for name, recipe in shown.items()}
    return Results(plan, found, maps, report.computed)


def _grid(plan: Plan, X: str) -> dict[Key, Recipe]:
    tasks: dict[Key, Recipe] = {}
    for method, start, perplexity, seed in product(METHODS, plan.starts, plan.perplexities, plan.seeds):
        made = _map(X, **METHODS[method], perplexity=perplexity, initial=start, seed=seed)
        tasks["grid", method, start, perplexity, seed] = _figures(X, made)
    return tasks


def _schedules(plan: Plan, X: str, iris: str) -> dict[Key, Recipe]:
    tasks: dict[Key, Recipe] = {}
    for name, seed in product(plan.schedules, plan.seeds):
        for data, rows, perplexity in (("iris", iris, IRIS_PERPLEXITY), ("words", X, SHOWN_PERPLEXITY)):
            made = _map(rows, **SCHEDULES[name], perplexity=perplexity, seed=seed)
            tasks["schedule", data, name, seed] = _figures(rows, made)
    return tasks


def _insertions(plan: Plan, X: str, new: str, kind: str, methods: Sequence[str]) -> dict[Key, Recipe]:
    tasks: dict[Key, Recipe] = {}
    for method, start, seed in product(methods, plan.starts, plan.insertion_seeds):
        same = {**METHODS[method], "perplexity": INSERT_PERPLEXITY, "initial": start, "seed": seed}
        for name, settings in INSERTIONS.items():
            inputs = {"X": X, "map": _map(X, **same), "new": new}
            tasks[kind, method, start, name, seed] = _inserted(inputs, settings)
        inputs = {"X": X, "map": _map(X, new=new, **same), "new": new}
        tasks[kind, method, start, "made again", seed] = Recipe("papers.words.made_again", {}, inputs)
    return tasks


def _kept(store: Store, matrix: np.ndarray) -> str:
    data = io.BytesIO()
    np.save(data, np.ascontiguousarray(matrix, np.float32))
    return store.keep(data.getvalue())


def _map(X: str, new: str | None = None, **settings: Any) -> Recipe:
    return Recipe("papers.words.map", settings, {"X": X} if new is None else {"X": X, "new": new})


def _figures(X: str, made: Recipe) -> Recipe:
    return Recipe("papers.words.figures", {}, {"X": X, "map": made})


def _inserted(inputs: dict[str, Any], settings: dict[str, Any]) -> Recipe:
    return Recipe("papers.words.inserted", settings, inputs)
