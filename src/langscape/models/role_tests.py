"""Does a role hold? Heads that look as a role does are taken away where the role would matter.

Every test has its own text: random tokens that repeat (does the model still copy?), sentences about two
people (does it still name the right one?), or the reader's text (does anything change?). What is lost without
a head stands against what is lost without heads of the same layers that do not have the role: that says
whether the head matters. Whether it does so by what the role names is asked of its edges: what is lost where
weight is taken at the edges of the role stands against the same weight taken at other edges of the head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langscape.errors import LangscapeError
from langscape.models.edge_effects import Cut, runs_with_cuts
from langscape.models.effect_measures import Measure
from langscape.models.effects import PartName, runs_without_groups
from langscape.models.model import Model
from langscape.models.patching import word_id
from langscape.models.unedited import Unedited, read_unedited

PEOPLE = (
    ("When {io} and {s} went to the store, {s} gave a drink to", "Mary", "John"),
    ("When {io} and {s} went to the park, {s} gave a flower to", "Sarah", "Tom"),
    ("After {io} and {s} had lunch at the cafe, {s} handed a letter to", "Anna", "Peter"),
    ("Yesterday {io} and {s} worked at the office, and {s} gave the keys to", "James", "Alice"),
)
"""Sentences that go on with the one who is named once."""


@dataclass(frozen=True, eq=False)
class Test:
    """One way to try a role.

    name     what is tried, in words; unit what is counted
    before   the value without an edit
    runs     the texts; what is lost is the mean over them
    value    number of the text, outputs of runs of it side by side → what each of them loses
    floor    losses below it are rounding
    logits   whether outputs are the model's own logits; hear is told weights, as `Unedited.final_states` does
    """

    name: str
    unit: str
    before: float
    runs: tuple[Unedited, ...]
    value: Callable[[int, torch.Tensor], np.ndarray]
    floor: float
    logits: tuple[bool, ...]
    hear: Callable[[int, torch.Tensor], None] | None = None

    def lost(self, groups: Sequence[Sequence[PartName]]) -> np.ndarray:
        """What is lost without all heads of each group."""
        found = np.zeros(len(groups))
        for at, run in enumerate(self.runs):
            for some, outputs in runs_without_groups(run, groups, self.logits[at], self.hear):
                found[list(some)] += self.value(at, outputs) / len(self.runs)
        return found

    def lost_by_cuts(self, cuts: Sequence[Sequence[Cut]]) -> np.ndarray:
        """What is lost where edges are cut: of each text a list of cuts, in one order."""
        found = np.zeros(len(cuts[0]))
        for at, run in enumerate(self.runs):
            for some, outputs in runs_with_cuts(run, cuts[at], self.logits[at], self.hear):
                found[list(some)] += self.value(at, outputs) / len(self.runs)
        return found


def repeated_ids(model: Model, count: int = 40, seed: int = 0) -> list[int]:
    """A first token, then random tokens twice."""
    drawn = np.random.default_rng(seed).integers(model.vocabulary // 20, model.vocabulary, count).tolist()
    first = getattr(model.network.config, "bos_token_id", None)
    begin = first if isinstance(first, int) and 0 <= first < model.vocabulary else drawn[-1]
    return [begin, *drawn, *drawn]


def text_test(model: Model, text: Any, first_tokens: int) -> Test:
    """Does anything change on a text: KL of the next token, or movement of the last states."""
    run = read_unedited(model, text, first_tokens)
    measure = Measure(run)
    unit = "KL of the next token, nats" if measure.decoder else "movement of the last states"
    return Test(
        "does anything change on the text", unit, 0.0, (run,), lambda at, outputs: measure(outputs).effect,
        measure.floor, (measure.bent,),
    )  # fmt: skip


def copying_test(model: Model, run: Unedited) -> Test:
    """Does the model still copy: the rise of the loss on the second time that random tokens come."""
    measure = Measure(run)
    count = (run.tokens - 1) // 2
    places = torch.arange(count + 1, run.tokens - 1)

    def losses(outputs: torch.Tensor) -> np.ndarray:
        found = []
        for output in outputs:
            logits = output[places].float() if measure.bent else measure.logits_of(output[places])
            right = logits.gather(1, run.ids[places + 1][:, None])[:, 0]
            found.append(float((logits.logsumexp(-1) - right).mean()))
        return np.array(found)

    before = float(losses(run.final_states(logits=measure.bent))[0])

    return Test(
        "random tokens come again: is their loss higher", "loss, nats", before, (run,),
        lambda at, outputs: losses(outputs) - before, 1e-4, (measure.bent,),
    )  # fmt: skip


def looking_test(run: Unedited, watched: Sequence[PartName]) -> Test:
    """Do induction heads still find what followed: the fall of their weight on it."""
    count = (run.tokens - 1) // 2
    queries = torch.arange(count + 1, run.tokens - 1)
    keys = queries - count + 1

    def weight(layer: int, weights: torch.Tensor) -> np.ndarray:
        """The share of one layer, of every run side by side."""
        into = np.zeros(len(weights))
        for one in watched:
            if one.layer == layer:
                into += weights[:, one.head][:, queries, keys].mean(-1).double().cpu().numpy() / len(watched)
        return into

    plain = [weight(layer, weights) for layer, weights in enumerate(run.weights)]
    before = float(np.sum(plain))
    heard: dict[int, np.ndarray] = {}

    def hear(layer: int, weights: torch.Tensor) -> None:
        heard[layer] = weight(layer, weights)

    def value(at: int, outputs: torch.Tensor) -> np.ndarray:
        # layers before the edited one are not run again, and not heard
        found = sum((heard.get(layer, own) for layer, own in enumerate(plain)), np.zeros(len(outputs)))
        heard.clear()
        return before - found

    return Test(
        "do induction heads still look at what followed",
        "weight",
        before,
        (run,),
        value,
        1e-4,
        (False,),
        hear,
    )


@dataclass(frozen=True, eq=False)
class People:
    """Sentences about two people, of which the model should name the one that was named once.

    places       where the one named once stands, per sentence
    right, wrong (layer, head) the weight of the last token on that one, and on the other
    """

    runs: tuple[Unedited, ...]
    words: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    right: np.ndarray
    wrong: np.ndarray


def read_people(model: Model) -> People | None:
    """The sentences whose names are single tokens of the model; None where there are none."""
    runs, words, once, right, wrong = [], [], [], [], []
    for template, io, s in PEOPLE:
        for one, other in ((io, s), (s, io)):
            try:
                ids = word_id(model, one), word_id(model, other)
                run = read_unedited(model, template.format(io=one, s=other))
            except LangscapeError:
                continue
            listed = run.ids.tolist()
            if listed.count(ids[0]) != 1 or listed.count(ids[1]) < 1:
                continue
            runs.append(run)
            words.append(ids)
            places = listed.index(ids[0]), [at for at, token in enumerate(listed) if token == ids[1]]
            once.append(places[0])
            right.append(np.stack([layer[0, :, -1, places[0]].cpu().numpy() for layer in run.weights]))
            wrong.append(
                np.stack([layer[0, :, -1, places[1]].sum(-1).cpu().numpy() for layer in run.weights])
            )
    if len(runs) < 3:
        return None
    return People(tuple(runs), tuple(words), tuple(once), np.mean(right, axis=0), np.mean(wrong, axis=0))


def naming_test(people: People) -> Test:
    """Does the model still name the right one: the fall of the logit difference of both names."""
    measures = [Measure(run) for run in people.runs]

    def difference(at: int, outputs: torch.Tensor) -> np.ndarray:
        last = outputs[:, -1]
        logits = last.float() if measures[at].bent else measures[at].logits_of(last)
        one, other = people.words[at]
        return (logits[:, one] - logits[:, other]).double().cpu().numpy()

    plain = [
        difference(at, run.final_states(logits=measures[at].bent))[0] for at, run in enumerate(people.runs)
    ]
    return Test(
        "two people: is the one named once still preferred",
        "logit difference",
        float(np.mean(plain)),
        people.runs,
        lambda at, outputs: plain[at] - difference(at, outputs),
        1e-3,
        tuple(one.bent for one in measures),
    )
