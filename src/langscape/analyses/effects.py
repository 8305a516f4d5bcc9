"""What each head, MLP or layer does: taken away, estimated, or from its share of the stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from langscape.analyses._head_parts import Column, Unit, head_texts
from langscape.analyses._head_table import HeadTable
from langscape.analyses._text_effects import (
    Corpus,
    Draws,
    EffectTokens,
    How,
    PartKinds,
    TextEffects,
    text_effects,
)
from langscape.data import Items, Progress, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import each, stored_file
from langscape.declarations.settings import Cluster, Model, Seed, Text, Workers
from langscape.io.codec import noun
from langscape.models.display_names import model_title

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")

MostTexts = Annotated[
    int, Setting("Texts at most", "So many texts are drawn evenly from all there are.", ge=1, le=1000)
]
Verify = Annotated[int, Setting("Verify", "How many parts are taken away after screening.", ge=1, le=10_000)]
Sort = Annotated[str, Setting("Sort", "Rank parts by this column.")]
Show = Annotated[int, Setting("Show", "How many parts to print; 0 prints all.", ge=0)]

_MEASURES = {
    True: "mean KL divergence of the next token from the unedited run, in nats",
    False: "how far the last hidden states move, as a share of their length",
}
_SHARE = "share: how far what a part adds is from its mean, over the length of the stream it is added to"


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Effects(HeadTable):
    """What each part of a model does, over one text or several.

    how      "share", "estimate", "screen" or "exact"
    texts    how many were read, and tokens how many in all
    scores   a row per part: part, layer, head (-1 for MLPs and layers), matters with its 95 % interval over
             texts, source (what `matters` is: exact, estimate or share), effect, loss_change, estimate,
             share, interest (what it attends to), tags, and found: "none found" where the effect is below
             the floor
    floor    what rounding makes of an edit that changes nothing
    """

    model: str
    how: str
    decoder: bool
    texts: int
    tokens: int
    scores: Items
    floor: float
    notes: tuple[str, ...] = ()

    @property
    def measure(self) -> str:
        """What the numbers are, in words."""
        return _SHARE if self.how == "share" else _MEASURES[self.decoder]

    def row_columns(self) -> Mapping[str, Any]:
        """The table, a row per part."""
        return self.scores.row_columns()

    def ranked(self, by: str = "matters") -> np.ndarray:
        """Rows of `scores`, the highest first; what was taken away stands before what was estimated."""
        order = super().ranked(by)
        if by != "matters" or self.how != "screen":
            return order
        estimated = (self.scores.columns["source"] != "exact")[order]
        return order[np.argsort(estimated, kind="stable")]

    def view(self, title: str | None = None) -> View:
        """What each part attends to against what it does, and the table of all."""
        from langscape.views import effects

        return effects(
            self.scores,
            self.ranked(),
            title=title or f"What the parts of {self.model} do",
            measure=self.measure,
            how=self.how,
            texts=self.texts,
            tokens=self.tokens,
            notes=self.notes,
        )


def _interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over texts (the first axis) with the ends of its 95 % interval; NaN of one text."""
    from scipy.stats import t

    count = len(values)
    mean = values.mean(axis=0)
    if count < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    half = t.ppf(0.975, count - 1) * values.std(axis=0, ddof=1) / count**0.5
    return mean, np.maximum(mean - half, 0), mean + half


def gather_effects(found: Sequence[TextEffects], *, model: str, how: str, decoder: bool) -> Effects:
    """Texts → what each part does over all of them."""
    stacked = {
        name: np.stack([getattr(one, name) for one in found])
        for name in ("effect", "loss_change", "estimate", "share", "interest")
    }
    first = found[0]
    exact = np.isfinite(stacked["effect"]).all(axis=0)
    best = np.where(exact, stacked["effect"], stacked["share" if how == "share" else "estimate"])
    mean, low, high = _interval(best)
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
            [_common(names) for names in zip(*(one.tags for one in found), strict=True)], object
        ),
    }
    notes = list(dict.fromkeys(note for one in found for note in one.notes))
    tokens = sum(one.tokens for one in found)
    items = Items(list(first.names), columns)
    return Effects(model, how, decoder, len(found), tokens, items, floor, tuple([*_words(how), *notes]))


def _words(how: str) -> list[str]:
    """What was done, and what the numbers do not say."""
    replaced = "Each part was replaced, alone, by its own mean over the tokens but the first"
    said = {
        "share": [
            "From one unedited run: a direct share, nothing was taken away. It ranks heads much as taking "
            "them away does, and says nothing of what a part does through later ones"
        ],
        "estimate": [
            "Estimated from gradients of the unedited run: nothing was taken away. Strong effects and those "
            "of the first two layers come out too low"
        ],
        "screen": [
            f"{replaced}, for the parts that an estimate puts first; the others are estimates, too low where "
            "effects are strong"
        ],
        "exact": [f"{replaced}; effects are total, through all later parts"],
    }[how]
    alone = (
        "A part that does little alone may be one of several that do the same: take groups away to see. "
        "Effects belong to these texts"
    )
    return [*said, alone]


def _common(tags: Sequence[str]) -> str:
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
    }


@picture("effects", name="effects")
def effects_picture(found: Effects, context: Any) -> View:
    """What each part attends to against what it does, and the table of all."""
    return found.view(context.title)


def lines(found: Effects, *, sort: Sort = "matters", show: Show = 15) -> list[str]:
    """The parts ranked, as lines of text."""
    from langscape.sources.word_lookup import counted

    columns, order = found.scores.columns, found.ranked(sort)
    over = f"{counted(found.texts, 'text', 'texts')}, {found.tokens:,} tokens"
    out = [f"{found.measure}; {over}"]
    out.append(
        f"{'part':<9} {'matters':>9}  {'95 % interval':<19} {'by':<9} {'Δ loss':>8} {'share':>7} "
        f"{'interest':>8}  names"
    )
    for row in order[: show or len(order)]:
        low, high = columns["matters_low"][row], columns["matters_high"][row]
        interval = "–" if low != low else f"{low:.4f}–{high:.4f}"
        value = columns["found"][row] or f"{columns['matters'][row]:.4f}"
        numbers = [f"{_number(columns[name][row], digits):>{wide}}" for name, digits, wide in _SHOWN]
        out.append(
            f"{found.scores.labels[int(row)]:<9} {value:>9}  {interval:<19} {columns['source'][row]:<9} "
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
    version=1,
    title="What parts do",
    room="test",
    pictures=(effects_picture,),
    uses=(head_texts, text_effects),
    describe=_title,
    ignores=_ignores,
    lines=lines,
    formats=FORMATS,
    example={"text": "sample-harbour"},
    group="measure",
    examples=(
        "langscape effects default --text letter.txt --out effects.html",
        "langscape effects decoder --texts sotu --most 4 --parts heads --out effects.csv",
    ),
)
def effects(
    model: Model = "default",
    text: Text = None,
    *,
    texts: Corpus = None,
    how: How = "screen",
    parts: PartKinds = "heads",
    verify: Verify = 30,
    draws: Draws = 4,
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
    divergence of its next token, of an encoder how far its last hidden states move. With `texts`, effects are
    means over several texts with their intervals, and `text` is not read.

    >>> found = effects("default", "The cat sat on the mat, and the dog sat by the cat.", how="exact")
    >>> len(found.scores), found.scores.columns["source"][0], bool((found.scores.columns["effect"] > 0).all())
    (72, 'exact', True)
    """
    from langscape.declarations.running import opened
    from langscape.sources.texts import count_texts, read_texts

    read: list[Any] = [text]
    if texts is not None:
        file = stored_file(head_texts, texts=texts, unit=unit, column=column, most=most, seed=seed)
        assert file is not None  # texts always have a name: lists are kept as files
        read = read_texts(file, 0, count_texts(file))
    common = {"model": model, "parts": parts, "first_tokens": first_tokens, "seed": seed}
    ways: dict[str, Any] = {"workers": workers, "cluster": cluster, "progress": progress}
    network = opened(model)

    def over(title: str, **more: Any) -> list[TextEffects]:
        return list(
            each(text_effects, [{**common, "text": one, **more} for one in read], title=title, **ways)
        )

    if how == "share":
        found = over("shares")
    elif how == "exact":
        found = over("exact effects", exact=True)
    else:
        found = over("estimates", estimated=True, draws=draws)
        if how == "screen":
            mean = np.mean([one.estimate for one in found], axis=0)
            first = [found[0].names[int(at)] for at in np.argsort(-mean)[:verify]]
            taken = over("exact effects", exact=True, chosen=first)
            found = [replace(a, estimate=b.estimate) for a, b in zip(taken, found, strict=True)]
    name = model_title(model) if isinstance(model, str) else getattr(model, "name", "a model")
    decoder = network.kind == "decoder" and network.layout.vocabulary > 0
    return gather_effects(found, model=name, how=how, decoder=decoder)
