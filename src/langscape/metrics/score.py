"""What a score is, its verdict in words, and the registry by name; the entries are in scores.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langscape.metrics.null import BESIDE, Null

Place = Literal[
    "map",
    "inserted",
    "head map",
    "hidden map",
    "map of heads",
    "atlas",
    "corpus",
    "query-key map",
    "ellipses",
    "comparison",
    "affinity",
    "flow",
]
"""Where a score applies.

map            a map of vectors; the function takes `TwoSpaces` and gives a value per judged row
inserted       a point placed on a finished map; takes `InsertedPoints` and gives a value per point
head map       a map of tokens by the attention of a head
hidden map     a map of tokens, or of texts, by their hidden states
map of heads   a map of heads, near where they attend alike
atlas          a row per head; takes `HeadWeights` and gives (layer, head), NaN where there is no occasion
corpus         a row per head, over many texts: a mean with its interval
query-key map  takes `QueryKeyPlaces` and gives a `PointScores`, whose rows are queries
ellipses       a map of distributions
comparison     two maps of the same items
affinity       a column of the items, known before there is a map
flow           a picture of vectors on their way

The engine computes every score of the first two, and the analyses those of an atlas and of a query–key map,
without being told of each.
"""

Format = Literal["percent", "number", "count", "tiny"]

K = 10
"""Neighbours that `local`, `ndcg` and `trustworthiness` look at, on every map and for inserted points."""


GOOD, PARTLY = 0.4, 0.1
"""How far from its null (0) to its best value (1) a score calls a picture good, or partly to be read."""

NOT_TO_BE_READ = "not to be read"
"""The verdict on what is no better than chance."""

_ROUNDING = 1e-9


def neighbours(n: int) -> int:
    """The k of a map of n points: 10, or fewer than half the points.

    >>> neighbours(600), neighbours(9)
    (10, 4)
    """
    return max(1, min(K, (n - 1) // 2))


@dataclass(frozen=True)
class Score:
    """One score.

    name      as in `Map.quality`, `Map.per_point`, the columns of an atlas and of files
    label     as people read it
    meaning   one plain sentence; {k} stands for the number of neighbours
    computed  the function for each place where it applies; None where the place computes it with others
    symbol    as a formula writes it
    k         how many neighbours are looked at, where the score has such a number
    low, high the range; None where it is open
    better    which way is better, "neither" where a score only describes
    chance    what chance would give
    reads     a longer word on how to read it, for the documentation
    format    percent: 53.1 %, number: 0.531, count: 1,234, tiny: 0.00002
    null      what a picture without the information is; its value stands beside the score's, as name_null,
              with the range of nine in ten such pictures, name_null_low and name_null_high
    nothing   the same in a word or two, as a verdict names it: "key popularity alone"
    beyond    what a better and a worse value is called, where "better" says nothing: ("less", "more") moved
    unjudged  why it has no null, although it has a better and a worse: it is then no score of trust
    spread    True if the standard deviation over points stands beside it, as name_sd
    headline  True if the command's summary names it
    """

    name: str
    label: str
    meaning: str
    computed: Mapping[Place, Callable[..., Any] | None]
    symbol: str = ""
    k: int | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    better: Literal["higher", "lower", "neither"] = "higher"
    chance: str = ""
    null: str = ""
    nothing: str = "chance"
    beyond: tuple[str, str] = ("better", "worse")
    unjudged: str = ""
    reads: str = ""
    format: Format = "number"
    spread: bool = False
    headline: bool = True

    @property
    def word(self) -> str:
        """The label as it stands within a sentence.

        >>> SCORES["local"].word, SCORES["ndcg"].word
        ('local', 'nDCG')
        """
        return self.label if not self.label[1:2].islower() else self.label[0].lower() + self.label[1:]

    @property
    def compares(self) -> bool:
        """Whether it says how two pictures differ, and not how far one can be read.

        >>> SCORES["moved"].compares, SCORES["stability"].compares
        (True, False)
        """
        return set(self.computed) == {"comparison"}

    def text(self, value: float, sd: float = math.nan) -> str:
        """The value as it is shown, with its standard deviation if that is known.

        >>> SCORES["local"].text(0.531, 0.18), SCORES["global"].text(-0.0001), SCORES["global"].text(-0.25)
        ('53.1 % ± 18.0', '0.000', '−0.250')
        """
        if not math.isfinite(value):
            return "–"
        if self.format == "count":
            return f"{value:,.0f}"
        if self.format == "tiny":
            return f"{float(f'{value:.0e}'):.15f}".rstrip("0").rstrip(".")
        if self.format == "percent":
            shown = f"{100 * value:z.1f} %" + (f" ± {100 * sd:.1f}" if math.isfinite(sd) else "")
        else:
            shown = f"{value:z.3f}" + (f" ± {sd:.3f}" if math.isfinite(sd) else "")
        return shown.replace("-", "−")

    def verdict(self, value: float, null: Null) -> str:
        """What may be said of a picture with this value, beside pictures without the information.

        It is good from two fifths of the way between the null and the best value, and partly to be read from
        a tenth, if it is also better than all but one in twenty of these pictures.

        >>> kept, null = SCORES["kept"], Null(0.15, 0.05, 0.25)
        >>> kept.verdict(0.8, null), kept.verdict(0.3, null), kept.verdict(0.24, null)
        ('good', 'partly', 'not to be read')
        """
        way = self.way(value, null.mean)
        if not (math.isfinite(way) and null.known):
            return ""
        read = way >= PARTLY and self._side(value, null) > 0
        return ("good" if way >= GOOD else "partly") if read else NOT_TO_BE_READ

    def way(self, value: float, null: float) -> float:
        """How far the value lies on the way from the null (0) to the best reachable (1); NaN if unknown.

        >>> round(SCORES["kept"].way(0.55, 0.1), 6)
        0.5
        """
        best = self.high if self.better == "higher" else self.low
        if best is None or not (math.isfinite(value) and math.isfinite(null)):
            return math.nan
        return (value - null) / (best - null) if best != null else 0.0

    def _side(self, value: float, null: Null) -> int:
        """1 if the value is better than what pictures without the information reach, −1 if worse, else 0."""
        up = 1 if self.better == "higher" else -1
        return up if value > null.high + _ROUNDING else -up if value < null.low - _ROUNDING else 0

    def in_words(self, value: float, null: Null) -> str:
        """The verdict in words, against what pictures without the information have; empty if not known.

        >>> score = SCORES["specific_order"]
        >>> score.in_words(0.465, Null(0.007, -0.1, 0.1)), score.in_words(0.465, Null(0.007, -0.5, 0.5))
        ('far better than key popularity alone', 'not told apart from key popularity alone')
        >>> score.in_words(0.09, Null(0.007, -0.08, 0.08)), score.in_words(-0.2, Null(0.007, -0.1, 0.1))
        ('hardly better than key popularity alone', 'worse than key popularity alone')
        """
        way = self.way(value, null.mean)
        if not (math.isfinite(way) and null.known):
            return ""
        better, worse = self.beyond
        if self._side(value, null) != math.copysign(1, way):
            return f"not told apart from {self.nothing}"
        how = "far " if way >= GOOD else "hardly " if abs(way) < PARTLY else ""
        return f"{how}{better if way > 0 else worse} than {self.nothing}"

    def against(self, value: float, null: Null) -> str:
        """Verdict and null in brackets, to stand behind the value; empty if not known.

        >>> SCORES["local"].against(0.6, Null(0.1, 0.05, 0.15)), SCORES["local"].against(0.6, Null(0.1))
        (' (far better than chance, 10.0 %)', '')
        """
        words = self.in_words(value, null)
        return f" ({words}, {self.text(null.mean)})" if words else ""

    def explained(self, value: float, null: Null) -> str:
        """The verdict as a sentence, with the range that pictures without the information have."""
        words = self.in_words(value, null)
        if not words:
            return ""
        few = " So much is reached by chance too." if words.startswith("not told") else ""
        return (
            f" For {self.null} it is {self.text(null.mean)} on average, and from {self.text(null.low)} to "
            f"{self.text(null.high)} in nine of ten cases: this one is {words}.{few}"
        )

    def sentence(self, k: float | None = None) -> str:
        """The meaning, with the number of neighbours filled in: k, or the score's own."""
        k = self.k if k is None else k
        return self.meaning.format(k="" if k is None else f"{k:g}")


SCORES: dict[str, Score] = {}
"""All scores by name, in the order in which they are shown."""

HOW = ("k", "shared_k", "rows", "before", "area_held_rows", "area_held_least", "area_held_items", "dubious")
"""Entries of `Map.quality` that say how scores were measured: neighbours (those of two maps that are compared
apart), points judged, items then; rows of an item in the middle and at least; and the `local` that one in
twenty points of a random layout reach."""


def register(score: Score) -> Score:
    """Make a score known everywhere; a name can be taken once."""
    if score.name in SCORES:
        raise ValueError(f"the score {score.name!r} is registered already; give it another name")
    SCORES[score.name] = score
    return score


def applying(place: Place, *, computed: bool = False) -> list[Score]:
    """The scores of a place in their order; with computed=True those that have their own function there.

    >>> [score.name for score in applying("inserted", computed=True)]
    ['local', 'global']
    """
    here = [score for score in SCORES.values() if place in score.computed]
    return [score for score in here if score.computed[place] is not None] if computed else here


def score_of(name: str) -> Score | None:
    """The score that an entry of `Map.quality`, `Map.per_point` or an atlas belongs to; None for others.

    Standard deviations (local_sd), nulls (kept_null), means over inserted points (inserted_local) and what a
    flat picture has (flat_local) belong to their score.

    >>> score_of("inserted_local").name, score_of("local_sd").name, score_of("colour of hair")
    ('local', 'local', None)
    """
    name = name.removeprefix("flat_")
    if name in SCORES:
        return SCORES[name]
    for end in BESIDE:
        name = name.removesuffix(end)
    if name in SCORES:
        return SCORES[name]
    inserted, deviation = SCORES.get(name.removeprefix("inserted_")), SCORES.get(name.removesuffix("_sd"))
    if name.startswith("inserted_") and inserted and "inserted" in inserted.computed:
        return inserted
    return deviation if deviation and deviation.spread else None


def described(name: str, meaning: str | None = None) -> dict[str, str]:
    """Name, label, sentence and format of a score or column as a view carries them."""
    score = SCORES.get(name)
    if score is None and name.endswith("_null") and (of := SCORES.get(name.removesuffix("_null"))):
        label, sentence = (
            f"{of.label} of {of.nothing}",
            meaning or f"The same of {of.null.removesuffix(',')}.",
        )
        return {"name": name, "label": label, "meaning": sentence, "format": of.format}
    if score is None:
        label = name.replace("_", " ")
        return {"name": name, "label": label[:1].upper() + label[1:], "meaning": meaning or "", "format": ""}
    sentence = score.sentence() if meaning is None else meaning
    return {"name": name, "label": score.label, "meaning": sentence, "format": score.format}
