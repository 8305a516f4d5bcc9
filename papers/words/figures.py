"""Figures 1–5: maps by `langscape.views`, curves and small panels as SVG text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from langscape import views
from langscape.data import Items, Map
from langscape.engine.weighting import Insertion, transformed
from langscape.kernels.linear import principal_axes
from langscape.metrics import quality
from langscape.sources import Vectors
from papers import chart
from papers.words.experiments import METHODS, OURS, SHOWN_PERPLEXITY, Results


def principal(words: Vectors, folder: Path) -> Path:
    """Figure 1: the words on their first two principal axes, each scaled to deviation 1."""
    xy = principal_axes(words.matrix, 2)[0]
    xy = (xy / xy.std(0)).astype(np.float32)
    whole, per_point = quality(words.matrix, xy)
    found = Map(xy, words.items(), quality=whole, per_point=per_point)
    return _written(found, "Figure 1. First two principal components", folder, "figure-1", turn=False)


def weightings() -> str:
    """Figure 2: what the power and the exponential weighting make of a similarity."""
    s = np.linspace(0.0, 1.0, 101)
    panels = []
    for weighting, title in (("power", "power, sᵖ"), ("exponential", "exponential, (pˢ − 1)/(p − 1)")):
        curves = {}
        for p in (0.0, 0.5, 1.0, 2.0, 5.0, 15.0, 100.0):
            settings = Insertion(weighting=weighting, p=p)  # type: ignore[arg-type]
            weight = transformed(s[None, :], np.array([len(s)]), settings)[0]
            curves[f"p = {p:g}"] = (s, weight)
        panels.append(chart.Panel(title, curves, "similarity", "weight"))
    return chart.lines(panels, height=380)


def flowers(results: Results, groups: list[str], other: np.ndarray, said: str) -> str:
    """Figure 3: Iris by another program, by ours, and by ours with late exaggeration."""
    panels = [("Another program", said, other)]
    for name, title in (("ours", "Ours"), ("ours, late 12", "Ours, late exaggeration 12")):
        found = results.maps[f"iris, {name}"]
        line = f"local {100 * found.quality['local']:.1f} %, KL {found.kl:.2f}"
        panels.append((title, line, np.asarray(found.xy, float)))
    return chart.scatters(panels, groups)


def words_map(results: Results, words: Vectors, folder: Path) -> Path:
    """Figure 4: t-SNE of the words at perplexity 25."""
    found = results.maps["words"].but(items=words.items())
    return _written(found, f"Figure 4. t-SNE, perplexity {SHOWN_PERPLEXITY}", folder, "figure-4")


def inserted_map(results: Results, words: Vectors, five: Vectors, folder: Path) -> Path:
    """Figure 5: local perplexity on top of perplexity 35, the inserted words ringed."""
    base, table = results.maps["inserted"], results.found["five", OURS]
    columns = {"inserted": np.r_[np.zeros(len(words), bool), np.ones(len(five), bool)]}
    if words.groups:
        columns["group"] = np.array([*words.groups, *[None] * len(five)], dtype=object)
    xy = np.r_[base.xy, np.c_[table["x"], table["y"]].astype(base.xy.dtype)]
    found = base.but(xy=xy, items=Items([*words.words, *five.words], columns), per_point={})
    title = "Figure 5. Five words inserted, local perplexity on top of 35"
    return _written(found, title, folder, "figure-5")


def quality_curves(results: Results, start: str) -> str:
    """Local quality of the three methods over the perplexities, at 10 and at 3 nearest neighbours."""
    names = {"plain": "plain", "floor": "local, at least 10", "document": "local, at least 1"}
    across = list(results.plan.perplexities)
    panels = []
    for figure, title in (("local_10", "10 nearest"), ("local_3", "3 nearest"), ("global", "Global")):
        curves = {
            names[method]: (across, [results.median("grid", method, start, p)[figure] for p in across])
            for method in METHODS
        }
        panels.append(chart.Panel(title, curves, "perplexity", "%", dots=True))
    return chart.lines(panels)


def _written(found: Map, title: str, folder: Path, name: str, *, turn: bool = True) -> Path:
    found = found.but(xy=turned(found.xy)) if turn else found
    found.save(folder / f"{name}.parquet", vectors=False)
    # labels in any order but the list's, which would write the first groups and leave the last bare
    order = np.random.default_rng(0).permutation(len(found))
    view = views.scatter(found, title=title, labels=[found.labels[i] for i in order])
    return views.write(view, folder / f"{name}.png")


def turned(xy: np.ndarray, shape: float = 1.1) -> np.ndarray:
    """The map turned to be as large as can be in a picture `shape` times as wide as high.

    A t-SNE map has no up or down, so turning it says nothing new.
    """
    centred = np.asarray(xy, float) - np.mean(xy, axis=0)
    ways = []
    for angle in np.linspace(0.0, np.pi, 180, endpoint=False):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        wide, high = np.ptp(centred @ turn, axis=0)
        ways.append((max(wide, high * shape), angle, turn))
    return (centred @ min(ways, key=lambda way: way[:2])[2]).astype(np.float32)
