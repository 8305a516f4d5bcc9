"""How well next words are foretold: by a network, and by counts that it should beat."""

from __future__ import annotations

import math

import numpy as np
import torch

from langscape.errors import DataError
from langscape.models.lstm import Network


def perplexity(network: Network, ids: np.ndarray, *, window: int = 512) -> float:
    """e to the mean surprise, in nats, of every word after the first, read as one text."""
    if len(ids) < 2:
        raise DataError(f"perplexity needs at least 2 words, and there are {len(ids)}")
    rows = torch.from_numpy(np.asarray(ids, np.int64))
    total, state = 0.0, None
    with torch.no_grad():
        for at in range(0, len(rows) - 1, window):
            targets = rows[at + 1 : at + 1 + window]
            logits, state = network(rows[None, at : at + len(targets)], state)
            total += float(torch.nn.functional.cross_entropy(logits[0].double(), targets, reduction="sum"))
    mean = total / (len(rows) - 1)
    return math.exp(mean) if mean < 700 else math.inf


def baselines(train: np.ndarray, test: np.ndarray, words: int) -> dict[str, float]:
    """Held-out perplexity of word counts (add one) and of pairs (Kneser–Ney, discount 0.75)."""
    counts = np.bincount(train, minlength=words).astype(np.float64)
    unigram = (counts + 1) / (counts.sum() + words)
    pairs, times = np.unique(train[:-1] * words + train[1:], return_counts=True)
    before, after = pairs // words, pairs % words
    # Kneser–Ney backs off to how many different words come before a word, not to how often it stands
    breadth = np.bincount(after, minlength=words) + 1.0
    breadth /= breadth.sum()
    first = np.bincount(train[:-1], minlength=words).astype(np.float64)
    kinds = np.bincount(before, minlength=words).astype(np.float64)
    asked = test[:-1] * words + test[1:]
    at = np.minimum(np.searchsorted(pairs, asked), len(pairs) - 1)
    seen = np.where(pairs[at] == asked, times[at], 0).astype(np.float64)
    a, b = test[:-1], test[1:]
    known = np.maximum(first[a], 1)
    rest = np.where(first[a] > 0, 0.75 * kinds[a] / known, 1.0)
    bigram = np.maximum(seen - 0.75, 0) / known + rest * breadth[b]
    return {
        "unigram": float(np.exp(-np.log(unigram[b]).mean())),
        "bigram": float(np.exp(-np.log(bigram).mean())),
    }
