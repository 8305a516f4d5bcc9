"""What groups of heads and MLPs do on one text, beside random groups like them; kept in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from langscape.analyses._text_effects import EffectTokens, WhatIsMeasured, interval, unedited_run
from langscape.data import Progress, Step
from langscape.declarations import Setting, analysis
from langscape.declarations.settings import Model, Seed, Text
from langscape.io.codec import noun
from langscape.sources.word_lookup import counted

Groups = Annotated[
    list[str] | None,
    Setting(
        "Groups",
        "Parts that are taken away together, each beside random groups of as many heads of the same layers: "
        "all heads of a role (induction), parts one after the other (16.0 18.6 or mlp 5), all heads of a "
        "layer (layer 3), or all but some (all but 16.0 18.6).",
    ),
]
GroupsAgainst = Annotated[
    int,
    Setting(
        "Random groups",
        "So many random groups are taken away beside each group, to compare with.",
        ge=5,
        le=200,
    ),
]
Members = Annotated[
    dict[str, list[float]] | None,
    Setting("Groups", "Groups by the numbers of their parts, heads before MLPs."),
]


@noun
@dataclass(frozen=True, eq=False)
class GroupEffects:
    """One text: what is lost without each group, and without random ones.

    effect, loss_change   (group,)
    others                (group, drawn) effects of random groups; NaN where there are no others
    """

    effect: np.ndarray
    loss_change: np.ndarray
    others: np.ndarray
    floor: float


OF_GROUPS = ("group", "members", "alone", "others", "others_most", "below", "drawn")
GROUP_WORDS = (
    "The parts of a group were replaced together. Random groups have as many heads in each of its layers, "
    "and as many MLPs of other layers: a group is worth its name where it does more than they do"
)


def group_rows(
    groups: Sequence[tuple[str, list[str]]], taken: Sequence[GroupEffects], alone: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """The columns of groups: means over texts, with their intervals, and random groups beside them."""
    mean, low, high = interval(np.stack([one.effect for one in taken]))
    others = np.stack([one.others for one in taken]).mean(axis=0)
    drawn = np.isfinite(others).sum(axis=1)
    below = (others < mean[:, None]).sum(axis=1)
    floor = max(one.floor for one in taken)
    none = np.full(len(groups), np.nan)
    most = np.where(drawn > 0, np.nan_to_num(others, nan=-np.inf).max(axis=1), np.nan)
    sums = np.where(drawn > 0, np.nansum(others, axis=1) / np.maximum(drawn, 1), np.nan)
    said = [
        f"{counted(len(members), 'part', 'parts')}; "
        + (
            f"more than {less} of {of} {_other(members)} (at most {top:.3g})"
            if of
            else "no other group has as many heads of these layers"
        )
        for (_, members), less, of, top in zip(groups, below, drawn, most, strict=True)
    ]
    return {
        "part": np.full(len(groups), "group", object), "layer": np.full(len(groups), -1),
        "head": np.full(len(groups), -1), "matters": mean, "matters_low": low, "matters_high": high,
        "source": np.full(len(groups), "exact", object),
        "found": np.where(mean <= floor, "none found", "").astype(object),
        "effect": mean, "loss_change": np.mean([one.loss_change for one in taken], axis=0),
        "estimate": none, "share": none, "interest": none, "tags": np.array(said, object),
        "group": np.array([name for name, _ in groups], object),
        "members": np.array([" ".join(members) for _, members in groups], object),
        "alone": np.array([sum(alone.get(one, np.nan) for one in members) for _, members in groups]),
        "others": sums, "others_most": most, "below": below.astype(float), "drawn": drawn.astype(float),
    }  # fmt: skip


def _other(members: Sequence[str]) -> str:
    """What a group is compared with."""
    if len(members) > 1:
        return "random groups"
    return "other MLPs" if members[0].startswith("MLP") else "other heads of its layer"


def joined(rows: Mapping[str, np.ndarray], columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """A column with groups before the parts, which have nothing in those of groups."""
    count = len(columns["matters"])
    blank = np.full(count, "", object) if name in ("group", "members") else np.full(count, np.nan)
    return np.concatenate([rows[name], columns.get(name, blank)])


@analysis(version=1, name="effects.groups", hidden=True)
def group_effects(
    model: Model = "default",
    text: Text = None,
    *,
    members: Members = None,
    others: GroupsAgainst = 20,
    measure: WhatIsMeasured = "auto",
    first_tokens: EffectTokens = 64,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> GroupEffects:
    """What groups do on one text."""
    from langscape.models.effect_measures import Measure
    from langscape.models.effects import runs_without_groups
    from langscape.models.part_groups import numbered_parts, random_groups

    run = unedited_run(model, text, first_tokens)
    network = run.model
    compared = Measure(run, measure)
    groups = [numbered_parts(network, one) for one in (members or {}).values()]
    # the same random groups for every text, so that means over texts are of the same parts
    drawn = [random_groups(network, one, others, seed + at) for at, one in enumerate(groups)]
    every = [*groups, *(one for some in drawn for one in some)]
    effect, loss = np.empty(len(every)), np.empty(len(every))
    done = 0
    for some, outputs in runs_without_groups(run, every, compared.bent):
        effect[list(some)], loss[list(some)] = compared(outputs)
        done += len(some)
        if progress is not None:
            progress(Step(done, len(every), "groups taken away"))
    table = np.full((len(groups), others), np.nan)
    at = len(groups)
    for row, some in enumerate(drawn):
        table[row, : len(some)] = effect[at : at + len(some)]
        at += len(some)
    return GroupEffects(effect[: len(groups)], loss[: len(groups)], table, compared.floor)
