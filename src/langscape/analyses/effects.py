"""What each head, MLP or layer does, and groups of them: taken away, estimated, or from the stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from langscape.analyses._group_effects import (
    GROUP_WORDS,
    OF_GROUPS,
    GroupEffects,
    Groups,
    GroupsAgainst,
    group_effects,
    group_rows,
    joined,
)
from langscape.analyses._head_parts import Column, Unit, head_texts
from langscape.analyses._head_table import HeadTable
from langscape.analyses._text_effects import (
    Corpus,
    Draws,
    EffectTokens,
    How,
    PartKinds,
    TextEffects,
    WhatIsMeasured,
    interval,
    text_effects,
)
from langscape.data import Items, Progress, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import each, stored_file
from langscape.declarations.settings import Cluster, Model, Seed, Text, Workers
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.models.display_names import model_title, title_of
from langscape.sources.word_lookup import counted

if TYPE_CHECKING:
    from langscape.models.effects import PartName

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")

MostTexts = Annotated[
    int, Setting("Texts at most", "So many texts are drawn evenly from all there are.", ge=1, le=1000)
]
Verify = Annotated[int, Setting("Verify", "How many parts are taken away after screening.", ge=1, le=10_000)]
Sort = Annotated[str, Setting("Sort", "Rank parts by this column.")]
Show = Annotated[int, Setting("Show", "How many parts to print; 0 prints all.", ge=0)]

_SCREENED = ("estimate", "share")
_SHARE = "share: how far what a part adds is from its mean, over the length of the stream it is added to"


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Effects(HeadTable):
    """What each part of a model does, over one text or several.

    how      "share", "estimate", "screen" or "exact"
    texts    how many were read, and tokens how many in all
    scores   a row per part: part, layer, head (-1 for MLPs and layers), matters with its 95 % interval over
             texts, source (what `matters` is: exact, estimate or share), effect, loss_change, estimate,
             share, interest (focused attention), tags, and found: "none found" where the effect is below
             the floor. Groups are rows of part "group", and then there are group (its name), members, alone
             (the sum of what its parts do alone, where that is known), others and others_most (the mean and
             the most of random groups of as many parts of the same layers), below (how many of these do less)
             and drawn (how many there are)
    measure  what is compared with the unedited run, in words
    floor    what rounding makes of an edit that changes nothing
    cut      whether a text goes on after the tokens that were read of it
    """

    model: str
    how: str
    measure: str
    texts: int
    tokens: int
    scores: Items
    floor: float
    notes: tuple[str, ...] = ()
    cut: bool = False

    def row_columns(self) -> Mapping[str, Any]:
        """The table, a row per part."""
        return self.scores.row_columns()

    def ranked(self, by: str | None = None) -> np.ndarray:
        """Rows of `scores`, the highest first; what was taken away stands before what was estimated."""
        by = by or "matters"
        order = super().ranked(by)
        if by != "matters" or self.how != "screen":
            return order
        estimated = (self.scores.columns["source"] != "exact")[order]
        return order[np.argsort(estimated, kind="stable")]

    def view(self, title: str | None = None, *, scatter: bool = False) -> View:
        """What each part attends to against what it does, and the table of all; or the scatter alone."""
        from langscape.views import effects

        return effects(
            self.scores,
            self.ranked(),
            title=title or f"What the parts of {self.model} do",
            measure=self.measure,
            how=self.how,
            texts=self.texts,
            tokens=self.tokens,
            cut=self.cut,
            notes=self.notes,
            scatter=scatter,
        )


def gather_effects(
    found: Sequence[TextEffects],
    *,
    model: str,
    how: str,
    groups: Sequence[tuple[str, list[str]]] = (),
    taken: Sequence[GroupEffects] = (),
) -> Effects:
    """Texts → what each part does over all of them, and each group: its name, its parts, and its effects."""
    stacked = {
        name: np.stack([getattr(one, name) for one in found])
        for name in ("effect", "loss_change", "estimate", "share", "interest")
    }
    first = found[0]
    exact = np.isfinite(stacked["effect"]).all(axis=0)
    best = np.where(exact, stacked["effect"], stacked["share" if how == "share" else "estimate"])
    mean, low, high = interval(best)
    floors = [one.floor for one in found]
    floor = float(max(floors)) if np.isfinite(floors).all() else float("nan")
    below = exact & (mean <= floor)
    means = {name: values.mean(axis=0) for name, values in stacked.items()}
    source = np.where(exact, "exact", "share" if how == "share" else "estimate").astype(object)
    columns: dict[str, Any] = {
        "part": np.array(first.kinds, object),
        "layer": first.layers,
        "head": first.heads,
        "matters": mean,
        "matters_low": low,
        "matters_high": high,
        "source": source,
        "found": np.where(below, "none found", "").astype(object),
        **means,
        "tags": np.array(
            [common_tags(names) for names in zip(*(one.tags for one in found), strict=True)], object
        ),
    }
    labels = list(first.names)
    if groups:
        rows = group_rows(groups, taken, dict(zip(labels, means["effect"].tolist(), strict=True)))
        labels = [*(name for name, _ in groups), *labels]
        columns = {name: joined(rows, columns, name) for name in [*columns, *OF_GROUPS]}
    notes = list(dict.fromkeys(note for one in found for note in one.notes))
    tokens = sum(one.tokens for one in found)
    words = [*_words(how), *([GROUP_WORDS] if groups else [])]
    cut = any(one.cut for one in found)
    measure = _SHARE if how == "share" else first.measure
    return Effects(
        model, how, measure, len(found), tokens, Items(labels, columns), floor, (*words, *notes), cut
    )


def _words(how: str) -> list[str]:
    """What was done, and what the numbers do not say."""
    mean = "by its own mean over all tokens but the first"
    said = {
        "share": [
            "From one unedited run: a direct share, nothing was taken away. It ranks heads much as taking "
            "them away does, and says nothing of what a part does through later ones"
        ],
        "estimate": [
            "Parts are estimated from gradients of the unedited run: none was taken away alone. Strong "
            "effects and those of the first two layers come out too low"
        ],
        "screen": [
            "The parts that an estimate or their share of the stream put first were taken away one at a "
            f"time: each was replaced {mean}. The others were not: theirs are estimates, which come out too "
            "low where effects are strong"
        ],
        "exact": [
            f"Every part was taken away alone: it was replaced {mean}. Effects are total, through all "
            "later parts"
        ],
    }[how]
    alone = (
        "A part that does little alone may be one of several that do the same: take groups away to see. "
        "Effects belong to these texts"
    )
    return [*said, alone]


def common_tags(tags: Sequence[str]) -> str:
    """The names that a head has on at least half of the texts."""
    listed = [name for one in tags for name in one.split(", ") if name]
    return ", ".join(name for name in dict.fromkeys(listed) if listed.count(name) * 2 >= len(tags))


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    over = names.get("texts") or names.get("text", "a sample text")
    parts = {"heads": "heads", "mlps": "MLPs", "layers": "layers", "all": "parts"}[settings["parts"]]
    return f"What the {parts} of {model_title(settings['model'])} do over {over}"


def _ignores(settings: Mapping[str, Any]) -> Collection[str]:
    """Settings that mean nothing for this way."""
    how = settings["how"]
    return {
        *(() if how == "screen" else ("verify",)),
        *(() if how in ("estimate", "screen") else ("draws",)),
        *(() if settings["groups"] else ("others",)),
        *(("measure",) if how == "share" else ()),
    }


@picture("effects", name="effects")
def effects_picture(found: Effects, context: Any) -> View:
    """What each part attends to against what it does, and the table of all."""
    return found.view(context.title)


@picture("effects", name="scatter")
def scatter_picture(found: Effects, context: Any) -> View:
    """What heads attend to against what they do, alone and large."""
    return found.view(context.title, scatter=True)


def lines(found: Effects, *, sort: Sort = "matters", show: Show = 15) -> list[str]:
    """The parts ranked, as lines of text."""
    columns, order = found.scores.columns, found.ranked(sort)
    over = f"{counted(found.texts, 'text', 'texts')}, {found.tokens:,} tokens"
    out = [f"{found.measure}; {over}"]
    wide = max(9, *(len(found.scores.labels[int(row)]) for row in order[: show or len(order)]))
    out.append(
        f"{'part':<{wide}} {'matters':>9}  {'95 % interval':<19} {'by':<9} {'Δ loss':>8} {'share':>7} "
        f"{'focused':>8}  names"
    )
    for row in order[: show or len(order)]:
        low, high = columns["matters_low"][row], columns["matters_high"][row]
        interval = "–" if low != low else f"{low:.4f}–{high:.4f}"
        value = columns["found"][row] or f"{columns['matters'][row]:.4f}"
        numbers = [f"{_number(columns[name][row], digits):>{wide}}" for name, digits, wide in _SHOWN]
        out.append(
            f"{found.scores.labels[int(row)]:<{wide}} {value:>9}  {interval:<19} {columns['source'][row]:<9} "
            f"{' '.join(numbers)}  {columns['tags'][row]}".rstrip()
        )
    from langscape.views.effects import agreement

    rank = agreement(columns["interest"], columns["matters"])
    if rank is not None:
        out.append(f"rank correlation of focused attention and of what heads do: {rank:.2f}")
    return out


_SHOWN = (("loss_change", 3, 8), ("share", 3, 7), ("interest", 3, 8))


def _number(value: float, digits: int) -> str:
    return "–" if value != value else f"{value:.{digits}f}"


@analysis(
    version=5,
    title="What parts do",
    room="test",
    pictures=(effects_picture, scatter_picture),
    uses=(head_texts, text_effects, group_effects),
    describe=_title,
    ignores=_ignores,
    lines=lines,
    formats=FORMATS,
    example={"text": "sample-harbour", "how": "exact", "first_tokens": 512},
    group="measure",
    examples=(
        "langscape effects default --text letter.txt --out effects.html",
        "langscape effects decoder --texts sotu --most 4 --parts heads --out effects.csv",
        "langscape effects decoder --groups induction --groups '16.0 18.6' --groups 'all but 16.0 18.6'",
    ),
)
def effects(
    model: Model = "default",
    text: Text = None,
    *,
    texts: Corpus = None,
    how: How = "screen",
    parts: PartKinds = "heads",
    groups: Groups = None,
    measure: WhatIsMeasured = "auto",
    verify: Verify = 30,
    draws: Draws = 4,
    others: GroupsAgainst = 20,
    first_tokens: EffectTokens = 64,
    unit: Unit = "auto",
    column: Column = None,
    most: MostTexts = 12,
    seed: Seed = 0,
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Effects:
    """Take heads, MLPs or layers of a model away and say how much each matters, beside what it attends to.

    A part is replaced by its own mean over the tokens but the first. Of a decoder the effect is the KL
    divergence of its next token, of an encoder how far its last hidden states move; `measure` takes the
    pooled vector or the classes of a classifier instead. `groups` are taken away together, each beside random
    groups like it. With `texts`, effects are means over several texts with their intervals, and `text` is
    not read.

    >>> found = effects("default", "The cat sat on the mat, and the dog sat by the cat.", how="exact")
    >>> len(found.scores), found.scores.columns["source"][0], bool((found.scores.columns["effect"] > 0).all())
    (72, 'exact', True)
    """
    from langscape.declarations.running import opened
    from langscape.models.effect_estimates import screening_order
    from langscape.models.part_groups import group_members, part_numbers
    from langscape.sources.texts import count_texts, read_texts

    if groups and how == "share":
        raise SettingsError("groups are taken away, and a share is not: take estimate, screen or exact")
    read: list[Any] = [text]
    if texts is not None:
        file = stored_file(head_texts, texts=texts, unit=unit, column=column, most=most, seed=seed)
        assert file is not None  # texts always have a name: lists are kept as files
        read = read_texts(file, 0, count_texts(file))
    common = {"model": model, "first_tokens": first_tokens, "seed": seed, "measure": measure}
    ways: dict[str, Any] = {"workers": workers, "cluster": cluster, "progress": progress}

    def over(what: Any, title: str, **more: Any) -> list[Any]:
        return list(each(what, [{**common, "text": one, **more} for one in read], title=title, **ways))

    def parted(title: str, **more: Any) -> list[TextEffects]:
        return over(text_effects, title, parts=parts, **more)

    if how == "share":
        found = parted("shares")
    elif how == "exact":
        found = parted("exact effects", exact=True)
    else:
        found = parted("estimates", estimated=True, draws=draws)
    named: dict[str, list[PartName]] = {}
    if groups:
        network, roles = opened(model), _role_heads(found)
        named = {one.strip(): group_members(network, one, roles) for one in groups}
    if how == "screen":
        order = screening_order(
            *(np.mean([getattr(one, name) for one in found], axis=0) for name in _SCREENED)
        )
        first = [found[0].names[int(at)] for at in order[:verify]]
        taken = parted("exact effects", exact=True, chosen=first)
        found = [replace(a, estimate=b.estimate) for a, b in zip(taken, found, strict=True)]
    name = title_of(model)
    together: list[GroupEffects] = []
    if named:
        numbers = {one: part_numbers(opened(model), members) for one, members in named.items()}
        together = over(group_effects, "groups", members=numbers, others=others)
    listed = [(one, [str(part) for part in members]) for one, members in named.items()]
    return gather_effects(found, model=name, how=how, groups=listed, taken=together)


def _role_heads(found: Sequence[TextEffects]) -> dict[str, list[PartName]]:
    """Role → the heads that have it on at least half of the texts; every role is there."""
    from langscape.metrics.roles import ROLES
    from langscape.models.effects import PartName

    first = found[0]
    heads: dict[str, list[PartName]] = {name: [] for name in ROLES}
    for at, names in enumerate(zip(*(one.tags for one in found), strict=True)):
        for name in common_tags(names).split(", "):
            if name:
                heads.setdefault(name, []).append(
                    PartName("head", int(first.layers[at]), int(first.heads[at]))
                )
    return heads
