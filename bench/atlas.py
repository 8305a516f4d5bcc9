"""The atlas of MiniLM: 72 heads over 180 tokens, 8 restarts × 1,000 steps each, page included.

`python -m bench.atlas` prints the parts for docs/heads.md: seconds on the clock and of all cores together,
medians of several rounds. `--tokens 512` is the longest text that MiniLM reads; `--against` runs restarts to
the end beside it, in the same process, which is how the ratio of both is told on a busy machine. The model is
open and kernels are compiled before the clock starts; all cores work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from langscape.analyses._restarts import embed_best, embed_restarts, head_schedules
from langscape.analyses.atlas import Atlas, _keys, _mappable, _problems, make_atlas
from langscape.data import Capture
from langscape.models import capture, get_model, open_model
from langscape.sources import samples
from langscape.views import write

BARS = {180: 2.0, 512: 30.0}
"""Seconds on two idle cores that everything may take together, by the number of tokens."""

RESTARTS = 8

OTHER_SEED = 100
"""Where the seeds begin of restarts that show how much chance alone changes the KL."""


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.atlas", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the steps, once")
    options.add_argument("--tokens", type=int, default=180)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--against", action="store_true", help="run restarts to the end too, and compare KL")
    asked = options.parse_args()
    steps, rounds = (100, 1) if asked.quick else (1000, asked.rounds)
    get_model("default")
    model = open_model("default", device="cpu")
    ids = _ids(model, asked.tokens)
    # compiles what is not in the cache, and imports what a page needs
    with tempfile.TemporaryDirectory() as folder:
        short = capture(model, ids[:40], ("attention",), [0])
        write(make_atlas(short, restarts=2, steps=20).view(), Path(folder) / "warm.html")
        page = Path(folder) / "atlas.html"
        parts: dict[str, list[tuple[float, float]]] = {}
        for _ in range(rounds):
            seen = _timed(parts, "capture", lambda: capture(model, ids, ("attention",)))
            made = _timed(parts, "maps, scores, groups", partial(make_atlas, seen, steps=steps))
            _timed(parts, "page", partial(_write, made, page))
        size = page.stat().st_size / 1e6
    print(f"{len(made.maps)} heads, {len(ids)} tokens, {RESTARTS} restarts × {steps} steps")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; medians of {rounds}")
    for name, rows in parts.items():
        print(f"{name:<22} {_median(rows, 0):6.2f} s, {_median(rows, 1):6.2f} s of all cores")
    sums = [tuple(map(sum, zip(*one, strict=True))) for one in zip(*parts.values(), strict=True)]
    whole = f"{_median(sums, 0):6.2f} s, {_median(sums, 1):6.2f} s of all cores"
    bar = f" (bar {BARS[len(ids)]:.0f} s on idle cores)" if len(ids) in BARS else ""
    print(f"{'together':<22} {whole}{bar}; page {size:.1f} MB")
    if asked.against:
        _against(seen, steps)


def _write(made: Atlas, page: Path) -> None:
    write(made.view("Heads"), page)


def _ids(model: Any, tokens: int) -> list[int]:
    """So many tokens of the sample texts, with the special ones at both ends."""
    text = "\n".join(samples.text(name) for name in ("harbour", "orchard", "pattern") * 2)
    ids = capture(model, text, ("hidden",), [0], long="start").tokens.require_ids().tolist()
    return [*ids[: tokens - 1], ids[-1]]


def _against(seen: Capture, steps: int) -> None:
    """The same restarts, all run to the end: their time, and how much lower or higher their KL is."""
    held = seen.attention(None)
    problems = [one.affinities for one in _problems(seen, None, _keys(held), "drop", "drop")[0]]
    n = _mappable(held, "drop")
    parts: dict[str, list[tuple[float, float]]] = {}
    short = _timed(parts, "the best goes on", lambda: embed_best(problems, n, RESTARTS, steps))[1]
    long = _timed(
        parts, "all to the end", lambda: embed_restarts(problems, RESTARTS, head_schedules(n, steps))
    )[1]
    for name, rows in parts.items():
        print(f"{name:<22} {_median(rows, 0):6.2f} s, {_median(rows, 1):6.2f} s of all cores")
    again = embed_restarts(problems, RESTARTS, head_schedules(n, steps), seed=OTHER_SEED)[1]
    print(f"mean KL of {len(problems)} heads, all to the end: {long['kl'].mean():.4f}")
    for name, figures in (("the best goes on", short), ("other seeds, to the end", again)):
        change = 100 * (figures["kl"] / long["kl"] - 1)
        print(
            f"{name:<24} {figures['kl'].mean():.4f}; more than 1 % higher {(change > 1).sum()}, lower "
            f"{(change < -1).sum()}, from {change.min():+.1f} to {change.max():+.1f} %"
        )


def _timed(parts: dict[str, list[tuple[float, float]]], name: str, work: Callable[[], Any]) -> Any:
    began, busy = time.perf_counter(), time.process_time()
    found = work()
    parts.setdefault(name, []).append((time.perf_counter() - began, time.process_time() - busy))
    return found


def _median(rows: list[tuple[float, ...]], at: int) -> float:
    return statistics.median(row[at] for row in rows)


if __name__ == "__main__":
    main()
