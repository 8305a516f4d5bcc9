"""Insertion: many words at once against one at a time and against t-SNE again; landmarks against a full map.

`python -m bench.insertion` prints two tables for docs/words.md. CPU seconds, real GloVe vectors.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.data import word_vectors
from langscape import Schedule, affinity, embed, insert, metrics
from langscape.kernels import plain  # noqa: F401  sets the cache of compiled kernels


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def one_in_python(xy: np.ndarray, unit: np.ndarray, x: np.ndarray, neighbours: int = 10) -> np.ndarray:
    """What a user would write: cosine, the ten most similar, Weiszfeld in NumPy, one word at a time."""
    s = unit @ (x / np.linalg.norm(x))
    near = np.argpartition(-s, neighbours)[:neighbours]
    scaled = (1 + s[near]) / 2
    scaled = scaled / scaled.max()
    w = scaled ** (np.log(0.05) / np.log(scaled.min()))
    Y = xy[near].astype(float)
    z = (w[:, None] * Y).sum(0) / w.sum()
    for _ in range(1000):
        d = np.maximum(np.linalg.norm(Y - z, axis=1), 1e-9)
        step = ((w / d)[:, None] * Y).sum(0) / (w / d).sum()
        if np.abs(step - z).max() < 1e-6 * np.abs(Y).max():
            break
        z = step
    return z


def many_at_once(size: int, new: int) -> None:
    X = word_vectors(size + new)
    base, cpu, _ = timed(
        lambda: embed(affinity.points(X[:size], 30), schedule=Schedule(steps=750), quality=False)
    )
    placed, ours, wall = timed(lambda: insert(base, X[size:], keep_vectors=False))
    unit = X[:size] / np.linalg.norm(X[:size], axis=1, keepdims=True)
    few = 200
    _, alone, _ = timed(lambda: [one_in_python(base.xy, unit, x) for x in X[size : size + few]])
    _, again, _ = timed(lambda: embed(affinity.points(X, 30), schedule=Schedule(steps=750), quality=False))
    print(f"{new:,} words into a map of {size:,} (made in {cpu:.1f} s): {ours:.1f} s CPU, {wall:.1f} s wall")
    alone *= new / few
    print(f"one at a time in Python: {alone:.0f} s, {alone / ours:.0f} x ours (from {few} words)")
    print(f"t-SNE of everything again: {again:.0f} s, {again / ours:.1f} x ours")
    print(f"per word {1e3 * ours / new:.3f} ms; t-SNE again for one word {again / (ours / new):,.0f} x ours")
    quality = placed.quality
    print(f"inserted: local {quality['inserted_local']:.3f}, global {quality['inserted_global']:.3f}")


def landmarks(size: int, count: int) -> None:
    X = word_vectors(size)
    rows = np.sort(np.random.default_rng(1).choice(size, 2000, replace=False))

    def figures(xy: np.ndarray) -> str:
        near = metrics.local(X, xy, 10, rows=rows).mean
        wide = metrics.local(X, xy, 50, rows=rows).mean
        return f"{100 * near:.1f} | {100 * wide:.1f} | {metrics.global_(X, xy, rows=rows).mean:.3f}"

    print("\n| | CPU s | 10-NN % | 50-NN % | global |\n| --- | ---: | ---: | ---: | ---: |")
    full, cpu, _ = timed(lambda: embed(affinity.points(X, 30), schedule=Schedule(steps=750), quality=False))
    print(f"| full map of {size:,} | {cpu:.0f} | {figures(full.xy)} |")
    for sample in ("frequency", "random"):
        for method in ("median", "optimise"):
            rng = np.random.default_rng(0)
            order = np.arange(size) if sample == "frequency" else rng.permutation(size)
            first, rest = np.sort(order[:count]), np.sort(order[count:])

            def work(first: np.ndarray = first, rest: np.ndarray = rest, method: Any = method) -> np.ndarray:
                base = embed(affinity.points(X[first], 30), schedule=Schedule(steps=750), quality=False)
                grown = insert(base, X[rest], method=method, keep_vectors=False)
                xy = np.empty((size, 2), np.float32)
                xy[np.concatenate([first, rest])] = grown.xy
                return xy

            xy, cpu, _ = timed(work)
            print(f"| {count:,} landmarks, {sample}, {method} | {cpu:.0f} | {figures(xy)} |")
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.insertion", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    part = 10 if options.parse_args().quick else 1
    many_at_once(20_000 // part, 100_000 // part)
    landmarks(50_000 // part, 20_000 // part)


if __name__ == "__main__":
    main()
