"""The document's computations as steps: a map by one model, and how well it keeps the distributions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Gaussians, Map, Progress
from langscape.store.registry import step

PERPLEXITY = 20.0
"""The document's, in all its t-SNE experiments."""

KS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 400)
"""Numbers of neighbours of Figure 4.2; those below the number of words are taken, and all of them."""


@step("papers.distributions.map", version=2, defaults={"model": "pca", "seed": 0})
def map_of(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """Input `gaussians`: its map by one of `MAPS`."""
    from langscape.io.gaussian_file import read_gaussians

    found = MAPS[settings["model"]](read_gaussians(inputs["gaussians"]), settings["seed"])
    return found.but(vectors=None, per_point={})


@step("papers.distributions.figures", version=2, defaults={"between": "points"})
def figures_of(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """Inputs `gaussians` and `map`: ρ and nDCG in both original spaces, with distances between `points` or
    `ellipses` on the map."""
    from langscape import read_map
    from langscape.io.gaussian_file import read_gaussians

    given, found = read_gaussians(inputs["gaussians"]), read_map(inputs["map"])
    return {
        "kl": None if np.isnan(found.kl) else found.kl,
        "area_variance": found.quality.get("area_variance"),
        "area_held": found.quality.get("area_held"),
        **figures(given, found, settings["between"]),
    }


def figures(given: Gaussians, found: Map, between: str) -> dict[str, Any]:
    """ρ-E, ρ-W, nDCG@10 and of the full ranking in E and W, and nDCG-W against k."""
    from langscape import metrics
    from langscape.affinity.gaussians import joined

    spaces = {"E": metrics.vectors(given.means), "W": metrics.vectors(joined(given))}
    low = metrics.vectors(found.xy)
    if between == "ellipses":
        assert found.shapes is not None
        low = metrics.distances(metrics.ellipse_distances(found.xy, found.shapes))
    said: dict[str, Any] = {}
    for name, high in spaces.items():
        said[f"rho_{name}"] = float(metrics.spearman(high, low))
        said[f"ndcg_{name}"] = metrics.ndcg(high, low, 10).mean
        said[f"full_{name}"] = metrics.ndcg(high, low, 10, full=True).mean
    ks = [k for k in KS if k < len(given) - 1] + [len(given) - 1]
    said["ks"] = ks
    said["curve"] = [metrics.ndcg(spaces["W"], low, k).mean for k in ks]
    return said


def _standard_pca(given: Gaussians, seed: int) -> Map:
    from langscape.engine import pca

    return pca(given.means, items=given.items, quality=False)


def _distributional_pca(given: Gaussians, seed: int) -> Map:
    from langscape.engine import pca

    return pca(given)


def _tsne(distance: str, shape: str | None, dims: int = 2) -> Any:
    def made(given: Gaussians, seed: int) -> Map:
        from langscape import affinity, embed

        P = affinity.gaussians(given, perplexity=PERPLEXITY, distance=distance)  # type: ignore[arg-type]
        how: dict[str, Any] = {"initial": "random", "seed": seed}
        return embed(P, dims, shape=shape, **how) if dims == 2 else embed(P, dims, quality=False, **how)

    return made


MAPS: dict[str, Any] = {
    "pca": _standard_pca,
    "distributional pca": _distributional_pca,
    "t-SNE": _tsne("euclidean", None),
    "distributional t-SNE, points": _tsne("wasserstein", None),
    "diagonal": _tsne("wasserstein", "diagonal"),
    "t-SNE in 4-D": _tsne("euclidean", None, 4),
    "full": _tsne("wasserstein", "full"),
    "contexts": _tsne("wasserstein", "contexts"),
}
"""Every way to a map; t-SNE starts at random places, as in the document."""
