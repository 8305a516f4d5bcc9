"""What W5 and W6 share: one P, start and schedule for every optimiser; every neighbour search its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import ours, peers
from bench.data import word_vectors
from bench.report import OURS
from bench.timing import Clock, Contender, Landed
from langscape import affinity
from langscape.engine import Schedule
from langscape.engine.initial import start as start_of

PERPLEXITY = 30.0


@dataclass(frozen=True)
class Large:
    """A large 2-D problem: vectors, the common P, start and schedule."""

    X: np.ndarray
    P: Any
    start: np.ndarray
    schedule: Schedule

    @classmethod
    def words(cls, n: int, *, early: int, after: int) -> Large:
        """The n most frequent words, at openTSNE's own rates: n/12 early and n after, over 4."""
        X = word_vectors(n)
        common = affinity.points(X, PERPLEXITY, method="neighbours", recall=0.99)
        schedule = Schedule(
            steps=early + after,
            early_steps=early,
            learning_rate=(max(200.0, n / 12) / 4, max(200.0, n) / 4),
            momentum=(0.8, 0.8),
        )
        return cls(X, common.P, start_of(common, "pca", 2, 0), schedule)

    def us(self) -> Contender:
        """Ours: our neighbours, then our descent on the common P."""

        def run(clock: Clock, repeat: int) -> Landed:
            with clock("neighbours"):
                made = affinity.points(self.X, PERPLEXITY, method="neighbours", seed=repeat)
            with clock("optimiser"):
                landed = ours.optimise(ours.given(self.P), self.nudged(repeat), self.schedule)
            return Landed(*landed, note=str(made.settings.get("recall")))

        return Contender(OURS, run)

    def opentsne(self, repeats: int) -> Contender:
        """openTSNE's interpolation, after its own neighbour search."""

        def run(clock: Clock, repeat: int) -> Landed:
            with clock("neighbours"):
                peers.opentsne_neighbours(self.X, PERPLEXITY)
            with clock("optimiser"):
                landed = peers.opentsne(self.P, self.nudged(repeat), self.schedule, "fft")
            return Landed(*landed)

        return Contender("openTSNE (interpolation)", run, repeats)

    def umap(self) -> Contender:
        """umap-learn, another method: its time only."""
        peers.umap(self.X[:4500], self.start[:4500])  # compiles; below 4,096 rows it takes another way

        def run(clock: Clock, repeat: int) -> Landed:
            with clock("both"):
                peers.umap(self.X, self.start)
            return Landed(None, None)

        return Contender("umap-learn", run, repeats=1)

    def intelex(self, library: Any) -> Contender:
        """scikit-learn-intelex's Barnes–Hut; one learning rate, n/48, as scikit-learn's."""

        def run(clock: Clock, repeat: int) -> Landed:
            with clock("neighbours"):
                peers.intelex_neighbours(self.X, PERPLEXITY)
            with clock("optimiser"):
                landed = peers.intelex(library, self.P, self.nudged(repeat), self.schedule)
            return Landed(*landed)

        return Contender("scikit-learn-intelex", run, repeats=2)

    def nudged(self, repeat: int) -> np.ndarray:
        """The start with a little noise of its own for every round, the same for all contenders."""
        rng = np.random.default_rng(repeat)
        return self.start + rng.normal(0, 1e-6, self.start.shape)
