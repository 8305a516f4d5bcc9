"""Regions of a map, found where points are dense, and named by the words that set them apart.

A region's words are chosen by class-based TF-IDF on one half of its documents (how many of them have the
word, times the log of how much rarer it is elsewhere); how distinctive they are is told by the other half.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CELLS = 200
"""Cells of the density along the longer side of the map."""

WORDS = 3
"""Words of a name."""

LEAST = 0.1
"""What the two halves must have between them, inside less outside, for a region to be named."""

_WORD = re.compile(r"[^\W\d_][\w'’-]+")
_WIDTH = 0.17
_MERGE = 0.8
_FURTHER = 0.3


@dataclass(frozen=True)
class Region:
    """A region and its name; inside and outside are shares of held-out documents with one of its words."""

    words: tuple[str, ...]
    x: float
    y: float
    size: int
    inside: float
    outside: float

    @property
    def distinct(self) -> float:
        """How distinctive the name is: 0 for words that are as common elsewhere, 1 for words of its own."""
        return self.inside - self.outside

    @property
    def name(self) -> str:
        """The words, or nothing where they set nothing apart."""
        return " · ".join(self.words) if self.distinct >= LEAST else ""

    def plain(self) -> dict[str, Any]:
        """As a map's settings hold it."""
        return {
            "name": self.name, "x": self.x, "y": self.y, "size": self.size,
            "inside": round(self.inside, 4), "outside": round(self.outside, 4),
        }  # fmt: skip


def find_regions(xy: Any, least: int | None = None) -> np.ndarray:
    """(n,) the region of each point, from 0, the largest first: hills of the density, shallow ones joined.

    least is how many points a region has at least; a two-hundredth of all, and five, if left out.

    >>> rng = np.random.default_rng(0)
    >>> xy = np.concatenate([rng.normal(size=(300, 2)), rng.normal(size=(200, 2)) + 12])
    >>> np.bincount(find_regions(xy)).tolist()
    [300, 200]
    """
    from scipy.ndimage import gaussian_filter

    Y = np.asarray(xy, np.float64)
    n = len(Y)
    least = max(5, n // 200) if least is None else least
    low, high = Y.min(0), Y.max(0)
    side = float((high - low).max()) or 1.0
    at = np.minimum(((Y - low) / side * (CELLS - 1)).astype(int), CELLS - 1) + 8
    counts = np.zeros((CELLS + 16, CELLS + 16))
    np.add.at(counts, (at[:, 0], at[:, 1]), 1.0)
    # Silverman's width falls as the sixth root of the number of points; few points are drawn wide
    density = gaussian_filter(counts, max(1.0, _WIDTH * n ** (-1 / 6) * CELLS), mode="constant")
    peaks, saddles = _hills(density)
    own = peaks[at[:, 0], at[:, 1]]
    sizes = Counter(own.tolist())
    top = {peak: float(density.flat[peak]) for peak in sizes}
    joined: dict[int, int] = {}

    def root(peak: int) -> int:
        while peak in joined:
            peak = joined[peak]
        return peak

    # the highest passes first: a hill is joined to a higher one where the pass between them is hardly lower,
    # or where it is too small to be a region
    for height, a, b in sorted(saddles, reverse=True):
        a, b = root(a), root(b)
        if a == b or a not in top or b not in top:
            continue
        lower, higher = (a, b) if top[a] <= top[b] else (b, a)
        if height > _MERGE * top[lower] or sizes[lower] < least:
            joined[lower] = higher
            sizes[higher] += sizes[lower]
    own = np.array([root(peak) for peak in own.tolist()])
    order = {peak: at for at, (peak, _) in enumerate(Counter(own.tolist()).most_common())}
    return np.array([order[peak] for peak in own.tolist()])


def _hills(density: np.ndarray) -> tuple[np.ndarray, list[tuple[float, int, int]]]:
    """Of each cell the peak that steepest ascent leads to, and the heights of the passes between peaks."""
    rows, columns = density.shape
    flat = np.arange(rows * columns).reshape(rows, columns)
    best, to = density.copy(), flat.copy()
    steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    shifted = [(np.roll(density, step, (0, 1)), np.roll(flat, step, (0, 1))) for step in steps]
    for values, cells in shifted:
        better = values > best
        best[better], to[better] = values[better], cells[better]
    up = to.ravel()
    while True:
        further = up[up]
        if np.array_equal(further, up):
            break
        up = further
    peaks = up.reshape(rows, columns)
    found: dict[tuple[int, int], float] = {}
    for _, cells in shifted[4:]:  # each pair of neighbouring cells once
        other = peaks.ravel()[cells]
        apart = other != peaks
        height = np.minimum(density, density.ravel()[cells])
        for a, b, h in zip(peaks[apart], other[apart], height[apart], strict=True):
            key = (int(min(a, b)), int(max(a, b)))
            found[key] = max(found.get(key, 0.0), float(h))
    return peaks, [(height, a, b) for (a, b), height in found.items()]


def words_of(text: str) -> set[str]:
    """The words of a text that may name a region: letters, two or more, in lower case.

    >>> sorted(words_of("It’s the 3 Harbours of A-town"))
    ['a-town', 'harbours', 'it’s', 'of', 'the']
    """
    return {word.lower() for word in _WORD.findall(text)}


def name_regions(
    own: np.ndarray, xy: Any, texts: Callable[[], Iterable[Sequence[str]]], words: int = WORDS
) -> tuple[Region, ...]:
    """The regions with their names; texts gives all texts in order, some at a time, and is called twice."""
    count = int(own.max()) + 1 if len(own) else 0
    half = np.arange(len(own)) % 2 == 0
    with_word, size = _counts(own, half, texts(), count)
    chosen = [_best(with_word, size, region, words) for region in range(count)]
    hits, seen = np.zeros((count, 2)), np.zeros((count, 2))
    at = 0
    everyone = [frozenset(one) for one in chosen]
    for some in texts():
        for text in some:
            if not half[at]:
                mine = words_of(text)
                for region, named in enumerate(everyone):
                    outside = int(own[at] != region)
                    seen[region, outside] += 1
                    hits[region, outside] += not named.isdisjoint(mine)
            at += 1
    share = hits / np.maximum(seen, 1)
    Y = np.asarray(xy, np.float64)
    return tuple(
        Region(
            tuple(chosen[region]),
            *_middle(Y[own == region]),
            int((own == region).sum()),
            *map(float, share[region]),
        )
        for region in range(count)
    )


def _middle(points: np.ndarray) -> tuple[float, float]:
    """Where a name stands: the point of the region that is nearest to its median."""
    median = np.median(points, axis=0)
    place = points[int(((points - median) ** 2).sum(1).argmin())]
    return float(place[0]), float(place[1])


def _counts(
    own: np.ndarray, chosen: np.ndarray, texts: Iterable[Sequence[str]], count: int
) -> tuple[list[Counter[str]], np.ndarray]:
    """In how many of the chosen texts of each region every word stands, and how many there are."""
    found = [Counter[str]() for _ in range(count)]
    size = np.zeros(count)
    at = 0
    for some in texts:
        for text in some:
            if chosen[at]:
                found[own[at]].update(words_of(text))
                size[own[at]] += 1
            at += 1
    return found, size


def _best(with_word: list[Counter[str]], size: np.ndarray, region: int, words: int) -> list[str]:
    mine, inside = with_word[region], max(float(size[region]), 1.0)
    outside = max(float(size.sum() - size[region]), 1.0)
    everywhere = Counter[str]()
    for word, _ in mine.most_common(2000):
        everywhere[word] = sum(one[word] for one in with_word)
    scores: dict[str, float] = {}
    more: dict[str, float] = {}
    for word, all_ in everywhere.items():
        here, there = mine[word] / inside, (all_ - mine[word] + 0.5) / (outside + 1)
        scores[word] = here * math.log(max(here, 1e-9) / there)
        more[word] = here - there
    best = sorted((word for word in scores if scores[word] > 0), key=lambda word: (-scores[word], word))
    # a further word must set the region apart by itself: with "the" any text would have one of its words
    return best[:1] + [word for word in best[1:words] if more[word] >= _FURTHER * more[best[0]]]
