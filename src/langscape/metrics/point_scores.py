"""What a metric returns: a number per judged point, and how many points were judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from langscape.data import frozen


@dataclass(frozen=True, eq=False)
class PointScores:
    """One figure of a map, per point and as mean ± standard deviation.

    per_point (judged,) the value of each judged point
    rows      (judged,) which points these are, ascending
    n         how many points the map has; fewer rows than n means that rows were sampled
    k         the number of neighbours looked at, where the figure has one
    """

    name: str
    per_point: np.ndarray
    rows: np.ndarray
    n: int
    k: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_point", frozen(self.per_point, np.float64))
        object.__setattr__(self, "rows", frozen(self.rows, np.intp))

    @property
    def mean(self) -> float:
        """The mean over the judged points."""
        return float(self.per_point.mean())

    @property
    def sd(self) -> float:
        """The standard deviation over the judged points."""
        return float(self.per_point.std())

    @property
    def sampled(self) -> bool:
        """True if only some of the points were judged."""
        return len(self.rows) < self.n

    def everywhere(self) -> np.ndarray:
        """The values of all n points, shape (n,), NaN where a point was not judged."""
        values = np.full(self.n, np.nan)
        values[self.rows] = self.per_point
        return values

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        k = "" if self.k is None else f", k = {self.k}"
        judged = f"{len(self.rows):,} of {self.n:,} points" if self.sampled else f"{self.n:,} points"
        return f"{self.name} {self.mean:.3f} ± {self.sd:.3f} ({judged}{k})"


@dataclass(frozen=True, eq=False)
class Correlation:
    """One rank correlation over all pairs of `rows`, which are sampled if fewer than n."""

    value: float
    rows: np.ndarray
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", frozen(self.rows, np.intp))

    @property
    def sampled(self) -> bool:
        """True if only the pairs among some of the points were taken."""
        return len(self.rows) < self.n

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        points = f"{len(self.rows):,} of {self.n:,} points" if self.sampled else f"{self.n:,} points"
        return f"spearman {self.value:.3f} (all pairs of {points})"


@dataclass(frozen=True, eq=False)
class Stability:
    """How far each point wanders between maps that were laid over each other.

    per_point (n,) root mean square distance from the point's mean place, in units of the
              map's own root mean square radius: 0 never moves, about 1 could be anywhere
    aligned   (maps, n, dims) the maps after alignment, centred, of radius 1
    """

    per_point: np.ndarray
    aligned: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_point", frozen(self.per_point))
        object.__setattr__(self, "aligned", frozen(self.aligned))

    @property
    def mean(self) -> float:
        """The mean over points."""
        return float(self.per_point.mean())

    @property
    def sd(self) -> float:
        """The standard deviation over points."""
        return float(self.per_point.std())

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        maps, n = self.aligned.shape[:2]
        return f"stability: spread {self.mean:.3f} ± {self.sd:.3f} of the radius ({maps} maps, {n:,} points)"


def known_mean(values: np.ndarray) -> float:
    """The mean of what is not NaN; NaN, and no warning, where there is nothing."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
