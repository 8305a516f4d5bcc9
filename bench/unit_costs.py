"""What one of each costs on one core of this machine, and what very many of them would take.

    python bench/unit_costs.py

Times are CPU seconds of one thread, the best of three, so that they can be multiplied; a sweep's
efficiency is measured apart (`sweep_scaling.py`). `docs/scale.md` shows the table this prints.
"""

from __future__ import annotations

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

import shutil  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

from langscape import affinity  # noqa: E402
from langscape.analyses._packed_vectors import pack  # noqa: E402
from langscape.engine import Schedule, embed_many  # noqa: E402
from langscape.engine.insert import place  # noqa: E402
from langscape.engine.weighting import Insertion  # noqa: E402
from langscape.execution.sweep import Sweep  # noqa: E402
from langscape.store.recipe import Recipe  # noqa: E402
from langscape.store.store import Store  # noqa: E402
from sweep_scaling import spin  # noqa: E402, F401


def placing(dim: int, landmarks: int = 20_000, words: int = 20_000) -> float:
    """Seconds to place one word, its quality figures included; blends of the sample's words, on a PCA map."""
    from langscape.kernels.linear import principal_axes
    from langscape.sources import samples

    rng = np.random.default_rng(0)
    sample = samples.words().matrix
    blend = sample[rng.integers(0, len(sample), (landmarks + words, 3))].mean(1)
    turned = blend @ rng.normal(0, dim**-0.5, (blend.shape[1], dim))
    X = (turned + rng.normal(0, 0.15, turned.shape)).astype(np.float32)
    known, new = X[:landmarks], X[landmarks:]
    xy = principal_axes(known, 2)[0].astype(np.float32)
    place(xy, known, new[:64], Insertion(), threshold=0.0)
    return best(lambda: place(xy, known, new, Insertion(), threshold=0.0)) / words


def packing(folder: Path, rows: int = 100_000, dim: int = 100) -> float:
    """Seconds to pack one vector of a word2vec binary file."""
    from bulk_insertion import write_words

    write_words(folder / "v.bin", rows)
    return best(lambda: pack(folder / "v.bin", folder / "v.safetensors")) / rows


def head(tokens: int, runs: int = 24) -> float:
    """Seconds of one t-SNE of a head over so many tokens, 1000 steps."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (tokens, tokens)) - 0.05 * np.abs(
        np.subtract.outer(range(tokens), range(tokens))
    )
    attention = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    P = affinity.precomputed(attention)
    schedule = Schedule(steps=1000)
    embed_many([P], schedule=Schedule(steps=300), restarts=2)
    return best(lambda: embed_many([P], initial="random", schedule=schedule, restarts=runs)) / runs


def keeping(folder: Path, tasks: int = 1000) -> tuple[float, float, float]:
    """CPU seconds of naming, storing and reporting one small result; its bytes in results and records."""
    recipes = {str(n): Recipe("bench.spin", {"n": n}) for n in range(tasks)}
    store = Store(folder / "store")
    began = time.process_time()
    Sweep(recipes, store=store).run(workers=0)
    seconds = (time.process_time() - began) / tasks
    blocks = sum(path.stat().st_blocks * 512 for path in (store.root / "results").rglob("*.json"))
    store.index.close()
    records = sum(path.stat().st_size for path in (store.root / "records").rglob("*.json"))
    return seconds, blocks / tasks, records / tasks


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="langscape-bench-"))
    try:
        place100, place300 = placing(100), placing(300)
        pack100 = packing(folder)
        short, long = head(180), head(512, runs=6)
        kept, label, index = keeping(folder)
    finally:
        shutil.rmtree(folder)
    print("| one of these | costs |\n|---|---|")
    print(f"| placing a word, 100 dimensions, on a map of 20,000 | {1e3 * place100:.2f} ms |")
    print(f"| the same, 300 dimensions | {1e3 * place300:.2f} ms |")
    print(f"| packing a vector of 100 numbers | {1e6 * pack100:.1f} µs |")
    print(f"| a t-SNE of a head, 180 tokens, 1000 steps | {1e3 * short:.1f} ms |")
    print(f"| the same, 512 tokens | {1e3 * long:.0f} ms |")
    print(f"| naming, storing and reporting a task | {1e3 * kept:.2f} ms |")
    print(f"| a small result on the disk | {label / 1000:.1f} kB, and {index:.0f} bytes in the index |")
    print("\n| very many | tasks | CPU hours | on 2 cores | on 100 cores |\n|---|---|---|---|---|")
    row("10 million words × 300 on a map of 20,000", 500, 1e7 * (place300 + 3 * pack100))
    row("5,120 heads × 100 restarts, 180 tokens", 5120, 512_000 * short)
    row("5,120 heads × 100 restarts, 512 tokens", 5120, 512_000 * long)
    row("10⁶ texts × 72 heads × 1 run, 180 tokens", 100_000, 72e6 * short)
    row("10⁶ small results, one task each: the sweep's own cost", 1_000_000, 1e6 * kept)


def row(what: str, tasks: int, seconds: float) -> None:
    print(f"| {what} | {tasks:,} | {seconds / 3600:,.1f} | {clock(seconds / 2)} | {clock(seconds / 100)} |")


def clock(seconds: float) -> str:
    for length, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def best(call: Callable[[], object], repeats: int = 3) -> float:
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return min(taken)


if __name__ == "__main__":
    main()
