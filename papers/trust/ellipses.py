"""Ellipses of distributions: do sizes hold on other contexts, do angles tell, do few rows look certain?

    python -m papers.trust.ellipses
    python -m papers.trust.ellipses --words 300 --contexts 60
    python -m papers.trust.ellipses --corpus austen --shared none 0 2

Of words of a corpus by MiniLM, for each number of shared directions that is taken out (`none` leaves all
in, also that from the middle): the share of turned ellipses that point at the middle
of the map (|cos| with the radius above 0.9; 29 % by chance), the share of these at the longest axis ratio,
and how far areas from one half of the contexts follow the variance of the other half. Of made-up items of one
spread and 2 to 60 rows: the rank correlation of area and number of rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

from langscape import affinity, embed
from langscape.data import Gaussians, Map
from langscape.engine.context_ellipses import MOST_RATIO, SHARED, Shapes, context_shapes
from langscape.metrics.null import Null
from langscape.metrics.scores import SCORES
from papers.trust.planted import one_spread

RADIAL = 0.9


def turned(map: Map, shapes: Shapes) -> tuple[np.ndarray, np.ndarray]:
    """Of the ellipses that are no circles: |cos| of the long axis with the radius, and the axis ratio."""
    rows = np.flatnonzero(shapes.ratio > 1)
    axes = np.linalg.eigh(shapes.covariances[rows].astype(np.float64))[1][:, :, 1]
    radius = (map.xy - map.xy.mean(axis=0))[rows].astype(np.float64)
    radius /= np.linalg.norm(radius, axis=1, keepdims=True)
    return np.abs(np.einsum("nd,nd->n", axes, radius)), shapes.ratio[rows]


def few_rows(seed: int, n: int = 300) -> Gaussians:
    """Items of one and the same spread, of 2 to 60 rows each."""
    return one_spread(np.random.default_rng(seed).integers(2, 61, n), seed)


def area_and_rows(given: Gaussians) -> tuple[float, float]:
    """Rank correlation with the number of rows: of the variance as it is, and of the area that is drawn."""
    made = embed(affinity.gaussians(given, perplexity=15), shape="contexts")
    areas = np.linalg.det(np.asarray(made.shapes, np.float64))
    return (
        float(np.asarray(spearmanr(given.spread, given.counts))[0]),
        float(np.asarray(spearmanr(areas, given.counts))[0]),
    )


def words(count: int, contexts: int, corpus: str) -> Gaussians:
    """The most frequent words of a packaged corpus."""
    from langscape.analyses.gaussians import gaussians
    from langscape.sources import get_corpus

    return gaussians("default", [get_corpus(corpus)], most=count, contexts=contexts)


def lines(given: Gaussians, shared: Sequence[int | None] = (SHARED,)) -> list[str]:
    """What is said of the map of some distributions."""
    map = embed(affinity.gaussians(given, perplexity=30), shape="contexts")
    score = SCORES["area_held"]
    held = map.quality["area_held"]
    return [
        f"{len(given)} items of {np.median(given.counts):.0f} rows, at least {given.counts.min()}",
        f"along the direction from the middle: {map.settings['common']:.0%} of the variance",
        f"held-out area {score.text(held)}{score.against(held, Null.read(map.quality, score.name))}",
        *(_angles(map, given, count) for count in shared),
    ]


def _angles(map: Map, given: Gaussians, shared: int | None) -> str:
    cosines, ratio = turned(map, context_shapes(map.xy, given, shared=shared))
    out = "nothing taken out" if shared is None else f"taken out with {shared} shared directions"
    return (
        f"{out}: {len(ratio)} of {len(given)} turned; |cos| with the radius > {RADIAL}: "
        f"{(cosines > RADIAL).mean():.0%} (chance {np.arccos(RADIAL) * 2 / np.pi:.0%}); "
        f"at the longest axis ratio: {(ratio >= MOST_RATIO - 1e-9).mean():.0%}"
    )


def main() -> None:
    """Print all of it."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--words", type=int, default=300)
    options.add_argument("--contexts", type=int, default=60)
    options.add_argument("--corpus", default="sotu")
    options.add_argument("--shared", nargs="+", default=["none", "0", str(SHARED)], metavar="COUNT")
    asked = options.parse_args()
    shared = [None if one == "none" else int(one) for one in asked.shared]
    plain, drawn = np.mean([area_and_rows(few_rows(seed)) for seed in range(5)], axis=0).tolist()
    print(f"one spread, 2 to 60 rows: ρ(variance, rows) {plain:.2f}, ρ(area drawn, rows) {drawn:.2f}")
    print("\n".join(lines(words(asked.words, asked.contexts, asked.corpus), shared)))


if __name__ == "__main__":
    main()
