"""The atlas of MiniLM: 72 heads over 180 tokens, 8 restarts × 1,000 steps each, page included.

`python -m bench.atlas` prints the parts for docs/heads.md. The model is open and kernels are compiled before
the clock starts; all cores work.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from langscape.analyses.atlas import make_atlas
from langscape.models import capture, get_model, open_model
from langscape.sources import samples
from langscape.views import write

TOKENS = 180
BAR = 15.0
"""Seconds on two cores that everything may take together."""


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.atlas", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the steps")
    steps = 100 if options.parse_args().quick else 1000
    get_model("default")
    model = open_model("default", device="cpu")
    ids = capture(model, samples.text("harbour"), ("hidden",), [0]).tokens.require_ids().tolist()
    ids = [*ids[: TOKENS - 1], ids[-1]]
    short = capture(model, ids[:40], ("attention",), [0])
    with tempfile.TemporaryDirectory() as folder:
        # compiles what is not in the cache, and imports what a page needs
        write(make_atlas(short, restarts=1, steps=20).view(), Path(folder) / "warm.html")
        parts: dict[str, float] = {}
        began = time.perf_counter()
        seen = capture(model, ids, ("attention",))
        parts["capture"] = time.perf_counter() - began
        made = make_atlas(seen, steps=steps)
        parts["maps, scores, groups"] = time.perf_counter() - began - sum(parts.values())
        page = write(made.view("Heads"), Path(folder) / "atlas.html")
        parts["page"] = time.perf_counter() - began - sum(parts.values())
        size = page.stat().st_size / 1e6
    whole = sum(parts.values())
    print(f"{len(made.maps)} heads, {len(ids)} tokens, 8 restarts × {steps} steps, {os.cpu_count()} cores")
    for name, seconds in parts.items():
        print(f"{name:<22} {seconds:6.2f} s")
    print(f"{'together':<22} {whole:6.2f} s  (bar {BAR:.0f} s), page {size:.1f} MB")


if __name__ == "__main__":
    main()
