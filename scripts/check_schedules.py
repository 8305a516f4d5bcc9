"""Check that the default schedules converge: `python scripts/check_schedules.py [--texts harbour …]`.

For every head of MiniLM and every layer of hidden states, over the sample texts, with special tokens and
sinks kept and dropped: the KL of a default map (8 restarts × 1,000 steps) over the best of fifteen runs of
3,000 steps. About 80 seconds of one core and text.
"""

from __future__ import annotations

import argparse

import numpy as np

from langscape import affinity
from langscape.analyses._restarts import embed_best, head_schedules
from langscape.engine import embed_many
from langscape.models import capture, open_model
from langscape.sources import samples

TEXTS = ("harbour", "orchard", "pattern")
"""The sample texts that the model reads as a whole."""


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--texts", nargs="*", default=TEXTS, help="names of sample texts")
    options.add_argument("--tokens", nargs="*", default=["keep", "drop"], help="special tokens and sinks")
    options.add_argument("--seeds", type=int, default=1, help="how many default maps to judge of each")
    asked = options.parse_args()
    model = open_model("default")
    print(f"{'text':<9} {'tokens':<8} {'what':<7} {'worst':>7} {'where':>6} {'mean':>7} {'above 5 %':>10}")
    for name in asked.texts:
        seen = capture(model, samples.text(name), ("attention", "hidden"))
        for way in asked.tokens:
            every = [(layer, head) for layer in range(6) for head in range(12)]
            heads = {f"{a}.{b}": affinity.attention(seen, a, b, way, way) for a, b in every}
            states = {str(layer): affinity.hidden(seen, layer, 20.0, way) for layer in range(7)}
            for what, problems in (("heads", heads), ("hidden", states)):
                excess = excess_kl(list(problems.values()), range(asked.seeds))
                worst = int(excess.max(axis=0).argmax())
                where = list(problems)[worst]
                told = f"{100 * excess.max():6.1f}% {where:>6} {100 * excess.mean():6.2f}%"
                print(f"{name:<9} {way:<8} {what:<7} {told} {(excess > 0.05).sum():>10}", flush=True)


def excess_kl(problems: list, seeds: range) -> np.ndarray:
    """(seeds, problems): how far the KL of a default map lies above the best long run, as a share."""
    n = max(map(len, problems))
    long = [
        np.array([made.kls for made in embed_many(problems, 2, "random", one, 5, quality=False, seed=500)])
        for one in head_schedules(n, 3000)
    ]
    best = np.nanmin(np.concatenate(long, axis=1), axis=1)
    found = [embed_best(problems, n, 8, 1000, 100 * seed)[1]["kl"] for seed in seeds]
    return np.array(found) / best - 1


if __name__ == "__main__":
    main()
