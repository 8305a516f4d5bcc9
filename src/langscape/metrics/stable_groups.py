"""Groups of heads that come again on other texts: how many there are is chosen by that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from langscape.errors import DataError
from langscape.io.codec import noun

MOST = 12
"""Groups at most."""

AGREE = 0.9
"""The agreement (adjusted Rand index) between halves of the texts that groups need."""

_SPLITS = 20


@noun
@dataclass(frozen=True, eq=False)
class StableGroups:
    """Groups of heads, and the tree that they are cut from.

    group      (heads,) the number of each head's group, 0 the largest
    agreement  how well the groups of two halves of the texts agree, from 0 (chance) to 1; NaN where there
               are too few texts for halves
    recurrence (groups,) how much of each group comes again in half of the texts: the mean overlap (Jaccard)
    tried      numbers of groups with the agreement of each, (tried, 2)
    tree       (heads − 1, 4) the merges as scipy writes them: two branches, their distance, how many heads
    order      (heads,) heads from left to right under the tree
    """

    group: np.ndarray
    agreement: float
    recurrence: np.ndarray
    tried: np.ndarray
    tree: np.ndarray
    order: np.ndarray


def stable_groups(apart: np.ndarray, texts: np.ndarray, seed: int = 0, *, most: int = MOST) -> StableGroups:
    """The largest number of groups that halves of the texts agree on.

    apart  (folds, heads, heads) distances between heads added up over the texts of each fold
    texts  (folds,) how many texts each has

    Folds are dealt into halves twenty times, both are clustered (Ward’s linkage, which leaves few heads
    alone) and compared. Of the numbers of groups whose adjusted Rand index is at least 0.9 the largest is
    taken; where none is, the one that agrees best.
    """
    from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering

    apart, texts = np.asarray(apart, np.float64), np.asarray(texts, np.float64)
    if apart.ndim != 3 or apart.shape[1] != apart.shape[2] or len(apart) != len(texts) or not texts.sum():
        raise DataError(
            f"distances have shape {apart.shape}; expected (folds, heads, heads) with texts for each"
        )
    heads = apart.shape[1]
    if heads < 3:
        tree = _linked(apart.sum(axis=0) / texts.sum()) if heads == 2 else np.zeros((0, 4))
        group = np.zeros(heads, np.int64)
        return StableGroups(group, float("nan"), np.ones(1), np.zeros((0, 2)), tree, np.arange(heads))
    whole = apart.sum(axis=0) / texts.sum()
    tree = optimal_leaf_ordering(_linked(whole), _condensed(whole))
    counts = range(2, min(most, heads - 1) + 1)
    halves = _halves(apart, texts, seed)
    if halves:
        agreements = np.array([np.mean([_agree(*pair, count) for pair in halves]) for count in counts])
        good = np.flatnonzero(agreements >= AGREE)
        chosen = int(good[-1]) if len(good) else int(agreements.argmax())
        count, agreement = counts[chosen], float(agreements[chosen])
    else:
        agreements = np.full(len(counts), np.nan)
        count, agreement = min(4, heads - 1), float("nan")
    group = _cut(tree, count)
    recurrence = np.array([_recurrence(group == one, halves, count) for one in range(group.max() + 1)])
    tried = np.stack([np.array(counts, np.float64), agreements], axis=1)
    return StableGroups(group, agreement, recurrence, tried, tree, leaves_list(tree).astype(np.int64))


def adjusted_rand(one: np.ndarray, other: np.ndarray) -> float:
    """How well two partitions agree: 1 is the same, 0 what chance would give.

    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    n = len(one)
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    rows, columns, both = pairs(table.sum(axis=1)), pairs(table.sum(axis=0)), pairs(table)
    chance = rows * columns / (n * (n - 1) / 2)
    best = (rows + columns) / 2
    return 1.0 if best == chance else (both - chance) / (best - chance)


def _halves(apart: np.ndarray, texts: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Trees of two halves of the folds, dealt again and again; none where there are fewer than four folds."""
    folds = np.flatnonzero(texts > 0)
    if len(folds) < 4:
        return []
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(_SPLITS):
        mixed = rng.permutation(folds)
        halves = (mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :])
        trees = [_linked(apart[half].sum(axis=0) / texts[half].sum()) for half in halves]
        found.append((trees[0], trees[1]))
    return found


def _agree(one: np.ndarray, other: np.ndarray, count: int) -> float:
    return adjusted_rand(_cut(one, count), _cut(other, count))


def _recurrence(member: np.ndarray, halves: list[tuple[np.ndarray, np.ndarray]], count: int) -> float:
    """The mean overlap of a group with the one of each half that is most like it."""
    found = []
    for tree in (tree for pair in halves for tree in pair):
        group = _cut(tree, count)
        together = np.bincount(group, weights=member, minlength=count)
        found.append(
            float((together / (np.bincount(group, minlength=count) + member.sum() - together)).max())
        )
    return float(np.mean(found)) if found else float("nan")


def _linked(distances: np.ndarray) -> np.ndarray:
    from scipy.cluster.hierarchy import linkage

    return linkage(_condensed(distances), "ward")


def _condensed(distances: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import squareform

    return squareform((distances + distances.T) / 2, checks=False)


def _cut(tree: np.ndarray, count: int) -> np.ndarray:
    """(heads,) the groups under a cut into so many, numbered by size."""
    from scipy.cluster.hierarchy import fcluster

    found = fcluster(tree, count, "maxclust")
    _, number, sizes = np.unique(found, return_inverse=True, return_counts=True)
    place = np.empty(len(sizes), np.int64)
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return place[number]
