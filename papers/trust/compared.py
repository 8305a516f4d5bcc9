"""How many neighbours tell what changed between two maps? Restarts with some items dealt anew.

    python -m papers.trust.compared
    python -m papers.trust.compared --deals 50 --items 12 28

The second map is another restart of the first one's data in which a fifth of the items have changed places
among themselves. A row per number of items: the chance that an item that was dealt shares fewer of its k
nearest than one that was not (the area under the curve; one half is guessing, and equal shares count half),
for each k, over maps of heads, hidden states and words. Below it, the share of neighbours that the dealt
items and the others have in common.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import rankdata

from langscape import metrics
from langscape.analyses.head import head
from langscape.analyses.hidden import hidden
from langscape.analyses.words import words
from langscape.sources import samples

ITEMS = (12, 28, 60, 200, 2000)
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 15)
HEADS = ((1, 8), (2, 1), (3, 10), (4, 5))
DEALT = 0.2


def pairs(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two restarts of the same data, of n items."""
    if n > 500:
        one, other = (words(samples.words(), limit=n, perplexity=20.0, seed=seed).xy for seed in (0, 1))
        yield one, other
        return
    names = ("harbour", "valley") if n > 100 else ("harbour",)
    text = " ".join(samples.text(name) for name in names)
    how: dict[str, Any] = {"restarts": 2, "first_tokens": n + 2}
    seeds = (0, 10)
    for layer, number in HEADS:
        made = [map_of_head(text, layer, number, seed=seed, **how) for seed in seeds]
        yield made[0], made[1]
    how["perplexity"] = min(20.0, (n - 1) / 3)
    for layer in (1, 3, 6):
        one, other = (hidden("default", text, layer=layer, seed=seed, **how).xy for seed in seeds)
        yield one, other


def map_of_head(text: str, layer: int, number: int, **how: Any) -> np.ndarray:
    """The places of a text's tokens on the map of a head."""
    made = head("default", text, layer=layer, head=number, sinks="keep", **how).map
    assert made is not None
    return made.xy


def told(one: np.ndarray, other: np.ndarray, k: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """How well k neighbours tell what was dealt, and what dealt items and others share."""
    n = len(one)
    chosen = rng.choice(n, max(2, round(DEALT * n)), replace=False)
    place = np.arange(n)
    place[chosen] = np.roll(chosen, 1)
    space = metrics.vectors(one.astype(np.float32))
    shared = metrics.local(space, other[place].astype(np.float32), k).everywhere()
    dealt = np.isin(np.arange(n), chosen)
    ranks = rankdata(-shared)
    above = ranks[dealt].sum() - dealt.sum() * (dealt.sum() + 1) / 2
    return above / (dealt.sum() * (~dealt).sum()), shared[dealt].mean(), shared[~dealt].mean()


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--deals", type=int, default=30, help="how often each pair of maps is dealt anew")
    parser.add_argument("--items", type=int, nargs="+", default=ITEMS, help="numbers of items")
    asked = parser.parse_args(arguments)
    print("| items | " + " | ".join(f"k = {k}" for k in NUMBERS) + " |")
    print("|---" * (len(NUMBERS) + 1) + "|")
    for n in asked.items:
        found = list(pairs(n))
        cells = []
        for k in NUMBERS:
            if k > (n - 1) // 2:
                cells.append("–")
                continue
            rng = np.random.default_rng(0)
            deals = asked.deals if n < 500 else max(3, asked.deals // 6)
            each = np.mean([told(one, other, k, rng) for one, other in found for _ in range(deals)], axis=0)
            cells.append(f"{each[0]:.3f} ({100 * each[1]:.0f}, {100 * each[2]:.0f} %)")
        print(f"| {len(found[0][0])} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
