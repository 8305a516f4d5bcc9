"""Figures 4.1–4.5 as SVG: ellipses in panels, and nDCG against k."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from langscape import affinity, embed, views
from langscape.data import Gaussians, Map
from langscape.engine import Schedule, pca
from langscape.views.colours import CATEGORIES
from papers import chart
from papers.distributions.experiments import Results
from papers.distributions.synthetic import opposite

_INK, _SOFT, _LINE, _GREY = "#1b1d21", "#5b626c", "#e3e6ea", "#c3c8cf"
_FONT = 'font-family="system-ui, Helvetica Neue, Arial, sans-serif"'
_MASS = -2.0 * np.log(0.5)

SHOWN = (
    "tea",
    "coffee",
    "milk",
    "horse",
    "dog",
    "fish",
    "france",
    "england",
    "teacher",
    "doctor",
    "mother",
    "law",
)
"""Words of Figures 4.3 and 4.5 where they are among those mapped."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A map: places (n, 2), outlines (n, 2, 2) or None for points, and the rows shown with labels."""

    title: str
    said: str
    xy: np.ndarray
    outlines: np.ndarray | None
    rows: Sequence[int]
    labels: Sequence[str]
    groups: Sequence[int] | None = None


def panels(shown: Sequence[Panel], *, across: int = 2, width: int = 900) -> str:
    """Panels in rows; the rows named have an ellipse and a label, all others are grey dots."""
    wide = width / across
    side = wide - 24
    parts = []
    for at, panel in enumerate(shown):
        left, top = (at % across) * wide + 12, (at // across) * (side + 62)
        parts.append(_panel(panel, left, top, side))
    height = int(-(-len(shown) // across) * (side + 62))
    box = f'viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} {_FONT}>{"".join(parts)}</svg>'


def synthetic() -> str:
    """Figure 4.1: both solutions of distributional PCA, and two of distributional t-SNE."""
    kinds: dict[str, tuple[int, Map]] = {}
    for seed in range(50):
        found = pca(*opposite(seed), quality=False)
        assert found.shapes is not None
        a, b = found.shapes.astype(np.float64)
        nested = bool((np.linalg.eigvalsh(b - a) > 0).all() or (np.linalg.eigvalsh(a - b) > 0).all())
        kinds.setdefault("nested" if nested else "cross", (seed, found))
    shown = [
        _two(f"Distributional PCA: {name}", f"noise of seed {kinds[name][0]}", kinds[name][1])
        for name in ("nested", "cross")
    ]
    means, s = opposite(0)
    P = affinity.gaussians(means, s, perplexity=1)
    for seed in (1, 3):
        how = Schedule(steps=50, early_steps=0)
        found = embed(P, initial="random", schedule=how, shape="diagonal", seed=seed, quality=False)
        shown.append(_two("Distributional t-SNE", f"seed {seed}, KL {abs(found.kl):.3f}", found))
    return panels([shown[0], shown[2], shown[1], shown[3]], width=760)


def curves(results: Results) -> str:
    """Figure 4.2: nDCG-W against k."""
    names = {
        "pca": "PCA", "dpca-E": "distr. PCA, E", "dpca-W": "distr. PCA, W", "tsne": "t-SNE",
        "dtsne-E": "distr. t-SNE, E", "dtsne-W": "distr. t-SNE, W", "4-D": "4-D t-SNE",
    }  # fmt: skip
    lines = {}
    for model, name in names.items():
        found = results.of(model)
        lines[name] = (np.log10(found["ks"]), found["curve"])
    panel = chart.Panel("", lines, "log₁₀ k", "nDCG@k, original distances W")
    return chart.lines([panel], height=430)


def beside(
    results: Results, given: Gaussians, models: Sequence[tuple[str, str]], words: Sequence[str]
) -> str:
    """Figures 4.3 and 4.5: the same words by several maps; a model without ellipses shows points."""
    rows = [given.labels.index(word) for word in words]
    shown = []
    for model, title in models:
        found = results.maps[model]
        outlines = None
        said = f"KL {found.kl:.3f}" if np.isfinite(found.kl) else ""
        if found.shapes is not None:
            outlines = found.shapes * (1.0 if found.settings.get("shape") == "contexts" else _MASS)
            held = "area_variance" not in found.quality
            name = "area_held" if held else "area_variance"
            worth = f"{'held-out area' if held else 'area–variance'} {found.quality[name]:+.2f}"
            said = f"{said}, {worth}" if said else worth
        shown.append(Panel(title, said, found.xy, outlines, rows, words))
    return panels(shown)


def large_and_small(results: Results, given: Gaussians) -> tuple[str, list[str], list[str]]:
    """Figure 4.4: five of the largest and five of the smallest ellipses of distributional PCA."""
    found = results.maps["dpca-W"]
    assert found.shapes is not None
    order = np.argsort(np.linalg.det(found.shapes.astype(np.float64)))
    rows = [*order[::-1][:5].tolist(), *order[:5].tolist()]
    words = [given.labels[i] for i in rows]
    groups = [1] * 5 + [0] * 5
    title = "Distributional PCA: the five largest and the five smallest ellipses"
    panel = Panel(title, "", found.xy, found.shapes * _MASS, rows, words, groups)
    return panels([panel], across=1, width=760), words[:5], words[5:]


def whole_map(results: Results, given: Gaussians, out: Path) -> tuple[Path, Path]:
    """The map with truthful ellipses: as a picture, and as a page on which each can be opened and read."""
    title = "Words and how far their contexts vary"
    found = results.maps["contexts"].but(items=given.items)
    found = found.but(per_point={"variance": given.spread.astype(np.float32)})
    found.save(out / "contexts.parquet")
    order = np.random.default_rng(0).permutation(len(found))
    view = views.ellipses(found, given, title=title, labels=[found.labels[i] for i in order])
    page = views.write(views.ellipses(found, given, title=title), out / "contexts.html")
    return views.write(view, out / "contexts.png"), page


def shown_words(given: Gaussians) -> list[str]:
    """The words of Figures 4.3 and 4.5 that were mapped; where few were, others of the groups beside them."""
    shown = [word for word in SHOWN if word in given.labels]
    groups = given.items.columns["group"]
    others = [word for word, group in zip(given.labels, groups, strict=True) if group != "other words"]
    fill = [word for word in others[:: max(1, len(others) // 8)] if word not in shown]
    return [*shown, *fill[: max(0, 8 - len(shown))]]


def _two(title: str, said: str, found: Map) -> Panel:
    assert found.shapes is not None
    return Panel(title, said, found.xy, found.shapes * _MASS, [0, 1], ["1", "2"], [0, 1])


def _panel(panel: Panel, left: float, top: float, side: float) -> str:
    xy = np.asarray(panel.xy, np.float64)
    long, short, angle = _axes(panel.outlines, len(xy))
    rows = list(panel.rows)
    along = np.hypot(long * np.cos(angle), short * np.sin(angle))[rows]
    up = np.hypot(long * np.sin(angle), short * np.cos(angle))[rows]
    reach = np.column_stack([along, up])
    low = np.minimum(xy.min(0), (xy[rows] - reach).min(0))
    high = np.maximum(xy.max(0), (xy[rows] + reach).max(0))
    span = float((high - low).max()) or 1.0
    scale = (side - 24) / span
    inset = (span - (high - low)) / 2

    def place(point: np.ndarray) -> tuple[float, float]:
        x, y = (point - low + inset) * scale
        return left + 12 + x, top + 50 + side - 12 - y

    parts = [
        _text(left, top + 18, panel.title, 14, _INK, True),
        _text(left, top + 37, panel.said, 12, _SOFT),
        f'<rect x="{left:.1f}" y="{top + 50:.1f}" width="{side:.1f}" height="{side:.1f}" fill="none" '
        f'stroke="{_LINE}"/>',
    ]
    for i in sorted(set(range(len(xy))) - set(rows)):
        x, y = place(xy[i])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{_GREY}"/>')
    colours = [
        CATEGORIES[(panel.groups[k] if panel.groups else k) % len(CATEGORIES)] for k in range(len(rows))
    ]
    for k, i in sorted(enumerate(rows), key=lambda pair: -long[pair[1]] * short[pair[1]]):
        x, y = place(xy[i])
        if panel.outlines is not None:
            turned = f"rotate({-np.degrees(angle[i]):.2f} {x:.2f} {y:.2f})"
            parts.append(
                f'<ellipse cx="{x:.2f}" cy="{y:.2f}" rx="{long[i] * scale:.2f}" ry="{short[i] * scale:.2f}" '
                f'transform="{turned}" fill="{colours[k]}" fill-opacity=".1" stroke="{colours[k]}" '
                'stroke-width="1.4"/>'
            )
        parts.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="3" fill="{colours[k]}"/>')
    return "".join(parts) + _labels([place(xy[i]) for i in rows], panel.labels, left, left + side)


def _labels(at: Sequence[tuple[float, float]], words: Sequence[str], left: float, right: float) -> str:
    """Labels beside their points, moved down or up where they would lie on one another."""
    parts: list[str] = []
    taken: list[tuple[float, float, float, float]] = []
    for (x, y), word in sorted(zip(at, words, strict=True), key=lambda pair: pair[0][1]):
        wide = 7.4 * len(word) + 4
        places = [
            (x + side if side > 0 else x - wide - 6, y + down)
            for down in (4, -7, 15, -18, 26, -29, 37, 48)
            for side in (6, -6)
        ]
        clear = [
            (a, b)
            for a, b in places
            if left <= a and a + wide <= right
            and not any(a < r and a + wide > q and b - 11 < t and b > s for q, s, r, t in taken)
        ]  # fmt: skip
        a, b = (clear or places)[0]
        taken.append((a, b - 11, a + wide, b))
        parts.append(
            f'<text x="{a:.1f}" y="{b:.1f}" font-size="13" fill="{_INK}" stroke="white" stroke-width="3" '
            f'stroke-linejoin="round" paint-order="stroke">{html.escape(word)}</text>'
        )
    return "".join(parts)


def _axes(outlines: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if outlines is None:
        return np.zeros(n), np.zeros(n), np.zeros(n)
    S = np.asarray(outlines, np.float64)
    xx, xy, yy = S[:, 0, 0], S[:, 0, 1], S[:, 1, 1]
    middle, away = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    angle = np.arctan2(2 * xy, xx - yy) / 2
    return np.sqrt(middle + away), np.sqrt(np.maximum(middle - away, 0)), angle


def _text(x: float, y: float, words: str, size: int, colour: str, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    look = f'font-size="{size}" fill="{colour}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{html.escape(words)}</text>'
