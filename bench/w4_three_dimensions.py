"""W4: three-dimensional maps, where no grid helps."""

from __future__ import annotations

import numpy as np

from bench import ours, peers
from bench.data import word_vectors
from bench.report import OURS, Bar, Report, same_steps
from bench.timing import Clock, Contender, Landed, alternate
from langscape import affinity, metrics
from langscape.engine import Schedule
from langscape.engine.initial import start as start_of

PERPLEXITY = 30.0


def run(*, quick: bool) -> Report:
    """5,000 word vectors to 3-D beside scikit-learn's Barnes–Hut; then 20,000, measured."""
    small, large = (1500, 3000) if quick else (5000, 20_000)
    steps = 100 if quick else 1000
    schedule = Schedule(steps=steps, early_steps=steps // 4, largest_step=0.0)
    X = word_vectors(large)
    some = X[:small]
    common = affinity.points(some, PERPLEXITY, method="neighbours")
    start = start_of(common, "pca", 3, 0).astype(np.float32)
    ours.warm(2000, 3, sparse=True)

    def us(clock: Clock, repeat: int) -> Landed:
        with clock("affinities"):
            made = affinity.points(some, PERPLEXITY, method="neighbours")
        with clock("optimiser"):
            landed = ours.optimise(made, start, schedule)
        return Landed(*landed)

    def sklearn(clock: Clock, repeat: int) -> Landed:
        with clock("affinities"):
            P = peers.sklearn_neighbours(some, PERPLEXITY)
        with clock("optimiser"):
            landed = peers.sklearn_barnes_hut(P, start, schedule)
        return Landed(*landed)

    contenders = [Contender(OURS, us), Contender("scikit-learn Barnes–Hut", sklearn, repeats=2)]
    turns = alternate(contenders, 2 if quick else 3, lambda xy: metrics.kl(common.P, xy))
    same_steps(turns)

    clock = Clock()
    with clock("affinities"):
        big = affinity.points(X, PERPLEXITY, method="neighbours")
    big_start = start_of(big, "pca", 3, 0).astype(np.float32)
    with clock("optimiser"):
        xy, taken = ours.optimise(big, big_start, schedule)
    few = Schedule(
        steps=steps // 10, early_steps=steps // 40, learning_rate=schedule.rates(large), largest_step=0.0
    )
    with clock("peer"):
        peers.sklearn_barnes_hut(big.P, big_start, few)
    report = Report(
        "W4",
        f"{small:,} and {large:,} word vectors → 3-D, {steps} steps",
        "GloVe vectors of the most frequent words, perplexity 30, 90 neighbours. The table is for "
        f"{small:,}. Both use one degree of freedom.",
        turns,
        ratio_of=("optimiser",),
        notes=[
            f"{large:,} vectors: affinities {clock.cpu['affinities']:.1f} s, optimiser "
            f"{clock.cpu['optimiser']:.0f} s of CPU for {taken} steps, KL {metrics.kl(big.P, xy):.4f}.",
            f"scikit-learn Barnes–Hut took {clock.cpu['peer']:.0f} s for the first {few.steps} of these "
            f"steps, {10 * clock.cpu['peer'] / clock.cpu['optimiser']:.1f} × ours at that rate.",
        ],
    )
    if not quick:
        peer, us_turns = turns["scikit-learn Barnes–Hut"], turns[OURS]
        report.bars = [
            Bar(f"scikit-learn Barnes–Hut, × our CPU, {small:,}", 3.5, peer.cpu() / us_turns.cpu()),
            Bar("our KL over scikit-learn's", 1.01, us_turns.kl / peer.kl, at_most=True),
        ]
    return report
