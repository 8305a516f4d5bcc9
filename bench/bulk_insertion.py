"""A million words onto a map of 20,000, through Dask with two workers: wall time, memory, rows.

    python bench/bulk_insertion.py [--words 1000000] [--landmarks 20000] [--workers 2] [--cluster local]

The vectors are mixtures of the packaged sample's: each word a blend of three sample words with noise,
so that every one has neighbours. They are written as a word2vec binary file, then nothing but paths
is handed on. Memory is the most that any process held, seen every 50 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from langscape.analyses.insert import insertion
from langscape.store.recipe import Recipe
from langscape.store.store import Store


def write_words(path: Path, count: int) -> None:
    """A word2vec binary file of blended words."""
    from langscape.sources import samples

    known = samples.words().matrix
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(b"%d %d\n" % (count, known.shape[1]))
        for first in range(0, count, 50_000):
            rows = min(50_000, count - first)
            picks = rng.integers(0, len(known), (rows, 3))
            shares = rng.dirichlet((4.0, 1.0, 1.0), rows)[:, :, None]
            noise = rng.normal(0, 0.15, (rows, known.shape[1]))
            blended = ((known[picks] * shares).sum(1) + noise).astype("<f4")
            file.writelines(b"word%d " % (first + i) + row.tobytes() for i, row in enumerate(blended))


class Watch:
    """The most bytes held by this process and by any child; and the CPU time of all children."""

    def __init__(self) -> None:
        self.own = self.child = 0
        self._cpu: dict[int, float] = {}
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    @property
    def cpu(self) -> float:
        return sum(self._cpu.values())

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._over.wait(0.05):
            self.own = max(self.own, me.memory_info().rss)
            for child in me.children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    self.child = max(self.child, child.memory_info().rss)
                    times = child.cpu_times()
                    self._cpu[child.pid] = times.user + times.system


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--words", type=int, default=1_000_000)
    read.add_argument("--landmarks", type=int, default=20_000)
    read.add_argument("--workers", type=int, default=2)
    read.add_argument("--cluster", default="local", help="local, tcp://…, or none for local processes")
    args = read.parse_args()
    cluster = None if args.cluster == "none" else args.cluster
    folder = Path(tempfile.mkdtemp(prefix="langscape-bench-"))
    try:
        vectors, store = folder / "words.bin", Store(folder / "store")
        write_words(vectors, args.words)
        print(f"{args.words:,} words, {vectors.stat().st_size / 1e6:.0f} MB of vectors\n")
        print("| part | seconds | figure |\n|---|---|---|")
        settings = {"limit": args.landmarks, "steps": 750}
        base = Recipe("words", settings, {"vectors": vectors})
        began = time.perf_counter()
        quality = store.run(base).quality
        print(f"| map of {args.landmarks:,} | {_since(began)} | {_figures(quality)} |", flush=True)
        watch, began = Watch(), time.perf_counter()
        sweep = insertion(base, vectors, store=store)
        print(f"| packing the vectors | {_since(began)} | {_megabytes(watch.own)} |", flush=True)
        began = time.perf_counter()
        report = sweep.run(workers=args.workers, cluster=cluster)
        if report.failed:
            raise SystemExit(f"{len(report.failed)} parts failed: {next(iter(report.failed.values()))}")
        taken = time.perf_counter() - began
        rate = args.words / taken
        parts = f"{args.workers} workers, {report.total} parts"
        busy = f"{watch.cpu:.0f} s of CPU"
        print(f"| inserting, {parts} | {taken:.1f} | {rate:,.0f} words a second, {busy} |", flush=True)
        began = time.perf_counter()
        out = sweep.dataset(folder / "placed")
        watch.stop()
        import duckdb

        asked = f"select count(*), avg(local), count(distinct label) from '{out}/*.parquet'"
        rows = duckdb.sql(asked).fetchall()[0]
        size = sum(part.stat().st_size for part in out.iterdir())
        print(f"| one Parquet dataset | {_since(began)} | {rows[0]:,} rows, {size / 1e6:.0f} MB |")
        print(
            f"| most memory | | each worker {_megabytes(watch.child)}, the parent {_megabytes(watch.own)} |"
        )
        if not rows[0] == rows[2] == args.words:
            raise SystemExit(f"{rows[0]:,} rows of {rows[2]:,} words, expected {args.words:,} of each")
        store.index.close()
    finally:
        shutil.rmtree(folder)


def _since(began: float) -> str:
    return f"{time.perf_counter() - began:.1f}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


def _figures(quality: object) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in dict(quality).items() if "±" not in name)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
