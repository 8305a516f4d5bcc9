"""All 72 heads of MiniLM over 2,000 tokens, 4,000 points each: the chain behind `langscape query-key-grid`.

    python bench/query_key.py
    python bench/query_key.py --tokens 500 --workers 1 --by distance

Prints the seconds of each part, in a store of its own, so that nothing is answered from an earlier run; and
the CPU seconds of this process and its workers, which say the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time

import numpy as np

from langscape.affinity import heads_of, strongest_keys
from langscape.analyses._query_key import maps_of, query_key_collect, workers_while_reading
from langscape.declarations.running import using
from langscape.models import get_model
from langscape.store import Store
from langscape.views import query_key, write


def main() -> None:
    """Run the chain once and print where its time went."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tokens", type=int, default=2000)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--by", default="attention", choices=["attention", "distance"])
    options.add_argument("--special", default="drop", choices=["keep", "drop"])
    options.add_argument("--model", default="default")
    asked = options.parse_args()
    get_model(asked.model)
    with tempfile.TemporaryDirectory(prefix="langscape-bench-") as folder, using(Store(folder)):
        store = Store(folder)
        began = time.perf_counter()
        reading = {"model": asked.model, "tokens": asked.tokens}
        with workers_while_reading(reading, asked.workers):
            capture = query_key_collect(**reading)
            read = time.perf_counter()
            heads = heads_of(capture)
            settings = {"by": asked.by, "special": asked.special}
            wanted = [{**settings, "layer": layer, "head": head} for layer, head in heads]
            maps = maps_of(capture, reading, wanted, title="query–key maps", workers=asked.workers)
        mapped = time.perf_counter()
        strongest = strongest_keys(capture, heads, special=asked.special)
        write(query_key(strongest, dict(zip(heads, maps, strict=True))), f"{folder}/all.png")
        drawn = time.perf_counter()
        each = [entry.seconds for entry in store.entries() if entry.recipe.get("step") == "query_key.map"]
    figures = {
        "tokens": len(capture.tokens),
        "points": len(maps[0]),
        "heads": len(heads),
        "reading s": round(read - began, 1),
        "maps s": round(mapped - read, 1),
        "a map s": round(float(np.median(each)), 2),
        "picture s": round(drawn - mapped, 1),
        "all s": round(drawn - began, 1),
        "all, CPU s": round(_cpu(), 1),
        "order": round(float(np.mean([one.quality["order"] for one in maps])), 3),
        "strongest": round(float(np.mean([one.quality["strongest"] for one in maps])), 3),
        "anywhere": round(float(np.mean([one.quality["anywhere"] for one in maps])), 3),
    }
    print(json.dumps(figures, indent=1))


def _cpu() -> float:
    """CPU seconds of this process and of its workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
