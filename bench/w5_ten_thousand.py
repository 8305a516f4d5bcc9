"""W5: a 2-D map of 10,000 words."""

from __future__ import annotations

from bench import ours, peers
from bench.large import Large
from bench.report import OURS, Bar, Report, peers_kls, same_steps
from bench.timing import Clock, Contender, Landed, alternate
from langscape import metrics


def run(*, quick: bool) -> Report:
    """250 + 500 steps on one P, from one start; neighbours by each program's own search."""
    n, early, after = (2500, 50, 100) if quick else (10_000, 250, 500)
    large = Large.words(n, early=early, after=after)
    ours.warm(2500, 2, sparse=True)

    def barnes_hut(clock: Clock, repeat: int) -> Landed:
        with clock("neighbours"):
            peers.sklearn_neighbours(large.X, 30.0)
        with clock("optimiser"):
            landed = peers.sklearn_barnes_hut(large.P, large.nudged(repeat), large.schedule)
        return Landed(*landed)

    contenders = [large.us(), large.opentsne(repeats=3)]
    missing = []
    if (library := peers.module("daal4py")) is not None:
        contenders.append(large.intelex(library))
    else:
        missing.append("scikit-learn-intelex")
    contenders += [Contender("scikit-learn Barnes–Hut", barnes_hut, repeats=1), large.umap()]
    turns = alternate(contenders, 2 if quick else 3, lambda xy: metrics.kl(large.P, xy))
    same_steps(turns)
    report = Report(
        "W5",
        f"{n:,} word vectors × 100 → 2-D, {early} + {after} steps",
        "GloVe vectors of the most frequent words, perplexity 30, at openTSNE's own learning rates. The "
        "optimisers get the same P and start; scikit-learn-intelex keeps the early rate throughout.",
        turns,
        ratio_of=("optimiser",),
        seconds_to=ours.seconds_to(ours.given(large.P), large.start, peers_kls(turns)),
        missing=missing,
    )
    if not quick:
        us, peer = turns[OURS], turns["openTSNE (interpolation)"]
        report.bars = [
            Bar("openTSNE, × our CPU, optimiser", 15, peer.cpu("optimiser") / us.cpu("optimiser")),
            Bar("openTSNE, × our CPU, with neighbours", 8, peer.cpu() / us.cpu()),
            Bar("our median KL over openTSNE's", 1.0, us.kl / peer.kl, at_most=True),
        ]
    return report
