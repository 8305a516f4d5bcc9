"""The colours and shapes of every picture; a test holds them equal to `web/src/lib/colour.ts`."""

from __future__ import annotations

# Chosen so that the closest two stay 0.13 apart in OKLab under full protanopia and
# deuteranopia as well; Okabe–Ito's closest pair comes to 0.07.
CATEGORIES = ("#315ed7", "#e35c00", "#23d0cf", "#860d76", "#e0ae04", "#48540a", "#9d86fd", "#9a6489")

# Even steps of OKLab lightness, more is darker.
RAMP = ("#e5d67f", "#aecc77", "#6ebe80", "#1eac90", "#0d9298", "#047898", "#035b9e", "#29408c", "#322474")

# From the ground up, so that a weight of nothing is not seen.
HEAT = ("#ffffff", "#dfe9fb", "#b3cbf5", "#7ea6ec", "#4b7edd", "#2b59bd", "#1a3a8a", "#0f2257")

# What is below 0 beside what is above it: from the ground down, to as dark an end.
BELOW = ("#ffffff", "#fce6d4", "#f6c9a8", "#ee9a5c", "#e0701f", "#b85206", "#853803", "#522002")

SIDES = 6
"""How many of the colours are used where both stand side by side: the last ones are nearly black in both."""

NEUTRAL = "#9aa0a8"
"""For points without a value, and for categories beyond the last one with a mark of its own."""

NO_VALUE = "(none)"
"""What stands in a legend for items without a value."""

SHAPES = ("circle", "triangle", "diamond", "square")
"""After eight categories the colours come again with the next shape; a triangle is least like a circle."""

VERDICTS = {"good": "#047898", "partly": "#c07f00", "not to be read": "#c2332b", "evenly spread": "#9aa0a8"}
"""How far a map can be read, the best first, and the colour of each verdict; others are grey."""

DISTINCT = len(CATEGORIES) * len(SHAPES)


def category_mark(rank: int) -> tuple[str, str]:
    """The colour and the shape of the category of this rank; grey circles from `DISTINCT` on and below 0."""
    if not 0 <= rank < DISTINCT:
        return NEUTRAL, SHAPES[0]
    return CATEGORIES[rank % len(CATEGORIES)], SHAPES[rank // len(CATEGORIES)]
