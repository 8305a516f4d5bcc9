"""One run with parts replaced beside the unedited one: what the model would write, token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses._attention_difference import attention_difference
from langscape.analyses._captures import captured, check_reads_text
from langscape.data import Capture, Progress, Shown, Step, View
from langscape.data.edit import LIKE, Edit, edits_in_words
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import FirstTokens, Model, Text
from langscape.io.codec import noun
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")
Edits = Annotated[list[str], Setting("Edits", f"What is replaced: {LIKE}; one after the other.", short="e")]
SAME = 1e-4
"""Attention that goes elsewhere, below which a head looks at the same tokens."""

OTHERS = 8
"""So many other parts of the same kind are replaced alike, to compare with."""

_CHOSEN = "if left out, that of the head that looks elsewhere most after the edit."
ShownLayer = Annotated[
    int | None, Setting("Layer", f"The layer, numbered from 0; {_CHOSEN}", ge=0, names="layer")
]
ShownHead = Annotated[
    int | None, Setting("Head", f"The head, numbered from 0; {_CHOSEN}", ge=0, names="head")
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class EditedRun(Shown):
    """A text read with edits, beside the unedited run.

    edits    in words
    effect   per token: KL of the next token in nats, or of an encoder how far its last state moves
    before, after   per token what the model would write next, and how surely; empty for encoders
    others   (draws, tokens) the effect of the same edits at other parts: heads of the same layer, or the
             MLP of another; others_name says which, and both are empty where an edit has no such other
    capture  the attention of the edited run, unedited that of the other
    """

    model: str
    edits: tuple[str, ...]
    decoder: bool
    tokens: tuple[str, ...]
    effect: np.ndarray
    before: tuple[str, ...]
    before_chance: np.ndarray
    after: tuple[str, ...]
    after_chance: np.ndarray
    capture: Capture
    unedited: Capture
    others: np.ndarray
    others_name: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What was edited first, then what else there is to know."""
        return self.capture.notes

    def view(self, title: str | None = None) -> View:
        """The text with a bar over every token: the effect there, beside that of other edits."""
        from langscape.views import edited

        return edited(
            self.tokens, self.effect, self.others, title=title or f"{self.model}, edited",
            subtitle=self.sentence, measure=self.measure, others_name=self.others_name, before=self.before,
            before_chance=self.before_chance, after=self.after, after_chance=self.after_chance,
            notes=self.notes,
        )  # fmt: skip

    @property
    def measure(self) -> str:
        """What the effect is, in words."""
        if self.decoder:
            return "how far the chances of the next token move (KL, in nats)"
        return "how far the last hidden state moves, as a share of its length"

    @property
    def sentence(self) -> str:
        """What was found, beside what other edits of the same kind do."""
        # as `effects` counts: the first token of a decoder sees no other, and is left as it is
        first = 1 if self.decoder else 0
        mean, at = float(self.effect[first:].mean()), int(self.effect.argmax())
        token = self.tokens[at].strip(" ␣") or self.tokens[at]
        over = "the tokens but the first" if self.decoder else f"all {len(self.tokens)} tokens"
        said = f"Mean over {over} {mean:.3f}; most at “{token}” ({at}), {self.effect[at]:.3f}."
        if self.after:
            same = sum(one == other for one, other in zip(self.before, self.after, strict=True))
            said += f" The likeliest next token stays the same at {same} of {len(self.tokens)}."
        if not len(self.others):
            return f"{said} What is edited has no other of its kind to compare with."
        means = self.others[:, first:].mean(axis=1)
        less = int((means < mean).sum())
        return (
            f"{said} For {self.others_name}, each replaced alike, the mean is {means.min():.3f} to "
            f"{means.max():.3f}: this edit changes more than {less} of {len(means)}."
        )

    def attention(self, layer: int, head: int, *, edited: bool = True) -> View:
        """The attention of a head in the edited or in the unedited run; both say what it looks like there."""
        from langscape.views import attention

        seen = self.capture if edited else self.unedited
        heads = seen.attention()
        if layer not in heads.layers or head not in heads.heads:
            return attention(seen, layer, head)  # which says what there is
        run = "edited" if edited else "unedited"
        view = attention(seen, layer, head, title=f"Head {layer}.{head}, {run}")
        scores = self._looks(layer, head)
        said = [f"{role} score {after if edited else before:.2f}" for role, before, after in scores]
        said += self._elsewhere(layer, head)
        what = "; ".join(self.edits) if edited else "nothing is replaced"
        properties = {**view.properties, "subtitle": " · ".join([what, *said])}
        return View(view.kind, properties, view.arrays)

    def difference(self, layer: int, head: int) -> View:
        """The attention of a head in the edited run less that in the unedited one."""
        heads = self.capture.attention()
        if layer not in heads.layers or head not in heads.heads:
            return self.attention(layer, head)  # which says what there is
        found = attention_difference(
            self.unedited, self.capture, ((layer, head), (layer, head)), ("unedited", "edited")
        )
        assert found is not None  # both runs read the same tokens
        said = " · ".join(["; ".join(self.edits), *self._elsewhere(layer, head)])
        return found.view(f"Head {layer}.{head}, edited less unedited", said)

    def shown_head(self, layer: int | None, head: int | None) -> tuple[int, int]:
        """The head that is named, and where none is the one that looks elsewhere most after the edit.

        Where only the layer or only the head is named, it is the one among these.
        """
        after = self.capture.attention()
        moved = [
            (self._moved(at, number), at, number)
            for at in ([layer] if layer is not None else after.layers)
            for number in ([head] if head is not None else after.heads)
            if at in after.layers and number in after.heads
        ]
        if not moved:
            return layer or 0, head or 0
        _, at, number = max(moved, key=lambda one: one[0])
        return at, number

    def _moved(self, layer: int, head: int) -> float:
        """How much of a token's attention goes elsewhere in the edited run, on average; 1 is all of it."""
        from langscape.metrics import attention_elsewhere

        before, after = (one.attention().one(layer, head) for one in (self.unedited, self.capture))
        return float(attention_elsewhere(before, after).mean())

    def _elsewhere(self, layer: int, head: int) -> list[str]:
        """Why a picture of this head: the edit changes where it looks, or leaves that as it was."""
        most = self.shown_head(None, None)
        if most == (layer, head):
            return ["of all heads it looks elsewhere most after the edit"]
        other = f"head {most[0]}.{most[1]} looks elsewhere most after the edit"
        if self._moved(layer, head) < SAME:
            return [f"it looks at the same tokens in both runs; {other}"]
        return [other]

    def _looks(self, layer: int, head: int) -> list[tuple[str, float, float]]:
        """The roles that the head has in either run, with their scores in both."""
        from langscape.analyses._text_effects import look_scores
        from langscape.metrics.roles import ROLES

        both = [look_scores(one.attention().one(layer, head)[None, None], one.tokens)
                for one in (self.unedited, self.capture)]  # fmt: skip
        names = dict.fromkeys(name for _, tags in both for name in str(tags[0, 0]).split(", ") if name)

        def score(run: int, name: str) -> float:
            return float(both[run][0][ROLES[name].score][0, 0])

        return [(name, score(0, name), score(1, name)) for name in names]

    def columns(self) -> dict[str, np.ndarray]:
        """A row per token."""
        found: dict[str, np.ndarray] = {"token": np.array(self.tokens, object), "effect": self.effect}
        if len(self.others):
            found |= {"others_median": np.median(self.others, axis=0), "others_most": self.others.max(axis=0)}
        if self.after:
            found |= {"before": np.array(self.before, object), "before_chance": self.before_chance}
            found |= {"after": np.array(self.after, object), "after_chance": self.after_chance}
        return found

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per token (.csv)."""
        from langscape.views import write

        return write(self.view(title), path, columns=self.columns())


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"{model_title(settings['model'])} with {edits_in_words(settings['edits'])}"


@picture("edited", name="edit")
def tokens_picture(found: EditedRun, context: Any) -> View:
    """The effect on every token."""
    return found.view(context.title)


@picture("attention", name="attention")
def after_picture(
    found: EditedRun, context: Any, *, layer: ShownLayer = None, head: ShownHead = None
) -> View:
    """The attention of a head in the edited run, with what it looks like in both."""
    return found.attention(*found.shown_head(layer, head))


@picture("attention", name="unedited")
def before_picture(
    found: EditedRun, context: Any, *, layer: ShownLayer = None, head: ShownHead = None
) -> View:
    """The attention of the same head in the unedited run."""
    return found.attention(*found.shown_head(layer, head), edited=False)


@picture("attention", name="difference")
def difference_picture(
    found: EditedRun, context: Any, *, layer: ShownLayer = None, head: ShownHead = None
) -> View:
    """The attention of a head in the edited run less that in the unedited one."""
    return found.difference(*found.shown_head(layer, head))


def lines(found: EditedRun) -> list[str]:
    """Token by token what the model would write before and after, and the effect."""
    out = [f"effect: {found.measure}", found.sentence]
    for at, token in enumerate(found.tokens):
        words = ""
        if found.after:
            sure = f"{100 * found.before_chance[at]:3.0f} % → ", f"{100 * found.after_chance[at]:3.0f} %"
            words = f"{found.before[at]!r} {sure[0]}{found.after[at]!r} {sure[1]}"
        out.append(f"{at:>4} {token:<14} {found.effect[at]:8.4f}  {words}".rstrip())
    return out


def _check(settings: Mapping[str, Any], given: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    for one in settings["edits"]:
        Edit.parse(one)


@analysis(
    version=2,
    title="A run with edits",
    room="test",
    pictures=(tokens_picture, after_picture, before_picture, difference_picture),
    describe=_title,
    check=_check,
    lines=lines,
    formats=FORMATS,
    example={"model": "default", "text": "sample-harbour", "edits": ["head 1.8 mean"], "first_tokens": 512},
    group="measure",
    examples=(
        "langscape edit decoder --text prompt.txt --edits 'head 16.0 mean'",
        "langscape edit decoder --text prompt.txt -e 'head 16.0 mean' -e 'mlp 5 zero' --out edited.html",
    ),
)
def edit(
    model: Model = "decoder",
    text: Text = None,
    *,
    edits: Edits = ["head 16.0 mean"],  # noqa: B006  never changed
    first_tokens: FirstTokens = 64,
    progress: Progress | None = None,
) -> EditedRun:
    """Read a text with parts of the model replaced, beside the unedited run: next words, effect, attention.

    >>> found = edit("default", "The cat sat on the mat.", edits=["head 2.3 zero", "mlp 4 mean"])
    >>> found.edits[0], bool(found.effect.min() > 0)
    ('head 2.3 replaced by zero at every token but the first', True)
    """
    network = opened(model)
    check_reads_text(network)
    decoder = network.kind == "decoder" and network.layout.vocabulary > 0
    want = ("attention", "logits" if decoder else "hidden")
    how: dict[str, Any] = {"first_tokens": first_tokens, "cut": True}
    unedited, edited = (captured(network, text, want, edits=some, **how) for some in ((), edits))  # type: ignore[arg-type]
    words: list[tuple[tuple[str, ...], np.ndarray]] = [((), np.empty(0)), ((), np.empty(0))]
    if decoder:
        words = []
        for logs in (_logs(unedited), _logs(edited)):
            ids, chance = logs.argmax(-1), np.exp(logs.max(-1))
            words.append((tuple(network.tokenizer.decode([at]) for at in ids.tolist()), chance))
    drawn, others_name = other_edits([Edit.parse(one) for one in edits], network)
    others = []
    for done, some in enumerate(drawn, 1):
        others.append(_effect(unedited, captured(network, text, want[1:], edits=some, **how), decoder))  # type: ignore[arg-type]
        if progress is not None:
            progress(Step(done, len(drawn), "other parts replaced"))
    name = title_of(model)
    return EditedRun(
        name, tuple(edited.metadata["edits"]), decoder, tuple(edited.tokens.readable),
        _effect(unedited, edited, decoder), words[0][0], words[0][1], words[1][0], words[1][1],
        edited.only("attention"), unedited.only("attention"),
        np.array(others).reshape(len(others), len(edited.tokens.readable)), others_name,
    )  # fmt: skip


def _logs(seen: Capture) -> np.ndarray:
    """Logarithms of the chances of the next token, (token, word)."""
    from scipy.special import log_softmax

    return log_softmax(seen["logits"].astype(np.float32), axis=-1)


def _effect(unedited: Capture, edited: Capture, decoder: bool) -> np.ndarray:
    """Per token: the KL of the next token, or how far the last state moves as a share of its length."""
    if decoder:
        before, after = _logs(unedited), _logs(edited)
        return np.maximum((np.exp(before) * (before - after)).sum(-1), 0)
    before, after = unedited["hidden"][-1], edited["hidden"][-1]
    return np.linalg.norm(after - before, axis=-1) / np.linalg.norm(before, axis=-1)


def other_edits(edits: Sequence[Edit], network: Any) -> tuple[list[list[Edit]], str]:
    """The same edits at other parts, at most eight times, and what these are in words.

    Heads and their edges are moved to other heads of the layer, MLPs to other layers; there are none where
    a stream is replaced, which has no equal, and in an encoder–decoder.

    >>> from langscape.models import open_model
    >>> drawn, name = other_edits([Edit.head(1, 8)], open_model("default"))
    >>> len(drawn), name, any(one.head_number == 8 for (one,) in drawn)
    (8, '8 other heads of layer 1', False)
    """
    sites = network.layout.sites
    alike = all(one.part == "mlp" or one.head_number is not None for one in edits)
    if not edits or not alike or any(one.role != "self" for one in sites):
        return [], ""
    taken = {(one.part == "mlp", one.layer, one.head_number) for one in edits}
    rng = np.random.default_rng(0)
    moved: list[list[Edit]] = []  # of each edit, in an order of its own
    for one in edits:
        if one.part == "mlp":
            free = [replace(one, layer=at) for at in range(len(sites)) if (True, at, None) not in taken]
        else:
            heads = range(sites[one.layer].heads)
            free = [replace(one, head_number=at) for at in heads if (False, one.layer, at) not in taken]
        moved.append([free[at] for at in rng.permutation(len(free))])
    drawn = [list(some) for some in zip(*moved, strict=False)][:OTHERS]
    return drawn, _others_name(edits, len(drawn))


def _others_name(edits: Sequence[Edit], count: int) -> str:
    """What is replaced instead, in words."""
    if not count:
        return ""
    if len(edits) > 1:
        return f"{count} draws of as many other parts like these"
    one = edits[0]
    if one.part == "mlp":
        return f"{count} other MLPs"
    return f"{count} other heads of layer {one.layer}"
