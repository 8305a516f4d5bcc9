"""How much each similar item pulls a new one: Claassen's power and exponential weights (eq. 4.8–4.10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from langscape.errors import SettingsError

Weighting = Literal["power", "exponential"]
Method = Literal["median", "optimise"]


@dataclass(frozen=True)
class Insertion:
    """The settings of an insertion.

    neighbours   how many most similar items pull; "score" takes those above mean + k·deviation of
                 the new item's similarities (eq. 4.2–4.3); None is Claassen's: all whose weight is
                 above the mean weight
    p            exponent or base of the weighting; None finds it from theta
    theta        what the least similar effective neighbour weighs, the most similar being 1; at 0.05
                 the most similar one decides nearly alone, at 0.3 words land better on every map tried
    method       "optimise" refines the medians by gradient steps on KL, the old points fixed
    """

    weighting: Weighting = "power"
    p: float | None = None
    theta: float = 0.3
    neighbours: int | Literal["score"] | None = 10
    k: float = 3.0
    method: Method = "median"
    perplexity: float = 10.0
    rounds: int = 50

    def __post_init__(self) -> None:
        if self.weighting not in ("power", "exponential"):
            raise SettingsError(f'weighting {self.weighting!r} is not known; use "power" or "exponential"')
        if self.method not in ("median", "optimise"):
            raise SettingsError(f'method {self.method!r} is not known; use "median" or "optimise"')
        if self.p is not None and not (np.isfinite(self.p) and self.p >= 0):
            raise SettingsError(f"p {self.p} must be at least 0 (0 weighs all alike)")
        if not 0 < self.theta < 1:
            raise SettingsError(f"theta {self.theta} must lie between 0 and 1")
        whole = isinstance(self.neighbours, int | np.integer) and not isinstance(self.neighbours, bool)
        if not (self.neighbours in (None, "score") or (whole and int(self.neighbours) >= 1)):  # type: ignore[arg-type]
            raise SettingsError(f'neighbours {self.neighbours!r} must be at least 1, "score" or None')

    def plain(self) -> dict[str, Any]:
        """The settings that had a say, for a map's record."""
        names = ["weighting", "p", "theta", "neighbours", "method"]
        if self.neighbours == "score":
            names.append("k")
        if self.method == "optimise":
            names += ["perplexity", "rounds"]
        return {name: getattr(self, name) for name in names}


def transformed(rescaled: np.ndarray, counts: np.ndarray, settings: Insertion) -> np.ndarray:
    """f(s, p) of eq. 4.8 or 4.9; without p, the last counted neighbour of each row weighs theta."""
    rows = np.arange(len(rescaled))
    target = np.clip(rescaled[rows, counts - 1], 1e-12, 1.0)
    power = settings.weighting == "power"
    if settings.p is not None:
        p = np.full(len(rescaled), float(settings.p))
    else:
        p = power_for(target, settings.theta) if power else base_for(target, settings.theta)
    s = np.clip(rescaled, 1e-12, 1.0)
    if power:
        return s ** p[:, None]
    # p = 1 is the limit s; p = 0 weighs all alike, as Claassen has it
    log = np.log(np.where(p > 0, p, 1.0))[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        # (p^s − 1)/(p − 1), from the right end so that a large p does not overflow
        shifted = np.exp((s - 1.0) * log) * -np.expm1(-s * log) / -np.expm1(-log)
    return np.where(p[:, None] == 0, 1.0, np.where(np.abs(log) < 1e-9, s, shifted))


def power_for(target: np.ndarray, theta: float) -> np.ndarray:
    """Eq. 4.10: the power at which similarity `target` weighs theta; 1 where all are equally similar."""
    log = np.log(target)
    return np.where(log < -1e-9, np.log(theta) / np.where(log < -1e-9, log, -1.0), 1.0)


def base_for(target: np.ndarray, theta: float) -> np.ndarray:
    """The base of eq. 4.9 at which similarity `target` weighs theta, by bisection on its logarithm."""
    low = np.full(len(target), -50.0)
    high = np.full(len(target), 690.0)
    for _ in range(200):
        middle = 0.5 * (low + high)
        small = np.abs(middle) < 1e-9
        log = np.where(small, 1.0, middle)
        with np.errstate(over="ignore", invalid="ignore"):
            weight = np.where(
                small, target, np.exp((target - 1.0) * log) * np.expm1(-target * log) / np.expm1(-log)
            )
        too_heavy = weight > theta
        low, high = np.where(too_heavy, middle, low), np.where(too_heavy, high, middle)
    return np.exp(0.5 * (low + high))
