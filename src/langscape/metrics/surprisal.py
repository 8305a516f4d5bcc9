"""Next words that a model gave less than an even chance: learned wrongly, or never seen."""

from __future__ import annotations

import numpy as np

from langscape.data import Capture
from langscape.metrics.flow import Alarm


def surprises(seen: Capture, *, most: int = 5) -> list[Alarm]:
    """The steps of a text whose next word was given less than 1 / vocabulary, the worst first.

    `share` is how many times less than an even chance, and `units` holds the step.

    >>> from langscape.data import Tokens
    >>> chances = np.array([[0.9, 0.1], [0.5, 0.5]])
    >>> held = Capture(Tokens("ab", ids=[0, 1]), {"softmax": chances}, {"softmax": ("step", "word")})
    >>> [alarm.text for alarm in surprises(held)]
    ['after “a” came “b”, given 10 %: 5 times less than an even chance']
    """
    chances, ids = seen["softmax"], seen.tokens.require_ids()
    given = chances[np.arange(len(ids) - 1), ids[1:]].astype(np.float64)
    times = 1 / (np.maximum(given, 1e-30) * chances.shape[1])
    worst = [int(i) for i in np.argsort(-times)[:most] if times[i] > 1]
    return [
        Alarm(
            "surprise", -1, "softmax", (i,), float(times[i]),
            f"after “{seen.tokens[i]}” came “{seen.tokens[i + 1]}”, given {share_in_words(given[i])}: "
            f"{in_digits(times[i])} times less than an even chance",
        )
        for i in worst
    ]  # fmt: skip


def share_in_words(chance: float) -> str:
    """A chance as a percentage, and a very small one as one in so many.

    >>> share_in_words(0.25), share_in_words(2.3e-6), share_in_words(0.0)
    ('25 %', '1 in 430,000', 'less than 1 in 1,000,000,000')
    """
    if chance >= 1e-4:
        return f"{100 * chance:.2g} %"
    return f"1 in {in_digits(1 / chance)}" if chance >= 1e-9 else "less than 1 in 1,000,000,000"


def in_digits(value: float, figures: int = 2) -> str:
    """A number rounded to some significant figures, without an exponent.

    >>> in_digits(1.114), in_digits(30780.0), in_digits(22552.0, 3)
    ('1.1', '31,000', '22,600')
    """
    rounded = float(f"{value:.{figures}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (figures - 1) else f"{rounded:g}"
