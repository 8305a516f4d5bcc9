"""Maps of queries and keys against a picture that knows no query: five texts, special tokens or none.

    python -m papers.trust.query_key
    python -m papers.trust.query_key --model decoder --heads 6

A row per text and kind of map: each score, and in brackets what the picture without queries has (all
queries on one spot, keys ranked by the attention they get on average). On how many texts that picture has the
higher score stands below.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from bench.query_key_maps import texts

from langscape.affinity import heads_of
from langscape.analyses._query_key import map_head
from langscape.data import Capture
from langscape.metrics.null import Null
from langscape.metrics.scores import SCORES, applying
from langscape.models import collect_query_key, get_model, open_model


def names() -> list[str]:
    """The scores of a query–key map, as the registry has them."""
    return [score.name for score in applying("query-key map", computed=True)]


def measure(capture: Capture, special: str, by: str, heads: int) -> dict[str, tuple[float, Null]]:
    """Each score and its null, means over heads that are evenly taken."""
    every = heads_of(capture)
    at = np.unique(np.linspace(0, len(every) - 1, min(heads, len(every))).round().astype(int))
    how = {"by": by, "special": special}
    found = [
        map_head(capture, layer, head, how).quality for layer, head in (every[one] for one in at.tolist())
    ]
    return {
        name: (
            float(np.mean([one[name] for one in found])),
            Null.mean_of([Null.read(one, name) for one in found]),
        )
        for name in names()
        if all(name in one for one in found)
    }


def table(model: str, heads: int, given: dict[str, Sequence[str]] | None = None) -> list[str]:
    """The lines that are printed."""
    opened = open_model(model)
    given = dict(texts()) if given is None else given
    shown = names()
    lines = ["  ".join([f"{'text':<18}", "special", f"{'by':<9}", *(f"{name:>15}" for name in shown)])]
    every: dict[tuple[str, str], list[dict[str, tuple[float, Null]]]] = {}
    for name, listed in given.items():
        capture = collect_query_key(opened, list(listed))
        for special in ("drop", "keep"):
            for by in ("attention", "distance"):
                found = measure(capture, special, by, heads)
                every.setdefault((special, by), []).append(found)
                told = [f"{found[one][0]:>6.3f} ({found[one][1].mean:6.3f})" for one in shown]
                lines.append("  ".join([f"{name:<18}", f"{special:<7}", f"{by:<9}", *told]))
    for (special, by), rows in every.items():
        lines.append(f"special {special}, by {by}, {len(rows)} texts:")
        for one in shown:
            value = float(np.mean([row[one][0] for row in rows]))
            null = Null.mean_of([row[one][1] for row in rows])
            beaten = sum(row[one][1].mean > row[one][0] for row in rows)
            lines.append(
                f"  {one:<15} {value:.3f}, {SCORES[one].in_words(value, null)} ({null.mean:.3f}); blind "
                f"higher on {beaten} of {len(rows)}"
            )
    return lines


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--model", default="default")
    options.add_argument("--heads", type=int, default=18, help="heads, evenly over all of them")
    asked = options.parse_args()
    get_model(asked.model)
    print("\n".join(table(asked.model, asked.heads)))


if __name__ == "__main__":
    main()
