"""Whether an item's contexts are one cloud or several lumps, told on contexts that were held out.

A lump is as wide as contexts of any item are: the spread that all items share, by which vectors are whitened
first. Several lumps of that width explain almost any word better than one, since words differ in how widely
they are used; so what they explain is set against one Gaussian as wide as the item itself. Where real
contexts do not gain more than contexts drawn from that, the item may be wide and is not in lumps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from langscape.data import Gaussians, Progress, Step
from langscape.errors import DataError, SettingsError

LEAST = 20
"""Passages with an item from which it is tested: ten to find lumps in, and ten to judge them by."""

AXES = 100
"""Directions in which all contexts vary most, along which lumps are looked for."""

DRAWS = 19
"""Draws from one Gaussian: an item that gains more than all of them has p = 0.05."""

_SHRINK = 2.0
"""Contexts' worth of the item's own mean that is added to the mean of each lump."""


@dataclass(frozen=True, eq=False)
class Senses:
    """What was found of each item.

    lumps  (n,) how many explain held-out contexts best, 1 where one does, or where there are too few to tell
    gain   (n,) nats per held-out context by which that many, two at least, are better than one; NaN untested
    null   (n,) the mean of the same for contexts drawn from one Gaussian with the item's mean and covariance
    p      (n,) the share of such draws, the item among them, that gain as much
    parts  by item that can be split, the lump of each of its contexts, the largest lump 0
    """

    labels: tuple[str, ...]
    lumps: np.ndarray
    gain: np.ndarray
    null: np.ndarray
    p: np.ndarray
    parts: Mapping[int, np.ndarray]

    @property
    def several(self) -> np.ndarray:
        """(n,) whether an item's contexts lie in lumps, as one Gaussian's do not (p ≤ 0.05)."""
        return (self.lumps > 1) & (self.p <= 0.05)


def find_senses(
    given: Gaussians, most: int = 2, *, seed: int = 0, progress: Progress | None = None
) -> Senses:
    """Up to `most` lumps of each item's contexts, and whether one Gaussian would show as many.

    >>> from langscape.data import Items
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6, 60, 3))
    >>> X[0, :30] += 9  # the first item has two lumps
    >>> rows = X.reshape(-1, 3)
    >>> g = Gaussians(X.mean(axis=1), X.var(axis=1), Items(list("abcdef")), [60] * 6, samples=rows)
    >>> found = find_senses(g)
    >>> bool(found.several[0]), np.bincount(found.parts[0]).tolist()
    (True, [30, 30])
    """
    if not isinstance(most, int | np.integer) or not 2 <= most <= 6:
        raise SettingsError(f"senses {most!r} is not possible; up to 2 to 6 can be told apart")
    if given.samples is None:
        raise DataError("senses need the vectors of single contexts; keep them with samples=True")
    n = len(given)
    clouds = [given.samples_of(item) for item in range(n)]
    # one occurrence of each passage: two of one sentence tell of each other, and would look like a lump
    once = [np.unique(given.passages_of(item), return_index=True)[1] for item in range(n)]
    tested = [item for item in range(n) if len(once[item]) >= LEAST]
    lumps, (gain, null, p) = np.ones(n, int), np.full((3, n), np.nan)
    from langscape.kernels.linear import one_blas_thread  # it loads Numba

    parts: dict[int, np.ndarray] = {}
    axes = _axes([clouds[item] for item in tested]) if tested else None
    for done, item in enumerate(tested):
        cloud = clouds[item]
        assert cloud is not None
        assert axes is not None
        with one_blas_thread():
            Z = (cloud - cloud.mean(axis=0)) @ axes
            apart = Z[once[item]] - Z[once[item]].mean(axis=0)
            rng = np.random.default_rng([seed, item, len(apart)])
            gains = {count: _gain(apart, count, rng) for count in range(2, most + 1)}
            best = max(gains, key=lambda count: gains[count])
            draws = [_gain(one, best, rng) for one in _one_cloud(apart, DRAWS, rng)]
            parts[item] = _by_size(_lumps(Z, best, rng, tries=8)[1])
        gain[item], null[item] = gains[best], np.mean(draws)
        p[item] = (1 + np.sum(np.array(draws) >= gains[best])) / (1 + DRAWS)
        lumps[item] = best if gains[best] > 0 else 1
        if progress is not None:
            progress(Step(done + 1, len(tested), "looking for lumps"))
    return Senses(given.labels, lumps, gain, null, p, parts)


def _axes(clouds: Sequence[np.ndarray | None]) -> np.ndarray:
    """(dim, axes): directions in which contexts of all items vary most, each divided by how far they do."""
    from langscape.kernels.linear import one_blas_thread

    with one_blas_thread():
        centred = [cloud - cloud.mean(axis=0) for cloud in clouds if cloud is not None]
        shared = sum(rows.T @ rows / len(rows) for rows in centred) / len(centred)
        values, vectors = np.linalg.eigh(shared)
    order = np.argsort(values)[::-1][:AXES]
    kept = order[values[order] > 1e-9 * max(float(values.max()), 1e-300)]
    return vectors[:, kept] / np.sqrt(values[kept])


def _one_cloud(Z: np.ndarray, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows drawn from one Gaussian, each time with exactly the mean and the covariance of the centred Z.

    Rows of a Gaussian may be turned among themselves by any rotation that keeps their mean. Were covariances
    drawn as well, their scatter would hide lumps that are far apart.
    """
    _, values, axes = np.linalg.svd(Z, full_matrices=False)
    kept = values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)
    shape = values[kept, None] * axes[kept]
    for _ in range(draws):
        turned = rng.normal(size=(len(Z), len(shape)))
        yield np.linalg.qr(turned - turned.mean(axis=0))[0] @ shape


def _gain(Z: np.ndarray, count: int, rng: np.random.Generator) -> float:
    """Nats per held-out row by which so many lumps are better than one; each half is held out once."""
    order = rng.permutation(len(Z))
    halves = Z[order[::2]], Z[order[1::2]]
    gains = []
    for seen, held in (halves, halves[::-1]):
        centre = seen.mean(axis=0)
        centres, labels = _lumps(seen, count, rng)
        sizes = np.bincount(labels, minlength=count)
        centres = (sizes[:, None] * centres + _SHRINK * centre) / (sizes[:, None] + _SHRINK)
        share = np.log((sizes + 1) / (sizes + 1).sum())
        several = _log_sum(share - 0.5 * _squares(held, centres))
        gains.append((several + 0.5 * ((held - centre) ** 2).sum(axis=1)).mean())
    return float(np.mean(gains))


def _lumps(
    Z: np.ndarray, count: int, rng: np.random.Generator, tries: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Centres of k means and the lump of each row: the best of a few starts, each far from the last."""
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for _ in range(tries):
        centres = Z[rng.integers(len(Z), size=1)]
        while len(centres) < count:
            far = _squares(Z, centres).min(axis=1)
            total = far.sum()
            chosen = rng.choice(len(Z), p=far / total) if total > 0 else rng.integers(len(Z))
            centres = np.concatenate([centres, Z[np.array([chosen])]])
        labels = np.full(len(Z), -1)
        for _ in range(30):
            new = _squares(Z, centres).argmin(axis=1)
            if (new == labels).all():
                break
            labels = new
            for lump in np.unique(labels):
                centres[lump] = Z[labels == lump].mean(axis=0)
        left = float(_squares(Z, centres).min(axis=1).sum())
        if best is None or left < best[0]:
            best = left, centres.copy(), labels
    assert best is not None
    return best[1], best[2]


def _by_size(labels: np.ndarray) -> np.ndarray:
    """The lumps renumbered, the largest first."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order, kind="stable")[labels]


def _squares(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    crossed = rows @ centres.T
    return np.maximum((rows**2).sum(axis=1)[:, None] - 2 * crossed + (centres**2).sum(axis=1), 0.0)


def _log_sum(values: np.ndarray) -> np.ndarray:
    top = values.max(axis=1)
    return top + np.log(np.exp(values - top[:, None]).sum(axis=1))
