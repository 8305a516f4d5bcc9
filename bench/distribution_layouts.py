"""Layouts of distributions beside UADAPy's UAPCA and UAMDS: what they keep of W₂ distances, and how fast.

    python -m bench --get-peers          # installs uadapy aside, among others
    python -m bench.distribution_layouts
    python -m bench.distribution_layouts --items 100 --dims 16

Made-up words with themes, each a Gaussian (bench/data.py). All programs get the same means and covariances.
Global is the rank correlation of all 2-Wasserstein distances with those on the map, local is nDCG@10 by the
same; distances on the map are between centres, and for maps that hold distributions of their own also between
these, whichever is better. CPU seconds are of one thread, after a small run that lets everybody compile.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from bench import peers  # noqa: E402
from bench.data import word_gaussians  # noqa: E402
from langscape import affinity, embed, metrics  # noqa: E402
from langscape.data import Gaussians, Items  # noqa: E402
from langscape.engine import pca  # noqa: E402
from langscape.engine.ellipses import stress_ellipses  # noqa: E402

Laid = tuple[np.ndarray, np.ndarray | None]
"""Centres (n, 2), and covariances (n, 2, 2) where the map has any of its own."""


def layouts() -> dict[str, Callable[[Gaussians], Laid]]:
    """Every program that is here, by name."""
    found: dict[str, Callable[[Gaussians], Laid]] = {
        "langscape, stress": lambda g: (stress_ellipses(g, shape=None, quality=False).xy, None),
        "langscape, t-SNE": lambda g: (
            embed(affinity.gaussians(g, perplexity=min(30, (len(g) - 1) / 3)), quality=False).xy, None),
        "langscape, PCA": _pca,
    }  # fmt: skip
    uadapy = peers.module("uadapy.dr.uapca"), peers.module("uadapy.dr.uamds")
    if all(uadapy):
        found["UADAPy, UAPCA"] = lambda g: uadapy[0].transform_uapca(*_moments(g))  # type: ignore[union-attr]
        found["UADAPy, UAMDS"] = lambda g: _uamds(uadapy[1], g)
    return found


def _pca(given: Gaussians) -> Laid:
    map = pca(given, quality=False)
    return map.xy, map.shapes


def _moments(given: Gaussians) -> tuple[np.ndarray, np.ndarray]:
    means = given.means.astype(np.float64)
    return means, np.stack([np.diag(v) for v in given.variances.astype(np.float64)])


def _uamds(module: Any, given: Gaussians) -> Laid:
    means, covariances = _moments(given)
    np.random.seed(0)
    found = module.apply_uamds(list(means), list(covariances))
    return np.stack(found["means"]).reshape(-1, 2), np.stack(found["covs"]).reshape(-1, 2, 2)


def distributions(items: int, dims: int, seed: int) -> Gaussians:
    """Made-up words with themes as Gaussians of so many dimensions."""
    rows = word_gaussians(items, dims, seed).astype(np.float64)
    return Gaussians(rows[:, :dims], rows[:, dims:] ** 2, Items.numbered(items), np.zeros(items, int))


def judged(given: Gaussians, laid: Laid) -> tuple[float, float]:
    """Global and local, by centres; or between the distributions of the map where that is more."""
    rows = np.concatenate([given.means, np.sqrt(given.variances)], axis=1)
    xy, shapes = np.asarray(laid[0], np.float64), laid[1]
    spaces: list[Any] = [xy]
    if shapes is not None:
        spaces.append(metrics.distances(metrics.ellipse_distances(xy, np.asarray(shapes, np.float64))))
    return tuple(
        max(float(score(rows, one)) for one in spaces)
        for score in (metrics.spearman, lambda a, b: metrics.ndcg(a, b, k=10))
    )  # type: ignore[return-value]


def main() -> None:
    """Print a row for each program: global, local, CPU seconds; medians over seeds."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--items", type=int, default=60)
    options.add_argument("--dims", type=int, default=12)
    options.add_argument("--seeds", type=int, default=3)
    asked = options.parse_args()
    programs = layouts()
    if len(programs) == 3:
        print("UADAPy is not here: run `python -m bench --get-peers` first")
    for lay_out in programs.values():
        lay_out(distributions(12, 4, 9))
    print(f"{asked.items} distributions of {asked.dims} dimensions, UADAPy {peers.version('uadapy')}")
    print(f"{'':<20} {'global ρ-W':>12} {'nDCG@10-W':>12} {'CPU s':>8}")
    for name, lay_out in programs.items():
        told = []
        for seed in range(asked.seeds):
            given = distributions(asked.items, asked.dims, seed)
            begun = time.process_time()
            laid = lay_out(given)
            took = time.process_time() - begun
            told.append((*judged(given, laid), took))
        rho, local, seconds = np.median(told, axis=0)
        print(f"{name:<20} {rho:>12.3f} {local:>12.3f} {seconds:>8.3f}")


if __name__ == "__main__":
    main()
