"""The attention of two heads, or of one head in two runs, over the same tokens: where the second looks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from langscape.data import Capture, Shown, View
from langscape.io.codec import noun
from langscape.metrics.null import Null

Place = tuple[int, int]
"""A layer and a head."""


@noun
@dataclass(frozen=True, eq=False, repr=False)
class AttentionDifference(Shown):
    """Two matrices of attention over the same tokens, and how much of each token's attention goes elsewhere.

    first, second   the captures; of each, the head at `places`
    names           what the two are called: "head 1.8", "before"
    elsewhere       (tokens,) 0 looks at the same tokens, 1 at none in common
    null            the mean with the rows of the second dealt anew, and the range of nine in ten such

    Rows are whole: special tokens count, as keys, as all others do, and nothing is scaled.
    """

    first: Capture
    second: Capture
    places: tuple[Place, Place]
    names: tuple[str, str]
    elsewhere: np.ndarray
    null: tuple[float, float, float]

    @property
    def mean(self) -> float:
        """The mean over the tokens that are no special ones, which is what the null is of."""
        return float(self.elsewhere[_judged(self.first)].mean())

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Both matrices, (query, key)."""
        return _weights(self.first, self.places[0]), _weights(self.second, self.places[1])

    def scores(self) -> dict[str, float]:
        """The mean with its null, as they stand in `Map.quality`."""
        return {"attention_elsewhere": self.mean, **Null(*self.null).beside("attention_elsewhere")}

    def view(self, title: str | None = None, subtitle: str = "") -> View:
        """The second matrix less the first as a picture, which knows both."""
        from langscape.views import attention_difference

        return attention_difference(
            self.first, self.second, self.places, self.elsewhere, self.scores(), names=self.names,
            title=title or f"{self.names[0]} beside {self.names[1]}", subtitle=subtitle,
        )  # fmt: skip


def attention_difference(
    first: Capture, second: Capture, places: tuple[Place, Place], names: tuple[str, str]
) -> AttentionDifference | None:
    """The difference of two heads; None where they did not read the same tokens."""
    from langscape.metrics import attention_elsewhere, elsewhere_by_chance

    sides = first.attention(), second.attention()
    if any(tuple(one.queries.readable) != tuple(one.keys.readable) for one in sides):
        return None
    if tuple(sides[0].queries.readable) != tuple(sides[1].queries.readable):
        return None
    one, other = _weights(first, places[0]), _weights(second, places[1])
    null = elsewhere_by_chance(one, other, _judged(first))
    told = (null.mean, null.low, null.high)
    return AttentionDifference(first, second, places, names, attention_elsewhere(one, other), told)


def _weights(seen: Capture, place: Place) -> np.ndarray:
    return seen.attention().one(*place)


def _judged(seen: Capture) -> np.ndarray:
    """The tokens whose attention is judged: those that are not special, or all where there are no others."""
    ordinary = np.flatnonzero(~seen.attention().queries.special)
    return ordinary if len(ordinary) else np.arange(len(seen.attention().queries))
