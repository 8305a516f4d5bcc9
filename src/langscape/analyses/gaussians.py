"""Steps over distributions: corpus → contexts → Gaussians → a map with ellipses.

Contexts are found once; the model then runs over the words part by part, so that a run that was stopped goes
on where it stood and parts may be worked on side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Context, Gaussians, Items, Map, Progress, View
from langscape.errors import DataError, SettingsError
from langscape.run.heads import opened, revision
from langscape.run.recipe import Recipe
from langscape.run.registry import step
from langscape.run.results import Table, Writes
from langscape.run.store import Store
from langscape.run.sweep import Sweep

PART = 25
"""Words of one task: about 2,500 contexts, some ten seconds of work."""


def word_recipe(
    words: Sequence[str],
    corpora: Sequence[str | Path],
    *,
    model: str = "default",
    contexts: int = 100,
    unit: str = "sentence",
    layer: int = -1,
    rank: int = 0,
    samples: bool = True,
    seed: int = 0,
    groups: Sequence[str] | None = None,
    part: int = PART,
) -> tuple[Recipe, dict[str, Recipe]]:
    """The recipe of the words' Gaussians, and its parts by name, for a `Sweep` to run side by side first."""
    listed = [str(word) for word in words]
    if not listed:
        raise SettingsError("no words are named; give at least one")
    if len(set(listed)) < len(listed):
        twice = next(word for word in listed if listed.count(word) > 1)
        raise SettingsError(f"the word {twice!r} is named twice; name each word once")
    inputs = {
        f"corpus {i}": str(path) if str(path).startswith("sha256:") else Path(path)
        for i, path in enumerate(corpora)
    }
    if not inputs:
        raise SettingsError("no corpus is named; give a text file, a folder, or a packaged corpus")
    asked = {"words": listed, "contexts": contexts, "unit": unit, "seed": seed}
    found = Recipe("gaussians.contexts", asked, inputs)
    how = {"model": model, "layer": layer, "rank": rank, "samples": samples}
    parts = {}
    for first in range(0, len(listed), part):
        last = min(first + part, len(listed))
        name = f"{listed[first]} … {listed[last - 1]}"
        settings = {**how, "first": first, "count": last - first}
        parts[f"{first:05d} {name}"] = Recipe("gaussians.part", settings, {"contexts": found})
    gathered = {f"part {i:05d}": recipe for i, recipe in enumerate(parts.values())}
    settings = {"groups": None if groups is None else [str(group) for group in groups]}
    return Recipe("gaussians.words", settings, {"contexts": found, **gathered}), parts


def make_gaussians(
    recipe: Recipe,
    parts: Mapping[str, Recipe],
    *,
    store: Store | None = None,
    workers: int | None = 0,
    progress: Progress | None = None,
) -> Path:
    """The file of the Gaussians in the store, computed where it is missing; stopped, it goes on next time."""
    store = store or Store()
    named = store.name(recipe)
    if store.entry(named.digest) is None:
        report = Sweep(parts, store=store, title="gaussians").run(workers=workers, progress=progress)
        if report.failed:
            key, why = next(iter(report.failed.items()))
            raise DataError(f"{len(report.failed)} of {report.total} parts failed, the first is {key}: {why}")
    path = store.make(named, progress).path
    assert path is not None
    return path


def ellipse_view(
    recipe: Recipe, *, store: Store | None = None, progress: Progress | None = None, **how: Any
) -> View:
    """The picture of a `gaussians.map` recipe with its passages; `how` are settings of `views.ellipses`."""
    from langscape.gaussianfile import read_gaussians
    from langscape.views import ellipses, scatter

    store = store or Store()
    made: Map = store.run(recipe, progress)
    given = recipe.inputs["gaussians"]
    path = store.make(store.name(given), progress).path if isinstance(given, Recipe) else Path(given)
    assert path is not None
    return scatter(made, **how) if made.shapes is None else ellipses(made, read_gaussians(path), **how)


@step("gaussians.contexts", version=1, defaults={"words": [], "contexts": 100, "unit": "sentence", "seed": 0})
def contexts_found(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    """Inputs `corpus 0`, …: a row per context, and how often each word stands in them among the facts."""
    from langscape.sources import corpus

    paths = [inputs[name] for name in sorted(inputs, key=_number)]
    words = settings["words"]
    how = {"unit": settings["unit"], "seed": settings["seed"], "progress": progress}
    found = corpus(paths).find(words, settings["contexts"], **how)
    rows = [(number, one) for number, mine in enumerate(found.contexts) for one in mine]
    if not rows:
        raise DataError(
            "none of the words stands in the corpus; check their spelling, or take another corpus"
        )
    return Table(
        {
            "word": np.array([number for number, _ in rows], np.int64),
            "text": np.array([one.text for _, one in rows], dtype=object),
            "start": np.array([one.start for _, one in rows], np.int64),
            "end": np.array([one.end for _, one in rows], np.int64),
        },
        {
            "words": list(words),
            "occurrences": found.occurrences.tolist(),
            "asked": found.asked,
            "missing": list(found.missing),
            "notes": list(found.notes()),
        },
    )


@step(
    "gaussians.part",
    version=1,
    defaults={"model": "default", "layer": -1, "rank": 0, "samples": True, "first": 0, "count": PART},
    revision=revision,
)
def gaussians_part(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Writes:
    """Input `contexts`: the Gaussians of `count` words from `first` on; a part may hold none."""
    from langscape.gaussianfile import write_gaussians
    from langscape.models import gaussians_of
    from langscape.run import results

    table: Table = results.read("table", inputs["contexts"])
    first = settings["first"]
    words = table.facts["words"][first : first + settings["count"]]
    contexts: list[list[Context]] = [[] for _ in words]
    mine = (table["word"] >= first) & (table["word"] < first + len(words))
    for row in np.flatnonzero(mine):
        one = Context(str(table["text"][row]), int(table["start"][row]), int(table["end"][row]))
        contexts[int(table["word"][row]) - first].append(one)
    if not any(contexts):
        empty = Gaussians(np.zeros((0, 1)), np.zeros((0, 1)), Items([]), np.zeros(0))
        return Writes("arrays", lambda path: write_gaussians(empty, path))
    made = gaussians_of(
        opened(settings["model"], revision(settings)),
        words,
        contexts,
        occurrences=table.facts["occurrences"][first : first + len(words)],
        asked=table.facts["asked"],
        layer=settings["layer"],
        rank=settings["rank"],
        samples=settings["samples"],
        progress=progress,
    )
    return Writes("arrays", lambda path: write_gaussians(made, path))


@step("gaussians.words", version=1, defaults={"groups": None})
def gaussians_words(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Writes:
    """Inputs `part 00000`, … and `contexts`: all words in one file; `groups` become a column."""
    from langscape.gaussianfile import read_gaussians, write_gaussians
    from langscape.run import results

    parts = [read_gaussians(inputs[name]) for name in sorted(inputs) if name.startswith("part ")]
    facts = results.read("table", inputs["contexts"]).facts
    made = joined([part for part in parts if len(part)], facts["notes"])
    if settings["groups"] is not None:
        group = dict(zip(facts["words"], settings["groups"], strict=True))
        column = np.array([group[word] for word in made.labels], dtype=object)
        made = replace(made, items=made.items.with_columns(group=column))
    made = replace(made, made={**made.made, "missing": facts["missing"]})
    return Writes("arrays", lambda path: write_gaussians(made, path))


@step(
    "gaussians.table",
    version=1,
    defaults={"by": None, "columns": None, "standardise": True},
)
def gaussians_table(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Writes:
    """Input `table`: one Gaussian for each value of the column `by`."""
    from langscape.gaussianfile import write_gaussians
    from langscape.sources import tables

    if not settings["by"]:
        raise SettingsError("nothing says whose rows belong together; name the column with by")
    how = {"standardise": settings["standardise"], "progress": progress}
    made = tables.gaussians(inputs["table"], settings["by"], settings["columns"], **how)
    return Writes("arrays", lambda path: write_gaussians(made, path))


@step(
    "gaussians.map",
    version=2,
    defaults={
        "method": "tsne",
        "shape": "contexts",
        "perplexity": 30.0,
        "distance": "wasserstein",
        "center": True,
        "initial": "pca",
        "restarts": 1,
        "schedule": None,
        "seed": 0,
    },
)
def gaussians_map(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """Input `gaussians`: their map with ellipses, by distributional PCA or t-SNE."""
    from langscape import affinity
    from langscape.engine import Schedule, embed, pca
    from langscape.gaussianfile import read_gaussians

    given = read_gaussians(inputs["gaussians"])
    if settings["method"] == "pca":
        return pca(given, center=settings["center"])
    if settings["method"] != "tsne":
        raise SettingsError(f"method {settings['method']!r} is not known; use pca or tsne")
    P = affinity.gaussians(
        given, perplexity=settings["perplexity"], distance=settings["distance"], seed=settings["seed"]
    )
    schedule = None if settings["schedule"] is None else Schedule(**settings["schedule"])
    return embed(
        P,
        initial=settings["initial"],
        schedule=schedule,
        restarts=settings["restarts"],
        shape=settings["shape"],
        seed=settings["seed"],
        progress=progress,
    )


def joined(parts: Sequence[Gaussians], notes: Sequence[str] = ()) -> Gaussians:
    """Several Gaussians as one, in order; they come from one model and layer."""
    if not parts:
        raise DataError("no part holds any words")
    columns = {
        name: np.concatenate([part.items.columns[name] for part in parts]) for name in parts[0].items.columns
    }
    return Gaussians(
        np.concatenate([part.means for part in parts]),
        np.concatenate([part.variances for part in parts]),
        Items([label for part in parts for label in part.labels], columns),
        np.concatenate([part.counts for part in parts]),
        factors=_stacked([part.factors for part in parts]),
        samples=_stacked([part.samples for part in parts]),
        contexts=[some for part in parts for some in part.contexts],
        made=parts[0].made,
        notes=tuple(notes),
    )


def _stacked(arrays: Sequence[np.ndarray | None]) -> np.ndarray | None:
    held = [array for array in arrays if array is not None]
    return np.concatenate(held) if len(held) == len(arrays) else None


def _number(name: str) -> int:
    return int(name.rpartition(" ")[2])
