"""Scores of a map beside ZADU's measures, which must be the same numbers.

    pip install zadu
    python -m papers.trust.zadu

For a map by t-SNE, one by principal axes and one dealt at random, of the same vectors: trustworthiness,
continuity and `local` (ZADU's local continuity meta-criterion, which takes chance off), each as a mean and
for every point, and ρ over all pairs of distances. Prints the largest difference of each; fails above 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from langscape import affinity, embed, metrics
from langscape.engine import pca

CLOSE = 1e-6
K = 10


def differences(X: np.ndarray, Y: np.ndarray, k: int = K) -> Iterator[tuple[str, float, float]]:
    """Each score: its name, ours, and the largest difference of mean and points to ZADU's."""
    from zadu.measures import (  # type: ignore[import-not-found]
        local_continuity_meta_criteria,
        spearman_rho,
        trustworthiness_continuity,
    )

    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    quality, points = metrics.quality(X, Y)
    whole, each = trustworthiness_continuity.measure(X, Y, k=k, return_local=True)
    for name in ("trustworthiness", "continuity"):
        apart = np.abs(points[name] - each[f"local_{name}"]).max()
        yield name, quality[name], max(apart, abs(quality[name] - whole[name]))
    chance = k / (len(X) - 1)
    whole, each = local_continuity_meta_criteria.measure(X, Y, k=k, return_local=True)
    apart = np.abs(points["local"] - chance - each["local_lcmc"]).max()
    yield "local", quality["local"], max(apart, abs(quality["local"] - chance - whole["lcmc"]))
    ours = float(metrics.spearman(X, Y))
    yield "spearman", ours, abs(ours - spearman_rho.measure(X, Y)["spearman_rho"])


def maps(n: int = 300, seed: int = 0) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Vectors and places of a good map, a plain one and one that knows nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12)) + 3 * rng.normal(size=(6, 12))[rng.integers(0, 6, n)]
    places = {"t-SNE": embed(affinity.points(X, 20)).xy, "principal axes": pca(X).xy}
    return {name: (X, xy) for name, xy in {**places, "dealt anew": rng.permutation(places["t-SNE"])}.items()}


def main() -> None:
    """Print the differences; end with an error where one is too large."""
    if find_spec("zadu") is None:
        raise SystemExit("zadu is not installed, so nothing was compared; run `pip install zadu` first")
    worst = 0.0
    print("| map | score | value | largest difference to ZADU |\n|---|---|---|---|")
    for name, (X, Y) in maps().items():
        for score, value, apart in differences(X, Y):
            worst = max(worst, apart)
            print(f"| {name} | `{score}` | {value:.4f} | {apart:.1e} |")
    if worst > CLOSE:
        raise SystemExit(f"a score differs from ZADU's by {worst:.1e}; at most {CLOSE:.0e} was expected")


if __name__ == "__main__":
    main()
