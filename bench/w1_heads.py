"""W1: one attention head's map, and 14,400 of them."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import squareform

from bench import ours, peers
from bench.data import attention_joint
from bench.report import OURS, Bar, Report, same_steps
from bench.timing import Clock, Contender, Landed, alternate
from langscape import metrics
from langscape.engine import Schedule, embed_many

TOKENS = 200


def run(*, quick: bool) -> Report:
    """Same P, same starts, 1000 steps without exaggeration; then a batch of heads × restarts."""
    steps = 100 if quick else 1000
    # The two phases (momentum 0.5, then 0.8, state reset between) are scikit-learn's; exaggeration 1 is none.
    schedule = Schedule(steps=steps, early_steps=steps // 4, early_exaggeration=1.0, largest_step=0.0)
    P = attention_joint(TOKENS, seed=0)
    condensed = squareform(P, checks=False)
    affinities = ours.given(P.astype(np.float32))
    starts = [np.random.default_rng(r).normal(0, 0.01, (TOKENS, 2)).astype(np.float32) for r in range(100)]
    ours.warm(TOKENS, 2, sparse=False)

    def us(clock: Clock, repeat: int) -> Landed:
        with clock("optimiser"):
            landed = ours.optimise(affinities, starts[repeat], schedule)
        return Landed(*landed)

    def sklearn(clock: Clock, repeat: int) -> Landed:
        with clock("optimiser"):
            landed = peers.sklearn_exact(condensed, starts[repeat], schedule)
        return Landed(*landed)

    def opentsne(clock: Clock, repeat: int) -> Landed:
        with clock("optimiser"):
            landed = peers.opentsne(P, starts[repeat], schedule, "bh")
        return Landed(*landed)

    contenders = [
        Contender(OURS, us),
        Contender("scikit-learn exact", sklearn),
        Contender("openTSNE (Barnes–Hut)", opentsne),
    ]
    turns = alternate(contenders, 2 if quick else 7, lambda xy: metrics.kl(P, xy))
    same_steps(turns)

    heads, restarts = (2, 5) if quick else (12, 50)
    many = [ours.given(attention_joint(TOKENS, seed).astype(np.float32)) for seed in range(heads)]
    clock = Clock()
    with clock("batch"):
        embed_many(many, initial="random", schedule=schedule, restarts=restarts, quality=False)
    each = clock.cpu["batch"] / (heads * restarts)
    us_cpu = turns[OURS].cpu("optimiser")
    report = Report(
        "W1",
        f"one head's map: {TOKENS} tokens, 2-D, {steps} steps",
        "The joint P of a peaked, attention-like matrix; the same P and the same random starts for all. "
        "openTSNE has no exact method and runs Barnes–Hut on the dense P.",
        turns,
        notes=[
            f"In a batch of {heads} heads × {restarts} restarts one run takes {1000 * each:.1f} ms of CPU "
            f"({clock.wall['batch']:.1f} s wall for the batch); 14,400 runs (144 heads × 100 restarts) "
            f"come to {14_400 * each / 60:.1f} minutes on one core."
        ],
    )
    if not quick:
        best = min(us_cpu, each)
        report.bars = [
            Bar("scikit-learn exact, × our CPU, one run", 100, turns["scikit-learn exact"].cpu() / us_cpu),
            Bar("openTSNE, × our CPU, one run", 50, turns["openTSNE (Barnes–Hut)"].cpu() / us_cpu),
            Bar("scikit-learn exact, × our CPU, in a batch", 100, turns["scikit-learn exact"].cpu() / each),
            Bar("openTSNE, × our CPU, in a batch", 50, turns["openTSNE (Barnes–Hut)"].cpu() / each),
            Bar("14,400 runs on one core, minutes", 3, 14_400 * best / 60, at_most=True),
            Bar(
                "our median KL over the lowest of the others (another local minimum: 1 %)",
                1.01,
                turns[OURS].kl / min(turns["scikit-learn exact"].kl, turns["openTSNE (Barnes–Hut)"].kl),
                at_most=True,
            ),
        ]
    return report
