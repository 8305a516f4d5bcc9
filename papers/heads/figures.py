"""The document's figures, made again: maps and matrices by `langscape.views`, small curves as SVG text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from langscape import views
from langscape.data import Items, Map
from papers import chart, page
from papers.heads.claims import ARTS, TRADES
from papers.heads.experiments import SENTENCE, Results
from papers.words.figures import turned

QUANTILES = 100
"""k of the document's rescaled axes."""


def pictures(results: Results, out: Path) -> dict[str, str]:
    """Every figure as HTML, by the document's number; files go to `out`."""
    made: dict[str, str] = {}

    def add(number: str, path: Path, caption: str) -> None:
        made[number] = page.picture(path, f"Figure {number}. {caption}", alt=caption.split(".")[0])

    layer, head = results.heads["low"]
    matrix = views.attention(results.sentence, layer, head, title=f"“{SENTENCE}”: head {layer}.{head}")
    add(
        "2",
        views.write(matrix, out / "figure-2.png"),
        "An attention matrix: who attends to whom in a sentence of ours.",
    )
    jobs = results.occupations.but(xy=turned(results.occupations.xy))
    add(
        "5",
        _map(
            zoomed(jobs, [jobs.labels.index(word) for word in ARTS]), "Around the arts", out / "figure-5.png"
        ),
        "Figure 6 around the artists that the document names.",
    )
    add("6", _map(jobs, "Occupations by their [CLS] states", out / "figure-6.png"), _jobs_caption(results))
    said = {name: f"Layer {results.heads[name][0]}, head {results.heads[name][1]}" for name in results.heads}
    low, chain, high, active = (results.maps[name] for name in ("low", "chain", "high", "active"))
    add(
        "7",
        _map(zoomed(low, _dense(low)), f"{said['low']}, zoomed", out / "figure-7.png"),
        "A part of Figure 8 on linear axes.",
    )
    add(
        "8",
        _map(low, said["low"], out / "figure-8.png", QUANTILES),
        "A head of the lowest layers that follows no pattern of places, axes at equal quantiles; Figure "
        "23 has them linear.",
    )
    add(
        "9",
        _map(chain, said["chain"], out / "figure-9.png"),
        "The head of the lower half whose queries look to a neighbour most often: the text can be "
        f"followed along the chain, light to dark. {trusted(chain)}",
    )
    add(
        "10",
        _map(high, said["high"], out / "figure-10.png", QUANTILES),
        "A head of the last layers, axes at equal quantiles; Figure 24 has them linear.",
    )
    hidden = results.maps["hidden"]
    add(
        "11",
        _map(hidden, f"Hidden states of layer {hidden.settings['layer']}", out / "figure-11.png"),
        "The same tokens by their hidden states.",
    )
    for number, name, quantiles in (("8", "low", QUANTILES), ("9", "chain", None), ("10", "high", QUANTILES)):
        path = out / f"figure-{number}-kept.png"
        told = f"Figure {number} with special tokens and sinks kept. {trusted(results.kept[name])}"
        made[f"{number} kept"] = page.picture(
            _map(results.kept[name], said[name], path, quantiles), told, alt=told
        )
    path, told = out / "figure-11-kept.png", "Figure 11 with special tokens kept."
    title = f"Hidden states of layer {hidden.settings['layer']}"
    made["11 kept"] = page.picture(_map(results.kept["hidden"], title, path), told, alt=told)
    compared = results.compared["kept"].views()[0]
    add(
        "12",
        views.write(compared, out / "figure-12.png"),
        f"KL of hidden states and heads over {results.plan.runs} runs of each, special tokens and sinks "
        "kept.",
    )
    most = views.max_attention(results.capture, title="Maximum attention")
    add(
        "13",
        views.write(most, out / "figure-13.png"),
        "Maximum attention of every head on every token, layer by layer.",
    )
    add(
        "14",
        _map(active, said["active"], out / "figure-14.png"),
        "The head with the largest mean of maximum attention.",
    )
    robust = results.robust["kept", "our"].views()[0]
    add(
        "15",
        views.write(robust, out / "figure-15.png"),
        f"KL of the hidden states of layer {results.heads['active'][0]} and of that head, with and "
        "without 5 % of the tokens replaced; the document’s Figure 16, the standard deviations, is the "
        "lower part.",
    )
    for way, experiment in results.robust_everywhere.items():
        made[way] = page.picture(
            views.write(experiment.views()[0], out / f"robustness-{way.replace(' ', '-')}.png"),
            f"The same for all layers and all heads, special tokens and sinks {way}.",
            alt=f"Robustness of all heads, special tokens and sinks {way}",
        )
    add("23", _map(low, said["low"], out / "figure-23.png"), "Figure 8 on linear axes.")
    add("24", _map(high, said["high"], out / "figure-24.png"), "Figure 10 on linear axes.")
    return made | rescaling(out)


def trusted(made: Map) -> str:
    """How far the map of a head can be trusted, in a sentence."""
    kept, null = (100 * made.quality[name] for name in ("kept", "kept_null"))
    return f"KL {made.kl:.2f}; {kept:.0f} % of the strongest partners lie near (shuffled {null:.0f} %)."


def rescaling(out: Path) -> dict[str, str]:
    """Figures 17 to 22: five Gaussians before and after quantile-equidistant rescaling."""
    from langscape.views.quantile import quantile_scale

    cloud = gaussians()
    made: dict[str, str] = {}
    for number, k, told in (
        ("17", None, "Points of five Gaussians, axes as they are."),
        ("20", QUANTILES, "The same with 100 quantiles of each axis at equal distances."),
        ("22", 5, "The same with 5 quantiles: more of the shape is left."),
    ):
        path = _map(
            cloud,
            "Five Gaussians" + ("" if k is None else f", k = {k}"),
            out / f"figure-{number}.png",
            k,
            "distribution",
        )
        made[number] = page.picture(path, f"Figure {number}. {told}", alt=told)
    for number, k in (("18", None), ("21", QUANTILES)):
        panels = []
        for at, axis in enumerate("xy"):
            values = np.asarray(cloud.xy[:, at], float)
            values = values if k is None else quantile_scale(values, k).forward(values)
            counts, edges = np.histogram(values, 30)
            panels.append(
                chart.Panel(axis, {"points": ((edges[1:] + edges[:-1]) / 2, counts)}, axis, "points")
            )
        told = "How points spread over each axis" + (" as it is." if k is None else ", rescaled.")
        made[number] = page.picture(chart.lines(panels), f"Figure {number}. {told}", alt=told)
    x = np.asarray(cloud.xy[:, 0], float)
    across = np.linspace(x.min(), x.max(), 300)
    lines = {f"k = {k}": (across, quantile_scale(x, k).forward(across)) for k in (5, QUANTILES)}
    rank = np.searchsorted(np.sort(x), across, side="right") / len(x)
    lines["empirical distribution"] = (across, rank)
    panel = chart.Panel("The map φ of the x axis", lines, "x", "φ(x)")
    made["19"] = page.picture(
        chart.lines([panel]),
        "Figure 19. The rescaling map; with k of n or more it is the empirical distribution.",
        alt="Rescaling map",
    )
    return made


def gaussians(seed: int = 0) -> Map:
    """Points of five Gaussians of different spread, most of them crowded in one place."""
    rng = np.random.default_rng(seed)
    told = (
        ("A", (-9, 6), 2.0, 60),
        ("B", (8, 9), 1.5, 60),
        ("C", (0, 0), 0.25, 220),
        ("D", (1.6, 0.8), 0.5, 120),
        ("E", (-4, -9), 2.5, 60),
    )
    xy = [rng.normal(middle, spread, (count, 2)) for _, middle, spread, count in told]
    names = [name for name, _, _, count in told for _ in range(count)]
    labels = [""] * len(names)
    return Map(np.concatenate(xy).astype(np.float32), Items(labels, {"distribution": names}))


def zoomed(made: Map, rows: list[int], count: int = 30) -> Map:
    """The items nearest to the middle of these rows, by their places on the map."""
    middle = made.xy[rows].mean(axis=0)
    near = np.sort(np.argsort(np.linalg.norm(made.xy - middle, axis=1))[:count])
    return made.but(
        xy=made.xy[near],
        items=made.items.take(near),
        per_point={name: values[near] for name, values in made.per_point.items()},
        vectors=None,
        notes=(f"{len(near)} of {len(made)} items; KL is that of the whole map",),
    )


def _dense(made: Map) -> list[int]:
    """The row with the nearest tenth neighbour, in the middle of a crowd."""
    D = np.linalg.norm(made.xy[:, None] - made.xy[None], axis=-1)
    return [int(np.argmin(np.sort(D, axis=1)[:, min(10, len(D) - 1)]))]


def _map(made: Map, title: str, path: Path, quantiles: int | None = None, color: str | None = None) -> Path:
    if color is None:
        color = "group" if "group" in made.items.columns else "position"
    return views.write(views.scatter(made, color=color, title=title, quantiles=quantiles), path)


def _jobs_caption(results: Results) -> str:
    made = results.occupations
    named = ", ".join(TRADES)
    return (
        f"{len(made)} words for occupations at layer {made.settings['layer']}, the document’s {named} among "
        "them. Groups are ours and were not shown to the model."
    )
