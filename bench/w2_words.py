"""W2: a map of 600 words, affinities included."""

from __future__ import annotations

import numpy as np

from bench import ours, peers
from bench.data import words_600
from bench.report import OURS, Bar, Report, peers_kls, same_steps
from bench.timing import Clock, Contender, Landed, alternate
from langscape import affinity, metrics
from langscape.engine import Schedule
from langscape.engine.initial import start as start_of

PERPLEXITY = 25.0


def run(*, quick: bool) -> Report:
    """600 × 300, perplexity 25, 1000 steps, each program making its own affinities."""
    X = words_600()[: 200 if quick else 600]
    steps = 300 if quick else 1000
    schedule = Schedule(steps=steps, early_steps=min(250, steps // 2), largest_step=0.0)
    common = affinity.points(X, PERPLEXITY, method="exact")
    start = start_of(common, "pca", 2, 0).astype(np.float32)
    ours.warm(100, 2, sparse=False)

    def us(clock: Clock, repeat: int) -> Landed:
        with clock("affinities"):
            made = affinity.points(X, PERPLEXITY)
        with clock("optimiser"):
            xy, taken = ours.optimise(made, start, schedule)
        return Landed(xy, taken)

    def sklearn(clock: Clock, repeat: int) -> Landed:
        with clock("affinities"):
            condensed = peers.sklearn_exact_affinities(X, PERPLEXITY)
        with clock("optimiser"):
            landed = peers.sklearn_exact(condensed, start, schedule)
        return Landed(*landed)

    def opentsne(clock: Clock, repeat: int) -> Landed:
        with clock("affinities"):
            P = peers.opentsne_neighbours(X, PERPLEXITY)
        with clock("optimiser"):
            landed = peers.opentsne(P, start, schedule, "bh")
        return Landed(*landed)

    def barnes_hut(clock: Clock, repeat: int) -> Landed:
        with clock("affinities"):
            P = peers.sklearn_neighbours(X, PERPLEXITY)
        with clock("optimiser"):
            landed = peers.sklearn_barnes_hut(P, start, schedule)
        return Landed(*landed)

    contenders = [
        Contender(OURS, us),
        Contender("scikit-learn exact", sklearn),
        Contender("scikit-learn Barnes–Hut", barnes_hut),
        Contender("openTSNE (Barnes–Hut)", opentsne),
    ]
    missing = []
    if (library := peers.module("torchdr")) is not None:

        def torchdr(clock: Clock, repeat: int) -> Landed:
            with clock("both"):
                xy = peers.torchdr(library, X, start, PERPLEXITY, schedule)
            return Landed(xy, steps)

        contenders.append(Contender("TorchDR", torchdr, repeats=2))
    else:
        missing.append("TorchDR")
    turns = alternate(contenders, 2 if quick else 5, lambda xy: metrics.kl(common.P, xy))
    same_steps(turns)
    clock = Clock()
    with clock("figures"):
        metrics.quality(X, start)
    report = Report(
        "W2",
        f"{len(X)} words × {X.shape[1]}, perplexity 25, 2-D, {steps} steps",
        "Sample words; every program makes its own affinities and starts from the same PCA. openTSNE and "
        "Barnes–Hut keep 75 neighbours per word, the exact ones all.",
        turns,
        ratio_of=("optimiser",),
        seconds_to=ours.seconds_to(common, start, peers_kls(turns)),
        missing=missing,
        notes=[f"The figures that our maps carry cost another {1000 * clock.cpu['figures']:.0f} ms."],
    )
    if not quick:
        us_cpu = turns[OURS].cpu()
        report.bars = [
            Bar("scikit-learn exact, × our CPU", 40, turns["scikit-learn exact"].cpu() / us_cpu),
            Bar("openTSNE, × our CPU", 8, turns["openTSNE (Barnes–Hut)"].cpu() / us_cpu),
            Bar("our KL over scikit-learn's", 1.01, turns[OURS].kl / turns["scikit-learn exact"].kl, True),
            Bar("our KL over openTSNE's", 1.01, turns[OURS].kl / turns["openTSNE (Barnes–Hut)"].kl, True),
        ]
    return report
