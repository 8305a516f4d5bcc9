"""Why does this head look here? One attention weight, traced to the parts of the stream that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses._captures import check_reads_text
from langscape.analyses._text_effects import looks
from langscape.data import Progress, Shown, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import FirstTokens, Head, Layer, Model, Text
from langscape.errors import SettingsError, not_there
from langscape.io.codec import noun
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")
TOP = 8
"""Parts of each side, and pairs, that are shown."""

OTHERS = 6
"""So many other heads are taken away to compare with."""

SLIGHT = 0.05
"""A weight below which a head hardly looks."""

CLEAR = 0.2
"""A weight from which on a head clearly looks at a token."""

QueryToken = Annotated[
    int | None,
    Setting(
        "Query",
        "The token that looks, numbered from 0; if left out, the last of the text where it looks clearly at "
        "another, and else the one that does so most.",
        ge=0,
    ),
]
KeyToken = Annotated[
    int | None,
    Setting(
        "Key",
        "The token that is looked at; if left out, the strongest but the first and [SEP] or the like.",
        ge=0,
    ),
]
Confirm = Annotated[
    int,
    Setting("Confirm", "How many parts of each side are taken away to see whether it holds.", ge=0, le=20),
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Why(Shown):
    """One weight of a head, and what made it.

    weight    from query to key; score is its score before softmax
    contrast  the score beyond the mean of the other keys in sight, without the first: what is explained
    key_parts, query_parts   the parts that add most to the contrast, on the key's and the query's side
    key_adds, query_adds     what they add; key_without, query_without the weight where a part has its mean
              (NaN where it was not tried)
    roles     what heads among these parts, and the head itself, look like: "16.0" → "previous-token"
    pairs     (part, part) names of the strongest pairs, query side first, pair_adds what they add
    left      the share of the contrast that these pairs leave
    seen      how many keys the query sees: even attention gives each of them one of so many
    most      the key that has most of the query's weight, and most_weight what it has
    others    the weight without each of some earlier heads that are not among the parts; empty in layer 0
    error     how far the sum of all parts is from the model's own scores, at most
    """

    model: str
    layer: int
    head: int
    query: int
    key: int
    tokens: tuple[str, ...]
    weight: float
    score: float
    contrast: float
    key_parts: tuple[str, ...]
    key_adds: np.ndarray
    key_without: np.ndarray
    query_parts: tuple[str, ...]
    query_adds: np.ndarray
    query_without: np.ndarray
    pairs: tuple[tuple[str, str], ...]
    pair_adds: np.ndarray
    left: float
    error: float
    seen: int
    others: np.ndarray
    parts: int
    roles: Mapping[str, str]
    most: int
    most_weight: float
    notes: tuple[str, ...] = ()

    def view(self, title: str | None = None) -> View:
        """Both sides and the pairs as three tables."""
        from langscape.views import Matrix, matrices

        sides = [
            Matrix(
                name, [self._called(part) for part in parts], ["adds", "weight lost without it"],
                np.stack([adds / max(abs(self.contrast), 1e-9), self.weight - without], 1), "signed", 0.0, 3,
                f"adds: share of what is explained; lost: of the weight {self.weight:.3f}",
                row_actions=[self._without(part) for part in parts],
            )
            for name, parts, adds, without in (
                ("What the key brings", self.key_parts, self.key_adds, self.key_without),
                ("What the query brings", self.query_parts, self.query_adds, self.query_without),
            )
        ]  # fmt: skip
        named = [f"{one} × {other}" for one, other in self.pairs]
        shares = (self.pair_adds / max(abs(self.contrast), 1e-9))[:, None]
        both = Matrix(
            "Pairs, query × key", named, ["adds"], shares, "signed", 0.0, 2, "share of what is explained"
        )
        return matrices(
            [*sides, both],
            title=title or self.named,
            subtitle=f"{self.sentence} {self.subtitle}",
            row_name="part",
            notes=self.notes,
        )

    def _called(self, part: str) -> str:
        role = self.roles.get(part)
        return f"{part} · {role}" if role else part

    @property
    def sentence(self) -> str:
        """What was found, in a sentence: the part that adds most on either side, and whether it holds."""
        sides = (
            ("key", self.key_parts, self.key_adds, self.key_without),
            ("query", self.query_parts, self.query_adds, self.query_without),
        )
        side, parts, adds, without = max(sides, key=lambda one: one[2][0])
        itself, part, left = f"{self.layer}.{self.head}", parts[0], float(without[0])
        name, own = (f"{one} ({self.roles[one]})" if one in self.roles else one for one in (part, itself))
        if self.weight < SLIGHT:
            return (
                f"{own} hardly looks here: its weight is {self.weight:.2f}. What {name} writes at the {side} "
                "adds most to the score, and says little while the weight is so small; take another query."
            )
        share = 100 * float(adds[0]) / max(abs(self.contrast), 1e-9)
        said = f"What {name} writes at the {side} adds most: {share:.0f} % of why {own} looks here"
        if part == "embedding":
            what = "the word itself, with its place,"
            said = f"{what.capitalize()} at the {side} adds most: {share:.0f} % of why {own} looks here"
        if left != left:
            return f"{said}. {self._untried(part)}"
        if part == "embedding":
            went = f"the weight goes from {self.weight:.2f} to {left:.2f}"
            return f"{said}; without it, and so without all that later parts made of it, {went}."
        return f"{said}; without it {self._went(left)}."

    def _went(self, left: float) -> str:
        """What the weight becomes, beside what it becomes without other heads, and what that says."""
        beside, least = "", self.weight
        if len(self.others):
            least = float(self.others.min())
            beside = (
                f" (without each of {len(self.others)} other heads, {least:.2f} to "
                f"{float(self.others.max()):.2f})"
            )
        holds = left < self.weight / 2 and left < least
        verdict = "so this holds" if holds else "so it is not needed for it"
        return f"the weight goes from {self.weight:.2f} to {left:.2f}{beside}, {verdict}"

    def _untried(self, part: str) -> str:
        """Why the strongest part was not taken away, and what the strongest that was did."""
        from langscape.models.score_parts import can_be_taken_away

        why = (
            "“Confirm” is 0, so nothing was taken away"
            if can_be_taken_away(part)
            else "It is the same at every token and cannot be taken away"
        )
        names = (*self.key_parts, *self.query_parts)
        without = np.concatenate([self.key_without, self.query_without])
        if np.isnan(without).all():
            return f"{why}; a larger “Confirm” tries the other parts."
        at = int(np.nanargmin(without))
        return f"{why}. Of the parts that were, {names[at]} counts most: {self._went(float(without[at]))}."

    def _without(self, part: str) -> dict[str, Any] | None:
        """The run without a part, at this head before and after; None for embeddings and norms."""
        from langscape.views.matrices import action

        if not (part[0].isdigit() or part.startswith("MLP ")):
            return None
        written = part.replace("MLP", "mlp") if part.startswith("MLP ") else f"head {part}"
        where = {"attention.with.layer": self.layer, "attention.with.head": self.head}
        label = f"Take {part} away, and see {self.layer}.{self.head} before and after"
        return action(label, "edit", {"edits": [f"{written} mean"]}, picture="attention", **where)

    @property
    def named(self) -> str:
        """What is asked."""
        query, key = (self.tokens[at].strip() or self.tokens[at] for at in (self.query, self.key))
        return f"Why {self.layer}.{self.head} of {self.model} looks from “{query}” at “{key}”"

    @property
    def rest(self) -> str:
        """What the pairs that are shown leave of the contrast, in words."""
        if self.left >= 0:
            return f"these pairs leave {100 * self.left:.0f} % of the contrast"
        return f"all other pairs together take {-100 * self.left:.0f} % of the contrast away again"

    @property
    def subtitle(self) -> str:
        """The weight and its score."""
        return (
            f"From token {self.query} to token {self.key}: weight {self.weight:.2f}{self._elsewhere}; even "
            f"attention to the {self.seen} tokens in sight would be {1 / self.seen:.3f}. Explained is the "
            f"score before softmax beyond the mean of the other keys, {self.contrast:+.2f}."
        )

    @property
    def _elsewhere(self) -> str:
        """Where most of the weight goes, if that is another key."""
        if self.most == self.key:
            return ", the most of all"
        name = self.tokens[self.most].strip() or self.tokens[self.most]
        return f", while {self.most_weight:.2f} goes to “{name}” ({self.most})"

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per part (.csv)."""
        from langscape.views import write
        from langscape.views.table import write_columns

        path = Path(path)
        if path.suffix.lower() != ".csv":
            return write(self.view(title), path)
        sides = ["key"] * len(self.key_parts) + ["query"] * len(self.query_parts)
        return write_columns(
            {
                "side": np.array(sides, object),
                "part": np.array([*self.key_parts, *self.query_parts], object),
                "adds": np.concatenate([self.key_adds, self.query_adds]),
                "weight_without": np.concatenate([self.key_without, self.query_without]),
            },
            path,
        )


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    where = f"{settings['layer']}.{settings['head']}"
    return f"Why {where} of {model_title(settings['model'])} looks where it looks"


@picture("matrices", name="why")
def why_picture(found: Why, context: Any) -> View:
    """What the key and the query hold that made the weight, and the pairs."""
    return found.view()


def lines(found: Why) -> list[str]:
    """Both sides and the pairs, as lines of text."""
    out = [found.named, found.subtitle, found.sentence]
    for side, parts, adds, without in (
        ("key side", found.key_parts, found.key_adds, found.key_without),
        ("query side", found.query_parts, found.query_adds, found.query_without),
    ):
        out.append(f"{side:<14} {'adds':>7}  weight without it")
        for name, value, weight in zip(parts, adds, without, strict=True):
            tried = "" if weight != weight else f"{found.weight:.2f} → {weight:.2f}"
            role = found.roles.get(name, "")
            out.append(f"  {name:<12} {value:+7.2f}  {tried:<11}  {role}".rstrip())
    out.append("pairs (query × key)")
    pairs = zip(found.pairs, found.pair_adds, strict=True)
    out += [f"  {one} × {other}: {value:+.2f}" for (one, other), value in pairs]
    out.append(found.rest)
    return out


@analysis(
    version=6,
    title="Why a head looks here",
    room="test",
    pictures=(why_picture,),
    describe=_title,
    lines=lines,
    formats=FORMATS,
    example={"model": "decoder", "text": "sample-pattern", "layer": 18, "head": 6},
    group="measure",
    examples=(
        "langscape why decoder --text letter.txt --layer 18 --head 6",
        "langscape why decoder --text letter.txt --layer 18 --head 6 --query 9 --key 4 --out why.html",
    ),
)
def why(
    model: Model = "decoder",
    text: Text = None,
    *,
    layer: Layer = 18,
    head: Head = 6,
    query: QueryToken = None,
    key: KeyToken = None,
    confirm: Confirm = 3,
    first_tokens: FirstTokens = 64,
    progress: Progress | None = None,
) -> Why:
    """Trace one attention weight to the heads, MLPs and embeddings that made it, and try whether it holds.

    The score before softmax is split exactly, by what each earlier part added to the stream at the query and
    at the key. What is shown is a contrast: this key against the mean of the others in sight, without the
    first. Parts are direct: what a head does through later ones counts as theirs.

    >>> text = "The cat sat on the mat, and the dog sat by the cat."
    >>> found = why("default", text, layer=2, head=3, confirm=0)
    >>> len(found.key_parts), found.error < 1e-4
    (8, True)
    """
    from langscape.models.inputs import Reading, rows
    from langscape.models.score_parts import can_be_taken_away, score_parts, weight_without
    from langscape.models.unedited import read_unedited

    network = opened(model)
    check_reads_text(network)
    row = next(iter(rows(network, [text], None, Reading("start", first_tokens=first_tokens))))
    ids, count = list(row.source.ids), len(row.source)
    split = score_parts(network, ids, layer)
    weights = split.weights
    if not 0 <= head < len(weights):
        raise not_there("head", head, range(len(weights)))
    words = np.flatnonzero(~np.asarray(row.source.special, bool))
    asked = _query(weights[head], words, count) if query is None else query
    for name, number in (("query", asked), ("key", 0 if key is None else key)):
        if number >= count:
            raise not_there(name, number, range(count), "this text")
    looked = key
    if looked is None:
        others = words[words > 0]
        looked = int(others[weights[head, asked, others].argmax()]) if len(others) else 0
    if weights[head, asked, looked] <= 0:
        raise SettingsError(f"token {asked} does not see token {looked}; name a key before it")
    contrast = split.contrast(head, asked, looked)
    total = float(contrast.sum())
    sides = []
    for axis in (0, 1):  # over query parts: the key's side
        adds = contrast.sum(axis=axis)
        first = np.argsort(-adds)[:TOP]
        names = tuple(split.names[int(at)] for at in first)
        without = np.full(len(names), np.nan)
        tried = [at for at, name in enumerate(names) if can_be_taken_away(name)][:confirm]
        for at in tried:
            own = (looked, asked)[axis]  # where an embedding is taken away
            without[at] = weight_without(network, ids, names[at], layer, head, asked, looked, own)
        sides.append((names, adds[first], without))
    among = {*sides[0][0], *sides[1][0]}
    free = [name for name in split.names if name[0].isdigit() and name not in among]
    drawn = np.random.default_rng(0).permutation(len(free))[: OTHERS if confirm else 0]
    others = [weight_without(network, ids, free[at], layer, head, asked, looked) for at in drawn]
    best = np.argsort(-contrast, axis=None)[:TOP]
    places = [np.unravel_index(at, contrast.shape) for at in best]
    pairs = tuple((split.names[int(a)], split.names[int(b)]) for a, b in places)
    pair_adds = contrast.ravel()[best]
    notes = [
        "Parts are direct: what a head does through later ones counts as theirs. What a part adds says "
        "little of what taking it away does; the weight that is lost without it does",
        f"{len(split.names)} parts were found; their sum is off from the model's own score by at most "
        f"{split.error:.0e}",
    ]
    if any(site.softcap or site.biased for site in network.layout.sites):
        notes.append("Scores are bent or biased after this sum; what is split is the score before that")
    name = title_of(model)
    tags = looks(read_unedited(network, ids))[1]
    shown = {*sides[0][0], *sides[1][0], f"{layer}.{head}"}
    roles = {
        f"{at}.{number}": str(tag)
        for (at, number), tag in np.ndenumerate(tags)
        if tag and f"{at}.{number}" in shown
    }
    (key_parts, key_adds, key_without), (query_parts, query_adds, query_without) = sides
    return Why(
        name, layer, head, asked, looked, tuple(row.source.tokens().readable),
        float(weights[head, asked, looked]), float(split.own[head, asked, looked]), total, key_parts,
        key_adds, key_without, query_parts, query_adds, query_without, pairs, pair_adds,
        1 - float(pair_adds.sum()) / total if total else float("nan"), split.error,
        int((weights[head, asked] > 0).sum()), np.array(others), len(split.names), roles,
        int(weights[head, asked].argmax()), float(weights[head, asked].max()), tuple(notes),
    )  # fmt: skip


def _query(weights: np.ndarray, words: np.ndarray, count: int) -> int:
    """The last word where it looks clearly at another but the first token, else the one that does most."""
    if not len(words):
        return count - 1
    most = np.zeros(len(words))
    for at, word in enumerate(words):
        keys = [key for key in words if key not in (0, word)]
        most[at] = weights[word, keys].max() if keys else 0.0
    return int(words[-1] if most[-1] >= CLEAR else words[most.argmax()])
