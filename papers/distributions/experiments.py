"""Every map and its figures as one sweep, and the checks on made-up data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape import affinity, embed, metrics
from langscape.data import Gaussians, Map, Progress
from langscape.engine import principal
from langscape.engine.context_ellipses import context_shapes
from langscape.errors import DataError
from langscape.execution.sweep import Sweep
from langscape.store.recipe import Recipe
from langscape.store.store import Store
from papers.distributions import steps  # noqa: F401  registers the steps
from papers.distributions.synthetic import round_ones, sampled, toward_a_neighbour

MODELS: dict[str, tuple[str, str, str, str]] = {
    "pca": ("Standard PCA", "Euclidean", "pca", "points"),
    "dpca-E": ("Distributional PCA", "Euclidean", "distributional pca", "points"),
    "dpca-W": ("Distributional PCA", "Wasserstein", "distributional pca", "ellipses"),
    "tsne": ("Standard t-SNE", "Euclidean", "t-SNE", "points"),
    "dtsne-E": ("Distributional t-SNE", "Euclidean", "distributional t-SNE, points", "points"),
    "dtsne-W": ("Distributional t-SNE", "Wasserstein", "diagonal", "ellipses"),
    "drawn": ("… its drawn centres alone", "Euclidean", "diagonal", "points"),
    "4-D": ("t-SNE of the means in 4-D", "Euclidean", "t-SNE in 4-D", "points"),
    "full": ("Full covariances (Bures)", "Wasserstein", "full", "ellipses"),
    "contexts": ("Ellipses from contexts", "Euclidean", "contexts", "points"),
}
"""Name and distance as tables show them, the map, and what distances on it are taken between.

The first six are the document's. The others are ours: what the drawn centres are worth, the control with as
many coordinates and no distributions, angles, and the truthful ellipses.
"""


@dataclass(frozen=True, eq=False)
class Results:
    """Figures by (model, seed), and of each map the one of lowest KL."""

    seeds: Sequence[int]
    found: Mapping[tuple[str, int], Mapping[str, Any]]
    maps: Mapping[str, Map]

    def of(self, model: str) -> Mapping[str, Any]:
        """The figures of a model's kept map: the lowest KL of the seeds, as in the document."""
        rows = [self.found[model, seed] for seed in self.seeds]
        return min(rows, key=lambda row: row["kl"] if row["kl"] is not None else 0.0)

    def every(self, model: str, figure: str) -> np.ndarray:
        """One figure of every seed."""
        return np.array([self.found[model, seed][figure] for seed in self.seeds])


def run(
    path: Path,
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    store: Store | None = None,
    workers: int | None = 0,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of the sweep and give all its results."""
    store = store or Store()
    tasks: dict[tuple[str, int], Recipe] = {}
    for name, (_, _, kind, between) in MODELS.items():
        for seed in seeds:
            inputs = {"gaussians": path, "map": _map(path, kind, seed)}
            tasks[name, seed] = Recipe("papers.distributions.figures", {"between": between}, inputs)
    keyed = {f"{name}/{seed}": task for (name, seed), task in tasks.items()}
    sweep = Sweep(keyed, store=store, title="papers.distributions")
    report = sweep.run(workers=workers, progress=progress)
    if report.failed:
        key, why = next(iter(report.failed.items()))
        raise DataError(f"{len(report.failed)} of {report.total} tasks failed, the first is {key}: {why}")
    found = {key: result for key, (_, result) in zip(tasks, sweep.results(), strict=True)}
    maps = {}
    for name, (_, _, kind, _) in MODELS.items():
        best = min(seeds, key=lambda seed: found[name, seed]["kl"] or 0.0)
        maps[name] = store.run(_map(path, kind, best))
    return Results(seeds, found, maps)


def _map(path: Path, kind: str, seed: int) -> Recipe:
    settled = 0 if kind.endswith("pca") else seed
    return Recipe("papers.distributions.map", {"model": kind, "seed": settled}, {"gaussians": path})


@dataclass(frozen=True)
class Reconstruction:
    """Errors (E, W) of the two kinds of axes, and the least of 100 random planes."""

    standard: tuple[float, float]
    distributional: tuple[float, float]
    random: tuple[float, float]


def reconstruction(given: Gaussians, seed: int = 0) -> Reconstruction:
    """Table 4.2, and whether any of 100 random planes does better."""
    rng = np.random.default_rng(seed)
    dim = given.means.shape[1]
    planes = [np.linalg.qr(rng.normal(size=(dim, 2)))[0].T for _ in range(100)]
    errors = np.array([metrics.reconstruction(given.means, given.variances, U) for U in planes])
    standard, distributional = principal(given.means), principal(given.means, given.variances)
    return Reconstruction(
        metrics.reconstruction(given.means, given.variances, standard),
        metrics.reconstruction(given.means, given.variances, distributional),
        (float(errors[:, 0].min()), float(errors[:, 1].min())),
    )


def split_half(given: Gaussians, xy: np.ndarray) -> float:
    """Rank correlation of areas drawn from half the contexts with the variance of the other half."""
    one, other = halves(given)
    return metrics.area_variance(context_shapes(xy, one).covariances, other.spread)


def halves(given: Gaussians) -> tuple[Gaussians, Gaussians]:
    """The same words by every second context, and by the others; words with one context stay as they are."""
    made = []
    starts = given.starts
    assert given.samples is not None
    for half in (0, 1):
        parts = []
        for i in range(len(given)):
            mine = given.samples[starts[i] : starts[i + 1]].astype(np.float64)
            parts.append(mine[half::2] if len(mine) > 1 else mine)
        made.append(
            Gaussians(
                np.stack([x.mean(axis=0) for x in parts]),
                np.stack([x.var(axis=0) for x in parts]),
                given.items,
                [len(x) for x in parts],
                samples=np.concatenate(parts),
            )
        )
    return made[0], made[1]


@dataclass(frozen=True)
class MadeUp:
    """What the truthful ellipses show of made-up distributions, per seed of the data."""

    spread: Sequence[float]
    cosine: Sequence[float]
    drawn: Sequence[float]
    ratio: Sequence[float]


def made_up(seeds: Sequence[int] = (0, 1, 2)) -> MadeUp:
    """ρ of area with the true spread, |cos| of the long axis with the neighbour's direction, and isotropy."""
    from scipy.stats import spearmanr

    spread, cosine, drawn, ratio = [], [], [], []
    for seed in seeds:
        means, roots, total, near = toward_a_neighbour(seed=seed)
        given = sampled(means, roots, seed=seed)
        found = embed(affinity.gaussians(given, perplexity=30), shape="contexts", seed=seed)
        assert found.shapes is not None
        shapes = found.shapes.astype(np.float64)
        spread.append(float(spearmanr(np.linalg.det(shapes), total).statistic))
        uneven = found.per_point["axis ratio"] > 1
        toward = found.xy[near] - found.xy
        toward = toward / np.linalg.norm(toward, axis=1, keepdims=True)
        _, axes = np.linalg.eigh(shapes)
        cosine.append(float(np.median(np.abs((axes[:, :, 1] * toward).sum(axis=1))[uneven])))
        drawn.append(float(uneven.mean()))
        even = sampled(*round_ones(seed=seed), seed=seed)
        found = embed(affinity.gaussians(even, perplexity=30), shape="contexts", seed=seed)
        ratio.append(float(np.median(found.per_point["axis ratio"])))
    return MadeUp(spread, cosine, drawn, ratio)
