"""Insertion: many words at once against one at a time and against t-SNE again; landmarks against a full map.

`python -m bench.insertion --peer` prints two tables for docs/words.md. CPU seconds of one thread, real GloVe
vectors.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from bench.data import word_vectors
from langscape import Schedule, affinity, embed, metrics
from langscape.engine import insert
from langscape.kernels.neighbours import nearest_to


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
    w = scaled ** (np.log(0.3) / np.log(scaled.min()))
    Y = xy[near].astype(float)
    z = (w[:, None] * Y).sum(0) / w.sum()
    for _ in range(1000):
        d = np.maximum(np.linalg.norm(Y - z, axis=1), 1e-9)
        step = ((w / d)[:, None] * Y).sum(0) / (w / d).sum()
        if np.abs(step - z).max() < 1e-6 * np.abs(Y).max():
            break
        z = step
    return z


def judged_in_python(
    xy: np.ndarray, known: np.ndarray, squares: np.ndarray, x: np.ndarray, z: np.ndarray
) -> tuple[float, float]:
    """And how a user would judge it: 10 nearest in both spaces, rank correlation with 500 items, no ties."""
    far, on_map = squares - 2 * (known @ x), ((xy - z) ** 2).sum(1)
    both = np.intersect1d(np.argpartition(far, 10)[:10], np.argpartition(on_map, 10)[:10])
    against = np.linspace(0, len(xy) - 1, 500).astype(int)
    ranks = [np.argsort(np.argsort(distances[against])) for distances in (far, on_map)]
    return len(both) / 10, float(np.corrcoef(ranks)[0, 1])


def many_at_once(size: int, new: int, peer: bool) -> None:
    """One call for all, with and without figures, against what else puts the same words on a map.

    Those that judge nothing are held against the call without figures.
    """
    X = word_vectors(size + new)
    base = embed(affinity.points(X[:size], 30), schedule=Schedule(steps=750, early_steps=250), quality=False)
    insert(base, X[size : size + 10])  # kernels are loaded
    placed, ours, _ = timed(lambda: insert(base, X[size:], keep_vectors=False, quality=False))
    judged, full, _ = timed(lambda: insert(base, X[size:], keep_vectors=False))
    recall = placed.settings["insertion"].get("recall", 1.0)
    print(f"{new:,} words onto a map of {size:,}, 100 dimensions; {recall:.3f} of the ten nearest found\n")
    print("| | CPU s | ms a word | × one call |\n| --- | ---: | ---: | ---: |")

    def row(name: str, seconds: float, than: float = ours) -> None:
        print(f"| {name} | {seconds:,.1f} | {1e3 * seconds / new:.3f} | {seconds / than:,.1f} |", flush=True)

    row("`insert`, one call, places only", ours)
    unit = X[:size] / np.linalg.norm(X[:size], axis=1, keepdims=True)
    few = X[size : size + 200]
    _, numpy_s, _ = timed(lambda: [one_in_python(base.xy, unit, x) for x in few])
    row("plain NumPy, one at a time*", numpy_s * new / len(few))
    alone = X[size : size + 30]
    _, calls, _ = timed(lambda: [insert(base, x, keep_vectors=False, quality=False) for x in alone])
    row("`insert`, one at a time*", calls * new / len(alone))
    row("`insert`, one call, each word judged", full, full)
    squares = (X[:size] ** 2).sum(1)
    _, extra, _ = timed(
        lambda: [
            judged_in_python(base.xy, X[:size], squares, x, one_in_python(base.xy, unit, x)) for x in few
        ]
    )
    row("plain NumPy, one at a time, each judged*", extra * new / len(few), full)
    _, calls, _ = timed(lambda: [insert(base, x, keep_vectors=False) for x in alone])
    row("`insert`, one at a time, each judged*", calls * new / len(alone), full)
    _, exact, _ = timed(lambda: nearest_to(unit, X[size : size + 4000], 10))
    row("the exact search for ten neighbours alone (faiss)*", exact * new / 4000)
    _, again, _ = timed(
        lambda: embed(affinity.points(X, 30), schedule=Schedule(steps=750, early_steps=250), quality=False)
    )
    row(f"langscape's t-SNE of all {size + new:,} again", again)
    if peer:
        from openTSNE import TSNE

        _, other, _ = timed(lambda: TSNE(perplexity=30, n_jobs=1, random_state=0).fit(X))
        row(f"openTSNE of all {size + new:,} again", other)
    print("\n\\* from fewer words, multiplied.", end=" ")
    quality = judged.quality
    print(f"Inserted: local {quality['inserted_local']:.3f}, global {quality['inserted_global']:.3f}.")


def landmarks(size: int, count: int) -> None:
    X = word_vectors(size)
    rows = np.sort(np.random.default_rng(1).choice(size, 2000, replace=False))

    def figures(xy: np.ndarray) -> str:
        near = metrics.local(X, xy, 10, rows=rows).mean
        wide = metrics.local(X, xy, 50, rows=rows).mean
        return f"{100 * near:.1f} | {100 * wide:.1f} | {metrics.global_(X, xy, rows=rows).mean:.3f}"

    print("\n| | CPU s | 10-NN % | 50-NN % | global |\n| --- | ---: | ---: | ---: | ---: |")
    full, cpu, _ = timed(
        lambda: embed(affinity.points(X, 30), schedule=Schedule(steps=750, early_steps=250), quality=False)
    )
    print(f"| full map of {size:,} | {cpu:.0f} | {figures(full.xy)} |")
    for sample in ("frequency", "random"):
        for method, theta in (("median", 0.3), ("median", 0.05), ("optimise", 0.3)):
            rng = np.random.default_rng(0)
            order = np.arange(size) if sample == "frequency" else rng.permutation(size)
            first, rest = np.sort(order[:count]), np.sort(order[count:])

            def work(
                first: np.ndarray = first, rest: np.ndarray = rest, method: Any = method, theta: float = theta
            ) -> np.ndarray:
                base = embed(
                    affinity.points(X[first], 30),
                    schedule=Schedule(steps=750, early_steps=250),
                    quality=False,
                )
                grown = insert(base, X[rest], method=method, theta=theta, keep_vectors=False, quality=False)
                xy = np.empty((size, 2), np.float32)
                xy[np.concatenate([first, rest])] = grown.xy
                return xy

            xy, cpu, _ = timed(work)
            print(f"| {count:,} landmarks, {sample}, {method}, θ = {theta} | {cpu:.0f} | {figures(xy)} |")
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.insertion", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    options.add_argument("--peer", action="store_true", help="openTSNE of everything too, minutes long")
    asked = options.parse_args()
    part = 10 if asked.quick else 1
    numba.set_num_threads(1)
    with threadpool_limits(1):
        many_at_once(20_000 // part, 100_000 // part, asked.peer)
        landmarks(50_000 // part, 20_000 // part)


if __name__ == "__main__":
    main()
