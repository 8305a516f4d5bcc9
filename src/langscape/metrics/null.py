"""What pictures without the information score, and how far that varies from one to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST_DRAWS = 19
"""Pictures without the information that are drawn at least: one in twenty is then told by rank alone."""

ERROR = 0.05
"""How often a picture that knows nothing may be called better than chance."""


@dataclass(frozen=True)
class Null:
    """The mean of pictures without the information, and the range that one more of them falls into.

    It lies above `high` in at most one of twenty cases, and below `low` in as many. The range is wide where
    there are few items: then even a large value can be chance. NaN where the range is not known.
    """

    mean: float
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, draws: Any, least: float = 0.0) -> Null:
        """From the scores of pictures without the information; those that are not finite do not count.

        From 19 draws on the range is theirs by rank, which holds whatever their distribution. Fewer, where
        each of them costs a map, are taken for normal, with a standard deviation of at least `least`.

        >>> Null.of(np.arange(1, 100) / 100)
        Null(mean=0.5, low=0.05, high=0.95)
        >>> round(Null.of([0.1, 0.2, 0.3]).high, 3), Null.of([0.2])
        (0.537, Null(mean=0.2, low=nan, high=nan))
        """
        found = np.sort(np.asarray(draws, np.float64).ravel())
        found = found[np.isfinite(found)]
        if not len(found):
            return cls(math.nan)
        mean = round(float(found.mean()), 12)
        if len(found) >= LEAST_DRAWS:
            beyond = int(ERROR * (len(found) + 1) + 1e-9)
            return cls(mean, float(found[beyond - 1]), float(found[-beyond]))
        if len(found) == 1:
            return cls(mean)
        return cls.around(mean, max(float(found.std(ddof=1)), least), len(found) - 1, len(found))

    @classmethod
    def around(cls, mean: float, sd: float, freedom: int, draws: float) -> Null:
        """From the mean of so many draws and a standard deviation of so many degrees of freedom."""
        from scipy.stats import t

        reach = float(t.ppf(1 - ERROR, freedom)) * sd * math.sqrt(1 + 1 / draws)
        return cls(mean, mean - reach, mean + reach)

    @classmethod
    def read(cls, scores: Mapping[str, Any], name: str) -> Null:
        """The null of a score as it stands beside it, in `Map.quality` and elsewhere; NaN where it is not."""
        return cls(*(float(scores.get(name + end, math.nan)) for end in BESIDE))

    @classmethod
    def mean_of(cls, nulls: Sequence[Null]) -> Null:
        """Of the mean of several pictures: no wider than what each of them has."""
        return cls(*np.mean([one._all() for one in nulls], axis=0).tolist())

    def _all(self) -> tuple[float, float, float]:
        return self.mean, self.low, self.high

    def around_value(self, value: float) -> Null:
        """The null of a picture that is known itself, where this is the range of chance around it.

        A picture must be better than both: the range is moved up to the value, never down from where it is.

        >>> Null(0.25, 0.0, 0.5).around_value(0.5), Null(0.25, 0.0, 0.5).around_value(0.0)
        (Null(mean=0.5, low=0.25, high=0.75), Null(mean=0.0, low=-0.25, high=0.5))
        """
        return Null(value, self.low + value - self.mean, self.high + max(value - self.mean, 0.0))

    def beside(self, name: str) -> dict[str, float]:
        """The entries that stand beside the score of this name.

        >>> Null(0.1, 0.0, 0.2).beside("local")
        {'local_null': 0.1, 'local_null_low': 0.0, 'local_null_high': 0.2}
        """
        return {name + end: value for end, value in zip(BESIDE, self._all(), strict=True)}

    @property
    def known(self) -> bool:
        """True if both the mean and the range are known."""
        return all(map(math.isfinite, self._all()))


def rank_null(count: int, draws: int = 999, seed: int = 0) -> Null:
    """The rank correlation of so many numbers with others that are shuffled.

    >>> null = rank_null(20)
    >>> abs(null.mean) < 0.05, 0.35 < null.high < 0.41
    (True, True)
    """
    ranks = np.arange(count)
    rng = np.random.default_rng(seed)
    shuffled = np.array([rng.permutation(count) for _ in range(draws)])
    # Spearman's ρ of ranks without ties
    return Null.of(1 - 6 * ((shuffled - ranks) ** 2).sum(axis=1) / (count * (count**2 - 1)))


BESIDE = ("_null", "_null_low", "_null_high")
"""How the entries beside a score end: the mean of its null, and the range."""
