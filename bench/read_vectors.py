"""Reading word vectors, ours beside gensim's: time, ratio and peak memory, every run in a process of its own.

    python bench/read_vectors.py [--rows 100000] [--dim 300] [--repeats 3]

Rows are random numbers with six digits, as in published files. "600 words" picks them out of the
whole file; gensim has no such call and reads everything.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

READ = """
import json, resource, sys, time
kind, path, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
binary = path.endswith(".bin")
if kind == "gensim":
    from gensim.models import KeyedVectors
    start, cpu = time.perf_counter(), time.process_time()
    KeyedVectors.load_word2vec_format(path, binary=binary)
else:
    from langscape.sources import read_vectors
    import langscape.sources.float_parser
    chosen = [f"word_{i * (rows // 600)}" for i in range(600)] if kind == "600 words" else None
    start, cpu = time.perf_counter(), time.process_time()
    read_vectors(path, chosen)
print(json.dumps([time.perf_counter() - start, time.process_time() - cpu,
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3]))
"""


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--dim", type=int, default=300)
    options.add_argument("--repeats", type=int, default=3)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = make(Path(folder), asked.rows, asked.dim)
        print(f"{asked.rows:,} × {asked.dim}, medians of {asked.repeats}")
        print(f"  {'':10} wall s   CPU s peak MB  times gensim's speed, by CPU")
        for path in files:
            compare(path, asked.rows, asked.repeats)


def make(folder: Path, rows: int, dim: int) -> list[Path]:
    binary, text = folder / "vectors.bin", folder / "vectors.txt"
    rng = np.random.default_rng(0)
    with binary.open("wb") as b, text.open("w") as t:
        b.write(b"%d %d\n" % (rows, dim))
        t.write(f"{rows} {dim}\n")
        for start in range(0, rows, 1000):
            block = rng.normal(size=(min(1000, rows - start), dim)).round(6).astype("<f4")
            for i, row in enumerate(block, start):
                b.write(b"word_%d " % i + row.tobytes())
            t.writelines(f"word_{i} {' '.join(map(str, row))}\n" for i, row in enumerate(block, start))
    return [binary, text]


def compare(path: Path, rows: int, repeats: int) -> None:
    kinds = ("gensim", "all", "600 words")
    runs: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
    for _ in range(repeats):  # alternated, since the machine's speed drifts
        for kind in kinds:
            command = [sys.executable, "-c", READ, kind, str(path), str(rows)]
            runs[kind].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    medians = {
        kind: [statistics.median(column) for column in zip(*made, strict=True)] for kind, made in runs.items()
    }
    print(f"{path.suffix[1:]}, {path.stat().st_size / 1e6:.0f} MB")
    for kind in kinds:
        wall, cpu, memory = medians[kind]
        print(f"  {kind:10} {wall:7.2f} {cpu:7.2f} {memory:7.0f} {medians['gensim'][1] / cpu:6.1f}")


if __name__ == "__main__":
    main()
