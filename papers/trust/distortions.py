"""A torn map beside `distortions` (Sankaran, Zhang and Meilă), as numbers and as a picture.

    pip install distortions altair-transform scanpy anywidget
    python -m papers.trust.distortions --out torn.png

Six clusters are laid out as they are, except that half of one is moved to the other side of the map. A link
is an item and one of its ten true neighbours; a torn link joins the halves. langscape calls a link missing if
its end is none of the ten nearest on the map; `distortions` calls it broken if its length on the map is an
outlier among links of like length in the data. Printed is which share of torn and of other links each finds.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Items, Map
from langscape.metrics import neighbours_on
from langscape.metrics.true_neighbours import with_true_neighbours

K = 10
NEEDED = ("distortions", "altair_transform", "scanpy", "anywidget")


def torn_map(n: int = 300, seed: int = 0) -> tuple[Map, np.ndarray]:
    """Clusters in the plane, and which items were moved away from theirs."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 6
    turn = 2 * np.pi * np.arange(6) / 6
    X = 8 * np.column_stack([np.cos(turn), np.sin(turn)])[group] + rng.normal(size=(n, 2))
    moved = (group == 0) & (rng.random(n) < 0.5)
    xy = np.where(moved[:, None], X - [24, 0], X)
    return with_true_neighbours(Map(xy, Items.numbered(n), quality={"k": float(K)}, vectors=X)), moved


def broken_links(map: Map) -> np.ndarray:
    """(n, K) which links `distortions` calls broken."""
    from anndata import AnnData  # type: ignore[import-not-found]
    from distortions.geometry import neighborhoods as theirs  # type: ignore[import-not-found]
    from scipy.sparse import csr_matrix

    module: Any = __import__(theirs.__module__, fromlist=["identify_broken_box"])
    assert map.neighbours is not None
    assert map.distances is not None
    n, ends = len(map), map.neighbours[:, :K]
    graph: Any = csr_matrix((map.distances[:, :K].ravel(), ends.ravel(), np.arange(0, n * K + 1, K)), (n, n))
    given = AnnData(np.asarray(map.vectors), obsm={"X_map": np.asarray(map.xy)}, obsp={"distances": graph})
    found = module.identify_broken_box(module.neighborhood_distances(given, embed_key="X_map"))
    pairs = set(
        zip(*(found[found.brokenness][name].tolist() for name in ("center", "neighbor")), strict=True)
    )
    return np.array([[(row, int(end)) in pairs for end in ends[row]] for row in range(n)])


def draw(map: Map, found: dict[str, np.ndarray], path: Path) -> None:
    """The links that each of the two calls wrong, side by side."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    assert map.neighbours is not None
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    for axes, (name, wrong) in zip(figure.subplots(1, 2), found.items(), strict=True):
        rows, at = np.nonzero(wrong)
        lines = np.stack([map.xy[rows], map.xy[map.neighbours[rows, at]]], axis=1)
        axes.add_collection(LineCollection(list(lines), colors="#1c1d21", linewidths=0.5, alpha=0.35))
        axes.scatter(*map.xy.T, s=9, zorder=2)
        axes.set_title(f"{name}: {len(rows)} links", loc="left", size=11)
        axes.set_aspect("equal")
        axes.set_axis_off()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print the shares and draw the picture."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=None, help="Where the picture goes.")
    asked = options.parse_args()
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise SystemExit(f"{', '.join(absent)} not installed, so nothing was compared; see --help")
    map, moved = torn_map()
    assert map.neighbours is not None
    torn = moved[:, None] != moved[map.neighbours[:, :K]]
    found = {"langscape, missing": neighbours_on(map).missing, "distortions, broken": broken_links(map)}
    for name, wrong in found.items():
        shares = f"{wrong[torn].mean():.0%} of torn links, {wrong[~torn].mean():.1%} of others"
        print(f"{name}: {shares} ({torn.sum()} torn)")
    if asked.out is not None:
        draw(map, found, asked.out)


if __name__ == "__main__":
    main()
