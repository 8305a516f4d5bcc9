"""Colours by meaning (Sawatzky and Kozyr, 3.2): words in a colour cube, any other vector fitted among them.

The words' embeddings are mapped to three dimensions, by t-SNE as Sawatzky & Kozyr do, or by their three
principal axes, whichever keeps more of the order of distances; each axis is rescaled to [0, 1]: a cube. It
is a cube in OKLab, the largest that screens can show, so that equal distances look equal; or red, green and
blue themselves, as theirs are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from langscape.affinity import points as affinities_of
from langscape.data import frozen
from langscape.engine.embed import embed
from langscape.engine.insert import place
from langscape.engine.schedule import Schedule
from langscape.engine.weighting import Insertion
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun
from langscape.metrics import spearman
from langscape.metrics.ranks import spearman_by_chance

Space = Literal["oklab", "rgb"]
Fit = Literal["force", "exact"]
Layout = Literal["better", "tsne", "pca"]

MAPPED = 2000
"""Words that a map is made of; of a larger vocabulary a seeded sample, and the others among them."""

REFERENCES = 16
NEAREST, ALIKE, SHUFFLES = 5, 0.9, 19
"""The nearest words of a vector that are compared; from which share of the last one's distance the first is
about as far; how often its values are shuffled: to beat all of these has a chance of 1 in 20."""

_FARTHEST = 0.25  # importance of the farthest reference, Sawatzky & Kozyr's
_SIDE = 1.0  # of the colour cube, their C
_BACK_OFF = 1.3
_SETTLED = 1e-4  # in the cube; a screen's own steps are 40 times coarser
_STEPS = 2000

# The largest cube of OKLab whose colours sRGB has, all of them, found by a search over middle and turn. The
# columns are its edges: about purple → blue, crimson → orange, purple → crimson. A test holds it in gamut.
_MIDDLE = np.array([0.6254, 0.0492, -0.0407])
_TURN = np.array([[-0.1688, 0.8735, -0.4567], [-0.9756, -0.2142, -0.0491], [-0.1407, 0.4372, 0.8883]])
_EDGE = 0.245


@noun
@dataclass(frozen=True, eq=False)
class WordColours:
    """The colour of every word, and the way to colour any other vector of their space.

    rgb         (n, 3) in 0…1, what a screen is given
    points      (n, 3) places in the cube
    references  rows of the words, at most 16, that their method fits against
    mapped      rows of the words whose map was made; all but of large vocabularies
    scale       colour distance per vector distance, over pairs of words
    quality     "words": rank correlation of the words' colour distances, as seen, with their vectors'
    """

    embeddings: np.ndarray
    points: np.ndarray
    rgb: np.ndarray
    space: Space
    references: np.ndarray
    mapped: np.ndarray
    scale: float
    quality: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("embeddings", "points", "rgb", "references", "mapped"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        object.__setattr__(self, "quality", MappingProxyType(dict(self.quality)))

    def fit(self, vectors: Any, method: Fit = "force") -> np.ndarray:
        """The colours (m, 3) of vectors (m, dim) of the words' own space."""
        return shown(self.place(vectors, method), self.space)

    def place(self, vectors: Any, method: Fit = "force") -> np.ndarray:
        """The places (m, 3) of vectors in the cube: "force" is the authors', "exact" looks at all words.

        "force" descends against 16 references, each vector's distances scaled so that the largest is half
        the cube. "exact" finds the least weighted stress over every mapped word, with one scale for all
        vectors, so that a word's own vector lands by its own colour and far ones are told apart.
        """
        W = self._checked(vectors)
        if method not in ("force", "exact"):
            raise SettingsError(f'method {method!r} is not known; use "force" or "exact"')
        rows = self.references if method == "force" else self.mapped
        far = _distances(W, self.embeddings[rows])
        most = np.maximum(far.max(1, keepdims=True), 1e-30)
        importance, anchors = _FARTHEST ** (far / most), self.points[rows]
        if method == "force":
            return np.clip(force(far / most * (_SIDE / 2), importance, anchors), 0, _SIDE)
        return np.clip(exact(far * self.scale, importance, anchors), 0, _SIDE)

    def distances(self, vectors: Any) -> np.ndarray:
        """The distances (m, reference) of vectors from the references."""
        return _distances(self._checked(vectors), self.embeddings[self.references])

    def follows(self, vectors: Any, rgb: Any) -> np.ndarray:
        """Per vector, the rank correlation of its distances to words with those of its colour to theirs."""
        from scipy.stats import rankdata

        W, given = self._checked(vectors), np.asarray(rgb, np.float64)
        if given.shape != (len(W), 3):
            raise DataError(f"colours have shape {given.shape}, expected ({len(W)}, 3), one per vector")
        far = rankdata(_distances(W, self.embeddings[self.mapped]), axis=1)
        seen = rankdata(_distances(oklab(given), oklab(self.rgb[self.mapped])), axis=1)
        a, b = far - far.mean(1, keepdims=True), seen - seen.mean(1, keepdims=True)
        spread = np.sqrt((a * a).sum(1) * (b * b).sum(1))
        return np.where(spread > 0, (a * b).sum(1) / np.where(spread > 0, spread, 1), 0.0)

    def near(self, vectors: Any, seed: int = 0) -> np.ndarray:
        """Per vector, whether some words are nearer to it than others.

        They are not where its nearest words are about equally far, and stand out from the middle word by no
        more than those of the same values shuffled: so it is of a vector that is far from all words.
        """
        W, chance = self._checked(vectors), np.random.default_rng(seed)
        words = self.embeddings[self.mapped]
        first, last, apart = _nearest(W, words)
        found = first <= ALIKE * last
        left = np.flatnonzero(~found)
        most = np.full(len(left), -np.inf)
        for _ in range(SHUFFLES):
            most = np.maximum(most, _nearest(chance.permuted(W[left], axis=1), words)[2])
        # a vector whose values are all the same is its own shuffle, up to rounding
        found[left] = apart[left] > most + 1e-9 * last[left]
        return found

    def _checked(self, vectors: Any) -> np.ndarray:
        W = np.asarray(vectors, np.float64)
        W = W[None] if W.ndim == 1 else W
        dim = self.embeddings.shape[1]
        if W.ndim != 2 or W.shape[1] != dim:
            raise DataError(
                f"vectors have shape {np.shape(vectors)}, but the words' have {dim} dimensions; bring others "
                "to their space with metrics.predicted_vectors"
            )
        if not np.isfinite(W).all():
            raise DataError("vectors hold values that are not finite")
        return W


def colours(
    embeddings: Any, *, space: Space = "oklab", seed: int = 0, layout: Layout = "better"
) -> WordColours:
    """A colour for every row of the embeddings (n, dim), near ones alike.

    layout is how words come into the cube: "tsne", "pca", or the better of both by `quality["words"]`.

    >>> made = colours(np.random.default_rng(0).normal(size=(20, 7)))
    >>> made.rgb.shape, made.fit(np.zeros((2, 7))).shape
    ((20, 3), (2, 3))
    """
    X = np.asarray(embeddings, np.float64)
    if X.ndim != 2 or len(X) < 4:
        raise DataError(f"embeddings have shape {X.shape}, expected (words, dim) with at least 4 words")
    if not np.isfinite(X).all():
        raise DataError("embeddings hold values that are not finite")
    if space not in ("oklab", "rgb"):
        raise SettingsError(f'space {space!r} is not known; use "oklab" or "rgb"')
    chance = np.random.default_rng(seed)
    n = len(X)
    mapped = np.arange(n) if n <= MAPPED else np.sort(chance.choice(n, MAPPED, replace=False))
    if layout not in ("better", "tsne", "pca"):
        raise SettingsError(f'layout {layout!r} is not known; use "better", "tsne" or "pca"')
    references = mapped[np.sort(chance.choice(len(mapped), min(REFERENCES, len(mapped)), replace=False))]
    figure, cube = -math.inf, np.empty((n, 3))
    for one in ("tsne", "pca") if layout == "better" else (layout,):
        made = _cube(X, mapped, one, seed)
        kept = float(spearman(X[mapped], oklab(shown(made[mapped], space)), most_rows=1000, seed=seed))
        if kept > figure:
            figure, cube = kept, made
    rgb = shown(cube, space)
    null = spearman_by_chance(X[mapped], oklab(rgb[mapped]), seed=seed).beside("words")
    scale = _scale(X[mapped[:1000]], cube[mapped[:1000]])
    return WordColours(X, cube, rgb, space, references, mapped, scale, {"words": figure, **null})


def _cube(X: np.ndarray, mapped: np.ndarray, layout: str, seed: int) -> np.ndarray:
    """The places (n, 3) of all words in the cube; the map is made of the mapped ones."""
    if layout == "tsne":
        xyz = _mapped(X[mapped], seed)
        xyz = xyz if len(mapped) == len(X) else _with_others(X, mapped, xyz)
    else:
        middle = X[mapped].mean(0)
        axes = np.linalg.svd(X[mapped] - middle, full_matrices=False)[2][:3]
        # of two directions that an axis may have, the one whose largest weight is positive
        axes *= np.sign(np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], 1))
        xyz = np.zeros((len(X), 3))
        xyz[:, : len(axes)] = (X - middle) @ axes.T
    low, high = xyz[mapped].min(0), xyz[mapped].max(0)
    return np.clip((xyz - low) / np.where(high > low, high - low, 1), 0, _SIDE)


def _scale(X: np.ndarray, cube: np.ndarray) -> float:
    """The factor from vector to colour distances, by least squares over all pairs."""
    far, seen = _distances(X, X), _distances(cube, cube)
    square = float((far * far).sum())
    return float((far * seen).sum()) / square if square > 0 else 1.0


def _mapped(X: np.ndarray, seed: int) -> np.ndarray:
    """A 3-D t-SNE; words with one and the same vector share a place."""
    rows, back = np.unique(X, axis=0, return_inverse=True)
    back = back.reshape(-1)
    if len(rows) < 4:
        return np.zeros((len(X), 3)) if len(rows) == 1 else np.eye(3)[back % 3]
    joint = affinities_of(rows, min(30.0, (len(rows) - 1) / 3), method="exact")
    map = embed(joint, 3, schedule=Schedule(steps=600, early_steps=250), quality=False, seed=seed)
    return np.asarray(map.xy, np.float64)[back]


def _with_others(X: np.ndarray, mapped: np.ndarray, xyz: np.ndarray) -> np.ndarray:
    """The words that were left out, each among the mapped ones most like it; the others do not move."""
    all_ = np.tile(xyz.mean(0), (len(X), 1))  # a vector of zeros is like nothing, and stays in the middle
    all_[mapped] = xyz
    lengths = np.linalg.norm(X, axis=1)
    others = np.setdiff1d(np.flatnonzero(lengths > 0), mapped)
    known = lengths[mapped] > 0
    vectors = X.astype(np.float32)
    base, known = xyz[known].astype(np.float32), vectors[mapped[known]]
    all_[others] = place(base, known, vectors[others], Insertion(), quality=False).xy
    return all_


def force(
    targets: np.ndarray,
    importance: np.ndarray,
    references: np.ndarray,
    steps: int = _STEPS,
    back_off: Literal["stress", "step"] = "stress",
) -> np.ndarray:
    """Sawatzky & Kozyr's eq. 3 for many points at once: places (m, 3) near the distances (m, k) wanted.

    From the references' centroid, a point moves by b Σ φ_i (d_i − ‖p − o_i‖) along the unit vectors
    from o_i to p. A move that makes things worse is taken back, and b = 1/1.3^f falls. Worse means a
    higher stress; they say a longer "step", which leaves 1 point in 10 short of its place
    even where one with all the right distances exists.
    """
    m = len(targets)
    P = np.tile(references.mean(0), (m, 1))
    pull, cost = _pull(P, targets, importance, references)
    size = np.linalg.norm(pull, axis=1)
    backed = np.zeros(m)
    for _ in range(steps):
        going = np.flatnonzero((size > _SETTLED) & (backed < 60))
        if not len(going):
            break
        moved = P[going] + pull[going] * (_BACK_OFF ** -backed[going])[:, None]
        new, stress = _pull(moved, targets[going], importance[going], references)
        length = np.linalg.norm(new, axis=1)
        better = stress <= cost[going] if back_off == "stress" else length <= size[going]
        kept = going[better]
        P[kept], pull[kept], size[kept], cost[kept] = (
            moved[better],
            new[better],
            length[better],
            stress[better],
        )
        backed[going[~better]] += 1
    return P


def _pull(
    P: np.ndarray, targets: np.ndarray, importance: np.ndarray, references: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The sum that moves each point, and the stress where it is."""
    away = P[:, None, :] - references[None, :, :]
    length = np.linalg.norm(away, axis=2)
    missing = importance * (targets - length)
    stress = (missing * (targets - length)).sum(1)
    return np.einsum("mk,mkd->md", missing / np.maximum(length, 1e-12), away), stress


def exact(targets: np.ndarray, importance: np.ndarray, words: np.ndarray, steps: int = 100) -> np.ndarray:
    """The places (m, 3) of least weighted stress Σ φ_i (d_i − ‖p − o_i‖)², of two starts the lower.

    One start is the weighted centroid, the other near the nearest word. Newton's step is taken where
    it lowers the stress, else majorisation's, which always does.
    """
    rgb = np.empty((len(targets), 3))
    chunk = max(1, 400_000 // len(words))
    for at in range(0, len(targets), chunk):
        D, W = targets[at : at + chunk], importance[at : at + chunk]
        centre = W @ words / W.sum(1, keepdims=True)
        near = 0.9 * words[D.argmin(1)] + 0.1 * centre
        ends = [_descend(D, W, words, start, steps) for start in (centre, near)]
        rgb[at : at + chunk] = np.where((ends[0][1] <= ends[1][1])[:, None], ends[0][0], ends[1][0])
    return rgb


def _descend(
    D: np.ndarray, W: np.ndarray, words: np.ndarray, start: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where the descent ends, and its stress there."""
    P, stress = start.copy(), np.full(len(D), np.inf)
    best, safe = P.copy(), P.copy()
    squares = (words[:, :, None] * words[:, None, :]).reshape(len(words), 9)
    going = np.arange(len(D))
    for _ in range(steps):
        p, d, w = P[going], D[going], W[going]
        length = np.maximum(_distances(p, words), 1e-9)
        now = (w * (d - length) ** 2).sum(1)
        worse = now > stress[going] * (1 + 1e-12)
        P[going[worse]] = safe[going[worse]]  # majorisation's step from the last good place
        good = going[~worse]
        stress[good] = now[~worse]
        p, d, w, length = p[~worse], d[~worse], w[~worse], length[~worse]
        best[good] = p
        ratio = w * d / length
        total, sums = w.sum(1), ratio.sum(1)
        safe[good] = (w @ words + sums[:, None] * p - ratio @ words) / total[:, None]
        slope = total[:, None] * (p - safe[good])
        q = ratio / length**2
        cross = (q @ words)[:, :, None] * p[:, None, :]
        bend = q.sum(1)[:, None, None] * p[:, :, None] * p[:, None, :]
        bend += (q @ squares).reshape(-1, 3, 3) - cross - cross.transpose(0, 2, 1)
        bend += (total - sums)[:, None, None] * np.eye(3)
        # Newton's step, curvatures taken positive so that it leaves saddles, none longer than an edge
        values, axes = np.linalg.eigh(bend)
        along = np.einsum("mij,mi->mj", axes, slope) / np.maximum(np.abs(values), 0.05 * total[:, None])
        step = np.einsum("mij,mj->mi", axes, along)
        step *= np.minimum(1, _SIDE / np.maximum(np.linalg.norm(step, axis=1), 1e-30))[:, None]
        P[good] = p - step
        settled = np.linalg.norm(slope, axis=1) <= 1e-8 * total
        going = np.concatenate([good[~settled], going[worse]])
        if not len(going):
            break
    return best, stress


def shown(points: np.ndarray, space: Space) -> np.ndarray:
    """Places in the cube as red, green and blue in 0…1."""
    if space == "rgb":
        return np.clip(points, 0, 1)
    return np.clip(from_oklab(_MIDDLE + _EDGE * ((np.asarray(points) - 0.5) @ _TURN.T)), 0, 1)


def cube_frame(space: str) -> dict[str, np.ndarray]:
    """The cube's middle and edges in OKLab, (4, 3), from which a page makes colours; none for plain RGB."""
    return {} if space == "rgb" else {"cube": np.vstack([_MIDDLE, _EDGE * _TURN.T]).astype(np.float32)}


# Ottosson's OKLab: linear light → cone responses → their cube roots → lightness and two hues
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_CONES_BACK, _LAB_BACK = np.linalg.inv(_CONES), np.linalg.inv(_LAB)


def oklab(rgb: Any) -> np.ndarray:
    """sRGB in 0…1 as OKLab, in which distances are those a person sees."""
    rgb = np.asarray(rgb, np.float64)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ _CONES.T) @ _LAB.T


def from_oklab(lab: Any) -> np.ndarray:
    """OKLab as sRGB; outside 0…1 where no screen has the colour."""
    linear = (np.asarray(lab, np.float64) @ _LAB_BACK.T) ** 3 @ _CONES_BACK.T
    bright = 1.055 * np.maximum(linear, 0) ** (1 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, linear * 12.92, bright)


def _nearest(vectors: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per vector, how far the first and the last of its nearest words are, and how much nearer than the
    middle word they are on average."""
    count = min(NEAREST, len(words))
    first, last, apart = np.empty((3, len(vectors)))
    step = max(1, 2_000_000 // len(words))
    for start in range(0, len(vectors), step):
        some = slice(start, start + step)
        far = np.sort(_distances(vectors[some], words), axis=1)
        first[some], last[some] = far[:, 0], far[:, count - 1]
        apart[some] = np.median(far, axis=1) - far[:, :count].mean(1)
    return first, last, apart


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    squared = (A * A).sum(1)[:, None] + (B * B).sum(1)[None, :] - 2 * (A @ B.T)
    return np.sqrt(np.maximum(squared, 0))
