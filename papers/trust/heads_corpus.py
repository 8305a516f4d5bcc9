"""Heads over 1,000 sentences: do names hold on the other half, what does it cost, and what does chance get?

python -m papers.trust.heads_corpus --model default --model decoder

The sentences are 500 each of the corpora sotu and austen, of at least eight words. The induction heads that
names are held against are those of a probe: rows of 40 random tokens that stand three times; a head counts
whose weight on the tokens that followed the times before is 0.3 or more, in plain NumPy, over the tokens from
their second time on. It is asked of the one row that the atlas reads, and of eight rows that neither the
atlas nor this analysis uses.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

import langscape
from langscape.analyses._captures import REPEATED, induction_probe
from langscape.analyses._head_parts import head_text
from langscape.analyses.heads import HeadSurvey
from langscape.declarations.running import using
from langscape.metrics import shuffled_weights
from langscape.metrics.head_tally import HeadText, tally_texts
from langscape.metrics.role_names import judge, names_of
from langscape.metrics.roles import matching_marks
from langscape.models import capture, capture_each, open_model
from langscape.sources import corpus_path, stream_texts
from langscape.sources.texts import sample_texts
from langscape.store import Store

SENTENCES = 1000
PROBE_SEEDS = range(1000, 1008)
SHUFFLED = {"default": 96, "decoder": 32}


def sentences(count: int = SENTENCES) -> list[str]:
    """Sentences of two corpora in turn, of at least eight words."""
    both = []
    for name in ("sotu", "austen"):
        path = corpus_path(name)
        both.append(
            sample_texts(
                lambda path=path: (one for one in stream_texts(path) if len(one.split()) >= 8), count // 2
            )
        )
    return list(chain.from_iterable(zip(*both, strict=True)))


def probed_heads(model: object, seeds: Iterable[int]) -> list[int]:
    """The heads, numbered through the layers, that rows of repeated random tokens find to do induction."""
    found = []
    for seed in seeds:
        seen = induction_probe(model, None, seed)
        if seen is None:
            return []
        A = seen["attention"]
        queries = np.arange(1 + REPEATED, A.shape[-1])
        weight = np.zeros(A.shape[:2])
        for query in queries:
            followed = np.arange(query - REPEATED + 1, 1, -REPEATED)
            weight += A[:, :, query, followed].sum(axis=-1)
        found.append(weight / len(queries))
    return np.flatnonzero(np.mean(found, axis=0).ravel() >= 0.3).tolist()


def shuffled_names(model: object, texts: list[str]) -> Counter[str]:
    """The roles that heads are given when every row's weights are dealt anew; `diffuse` asks for no place."""
    dealt = []
    for number, seen in enumerate(capture_each(model, texts, ("attention",))):
        one = head_text(seen, number)
        A = one.weights.reshape(-1, *one.weights.shape[2:])
        mixed = np.stack([shuffled_weights(head, seed=number) for head in A])
        # a token's own weight stays under the shuffle: it is taken out of what is dealt
        mixed[:, np.arange(A.shape[-1]), np.arange(A.shape[-1])] = 0
        mixed /= np.maximum(mixed.sum(axis=-1, keepdims=True), 1e-30)
        mixed[:, 0, 0] = 1.0
        dealt.append(HeadText(**{**vars(one), "weights": mixed.reshape(one.weights.shape)}))
    roles = names_of(judge([tally_texts(dealt[fold::8]) for fold in range(8)]))
    return Counter(name for names in roles for name in names if name != "diffuse")


def closed_rightly(model: object) -> np.ndarray:
    """For each head the share of closing brackets in code whose strongest key is the one they close."""
    right, whole = np.zeros(1), 0
    for at in range(3):
        for call in ("compute", "gather"):
            line = f"result = {call}(first[{at}], (second + third) * {{4: {at}}})"
            seen = capture(model, line, ("attention",))
            text = ~seen.tokens.special & (np.arange(len(seen.tokens)) > 0)
            for closed, opened in matching_marks(seen.tokens.texts):
                right = right + ((seen["attention"][:, :, closed] * text).argmax(axis=-1) == opened)
                whole += 1
    return (right / whole).ravel()


def measure(name: str, count: int) -> None:
    """Print the measurements of one model."""
    texts = sentences(count)
    with tempfile.TemporaryDirectory() as folder, using(Store(Path(folder))):
        begun, spent = time.perf_counter(), time.process_time()
        found: HeadSurvey = langscape.heads(name, texts)
        wall, cpu = time.perf_counter() - begun, time.process_time() - spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    model = open_model(name)
    print(f"{name}: {found.texts:,} sentences × {len(found.scores)} heads")
    print(f"  {cpu:.0f} s of CPU time, {wall:.0f} s on the clock, {memory:.2f} GB at most")
    print(f"  names are the same on both halves for {100 * found.halves:.1f} % of heads")
    names = [one.split(", ") if one else [] for one in found.scores.columns["names"]]
    print(f"  given: {dict(Counter(role for one in names for role in one).most_common())}")
    some = Counter(
        one.split(" (")[0] for row in found.scores.columns["sometimes"] for one in row.split(", ") if one
    )
    print(f"  sometimes: {dict(some.most_common())}")
    for rows, seeds in (("one row, that of the atlas", [0]), ("eight other rows", PROBE_SEEDS)):
        probe = probed_heads(model, seeds)
        if probe:
            kept = [head for head in probe if "induction" in names[head]]
            left = ", ".join(found.scores.labels[head] for head in probe if head not in kept) or "none"
            print(f"  induction: of {len(probe)} heads by {rows}, {len(kept)} are named; left out: {left}")
    groups = found.groups
    print(f"  {groups.group.max() + 1} groups, halves agree to {groups.agreement:.2f}", end="; ")
    print("sizes " + ", ".join(map(str, np.bincount(groups.group))))
    brackets = [head for head, one in enumerate(names) if "bracket-matching" in one]
    if brackets:
        right = closed_rightly(model)
        print(
            f"  brackets closed in code: {np.round(right[brackets], 2).tolist()} of named heads, "
            f"median of all {np.median(right):.2f}"
        )
    few = texts[: SHUFFLED.get(name, 32)]
    print(
        f"  shuffled weights over {len(few)} sentences are given: {dict(shuffled_names(model, few))}",
        flush=True,
    )


def main() -> None:
    """Measure every model in a process of its own, so that memory is told of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for name in asked.model or ["default"]:
        if asked.here:
            measure(name, asked.sentences)
            continue
        words = ["--model", name, "--sentences", str(asked.sentences), "--here"]
        subprocess.run([sys.executable, "-m", "papers.trust.heads_corpus", *words], check=True)


if __name__ == "__main__":
    main()
