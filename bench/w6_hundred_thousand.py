"""W6: a 2-D map of 100,000 words."""

from __future__ import annotations

from bench import ours
from bench.large import Large
from bench.report import OURS, Bar, Report, peers_kls, same_steps
from bench.timing import alternate
from langscape import metrics


def run(*, quick: bool) -> Report:
    """250 + 500 steps on one P, from one start; neighbours by each program's own search."""
    n, early, after = (5000, 50, 100) if quick else (100_000, 250, 500)
    large = Large.words(n, early=early, after=after)
    ours.warm(2500, 2, sparse=True)
    contenders = [large.us(), large.opentsne(repeats=1)]
    turns = alternate(contenders, 2, lambda xy: metrics.kl(large.P, xy))
    same_steps(turns)
    us, peer = turns[OURS], turns["openTSNE (interpolation)"]
    recall = min(float(landed.note) for landed in us.landed)
    report = Report(
        "W6",
        f"{n:,} word vectors × 100 → 2-D, {early} + {after} steps",
        "GloVe vectors, perplexity 30, openTSNE's own rates; the optimisers get the same P and start.",
        turns,
        ratio_of=("optimiser",),
        seconds_to=ours.seconds_to(ours.given(large.P), large.start, peers_kls(turns)),
        notes=[f"Our neighbours had a recall of {recall:.3f}, measured on sampled rows."],
    )
    if not quick:
        report.bars = [
            Bar("openTSNE, × our CPU, optimiser", 8, peer.cpu("optimiser") / us.cpu("optimiser")),
            Bar("openTSNE, × our CPU, with neighbours", 2.5, peer.cpu() / us.cpu()),
            Bar("our KL over openTSNE's", 1.005, us.kl / peer.kl, at_most=True),
            Bar("recall of our neighbours", 0.95, recall),
        ]
    return report
