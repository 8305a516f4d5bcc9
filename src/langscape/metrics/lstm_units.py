"""After which words a unit of an LSTM is high and low, and how much of it the word just read tells.

The number of a unit says nothing. Over a text, its cell can be set against the word that was just read: the
share of the cell's variance that lies between words. Cells remember, and texts repeat themselves, so that any
series as smooth as a cell has such a share by chance; it is compared with that of the same words moved along
the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

WORDS = 3
"""Words that are named at either end."""

LEAST = 5
"""How often a word has to be read before anything is said of it."""

SHIFTS = 99
"""Shifts of the words along the text: a share above all of them has p = 0.01."""


class UnitWords(NamedTuple):
    """What the word just read tells of cells.

    after  numbers of the words after which a cell is highest, and lowest, on average,
           (2, layer, unit, `WORDS`); −1 where there are fewer
    told   share of its variance between words; the mean and the largest such share of shifted words,
           (3, layer, unit); NaN where there are too few words or the cell stands still
    """

    after: np.ndarray
    told: np.ndarray


def unit_words(cells: np.ndarray, ids: np.ndarray) -> UnitWords:
    """Cells (layer, step, unit) against the words that were read at the same steps."""
    layers, steps, units = cells.shape
    after = np.full((2, layers, units, WORDS), -1, np.int32)
    told = np.full((3, layers, units), np.nan, np.float32)
    known, place, counts = np.unique(ids, return_inverse=True, return_counts=True)
    often = np.flatnonzero(counts >= LEAST)
    if len(often) < 2 or steps <= SHIFTS:
        return UnitWords(after, told)
    number = np.full(len(known), -1)
    number[often] = np.arange(len(often))
    label = number[place]
    values = np.moveaxis(cells, 1, 0).reshape(steps, -1).astype(np.float64)
    means, share = _between(values, label, counts[often])
    count = min(WORDS, len(often))
    order = np.argsort(means, axis=0, kind="stable")
    for end, rows in enumerate((order[::-1][:count], order[:count])):
        after[end, :, :, :count] = known[often[rows]].T.reshape(layers, units, count)
    moved = [1 + shift * (steps - 1) // (SHIFTS + 1) for shift in range(1, SHIFTS + 1)]
    chance = np.stack([_between(values, np.roll(label, by), counts[often])[1] for by in moved])
    told[:] = np.stack([share, chance.mean(0), chance.max(0)]).reshape(3, layers, units)
    still = values.std(0).reshape(layers, units) < 1e-9
    after[:, still], told[:, still] = -1, np.nan
    return UnitWords(after, told)


def _between(values: np.ndarray, label: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean per word (word, column), and the share of variance between words, where a label is not −1."""
    seen = label >= 0
    kept = values[seen] - values[seen].mean(0)
    sums = np.zeros((len(counts), values.shape[1]))
    order = np.argsort(label[seen], kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    sums[:] = np.add.reduceat(kept[order], starts, axis=0)
    means = sums / counts[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        return means, (sums * means).sum(0) / (kept * kept).sum(0)
