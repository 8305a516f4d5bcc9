"""Roles tested: heads that look as a role does, taken away alone and together where the role would matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses._text_effects import EffectTokens, looks, unedited_run
from langscape.data import Items, Progress, Shown, Step, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.settings import Model, Seed, Text
from langscape.errors import DataError
from langscape.io.codec import noun
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")
ALONE, TOGETHER, NONE = "matters alone", "redundant alone, matters as a group", "no more than others"
GROUP = "matters as a group"
NAMES = "name-mover-like"
"""Heads that look from the end of a sentence at the one of two people who was named once."""

MostHeads = Annotated[
    int, Setting("Heads of a role", "The strongest so many heads of each role are tested.", ge=1, le=100)
]
Others = Annotated[
    int,
    Setting(
        "Others",
        "So many heads without the role, and so many groups of them, are taken away to compare with.",
        ge=5,
        le=200,
    ),
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class RoleTests(Shown):
    """Every role with the heads that have it.

    scores   a row per role and head, and for each role one more, "together": role, head, layer (-1 together),
             score (how far it looks as the role does), lost, others (the most that changes, either way,
             without heads, or groups, of the same layers that do not have the role), verdict
    tests    per role what was tried, and the value before
    drawn    how many heads, or groups, without a role each head or group stood against
    """

    model: str
    scores: Items
    tests: Mapping[str, str]
    drawn: int
    notes: tuple[str, ...] = ()

    def row_columns(self) -> Mapping[str, Any]:
        """A row per role and head."""
        return self.scores.row_columns()

    def view(self, title: str | None = None) -> View:
        """A table for every role: what is lost without each head, beside heads that do not have it."""
        from langscape.views import Matrix, matrices

        columns = self.scores.columns
        tables = []
        for role, test in self.tests.items():
            rows = [int(at) for at in np.flatnonzero(columns["role"] == role)]
            names = [f"{columns['head'][at]} · {columns['verdict'][at]}" for at in rows]
            values = np.stack([columns[name][rows] for name in ("lost", "others")], 1).astype(float)
            tables.append(
                Matrix(
                    role,
                    names,
                    ["without it", "without others"],
                    values,
                    "plain",
                    0.0,
                    3,
                    test,
                )
            )
        return matrices(
            tables, title=title or f"Do the roles of heads of {self.model} hold?", row_name="head",
            subtitle=self.sentence, notes=self.notes,
        )  # fmt: skip

    @property
    def sentence(self) -> str:
        """Which roles stand out, how many heads do by chance, and how to read the two columns."""
        columns = self.scores.columns
        good = {role for role, one in zip(columns["role"], columns["verdict"], strict=True) if one != NONE}
        held = [role for role in self.tests if role in good]
        found = (
            f"{len(held)} of {len(self.tests)} roles stand out: {', '.join(held)}."
            if held
            else f"None of {len(self.tests)} roles stands out."
        )
        tried = len(columns["verdict"])
        return (
            f"{found} Of {tried} heads and groups tested {self.beyond} change more than all {self.drawn} "
            f"others; by chance {tried / (self.drawn + 1):.1f} would. “Without it”: what changes when the "
            "head is replaced by its mean. “Without others”: the most that changes without heads of the same "
            "layers that do not have the role. A role stands out where the first is larger."
        )

    @property
    def beyond(self) -> int:
        """How many heads and groups change more than all others that they stood against."""
        return int(np.isin(self.scores.columns["verdict"].astype(str), (ALONE, GROUP)).sum())

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per role and head (.csv)."""
        from langscape.views import write

        return write(self.view(title), path, columns=self.scores.columns)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"Do the roles of heads of {model_title(settings['model'])} hold?"


@picture("matrices", name="roles")
def roles_picture(found: RoleTests, context: Any) -> View:
    """A table for every role: what is lost without each head."""
    return found.view(context.title)


def lines(found: RoleTests) -> list[str]:
    """Role by role, as lines of text."""
    columns, out = found.scores.columns, []
    for role, test in found.tests.items():
        out.append(f"{role}: {test}")
        for at in np.flatnonzero(columns["role"] == role):
            out.append(
                f"  {columns['head'][at]:<10} lost {columns['lost'][at]:+8.3f}, others at most "
                f"{columns['others'][at]:+8.3f}  {columns['verdict'][at]}"
            )
    tried = len(columns["verdict"])
    out.append(
        f"{found.beyond} of {tried} heads and groups change more than all {found.drawn} others; by chance "
        f"{tried / (found.drawn + 1):.1f} would"
    )
    return out


def verdict(alone: float, others: float, group: bool, floor: float) -> str:
    """What may be said of a head.

    >>> verdict(2.0, 0.1, True, 1e-4), verdict(0.05, 0.1, True, 1e-4), verdict(0.05, 0.1, False, 1e-4)
    ('matters alone', 'redundant alone, matters as a group', 'no more than others')
    """
    if alone > max(others, floor):
        return ALONE
    return TOGETHER if group else NONE


@analysis(
    version=4,
    title="Roles tested",
    room="test",
    pictures=(roles_picture,),
    describe=_title,
    lines=lines,
    formats=FORMATS,
    example={"model": "default", "text": "sample-harbour"},
    group="measure",
    examples=("langscape roles decoder", "langscape roles default --text letter.txt --out roles.html"),
)
def roles(
    model: Model = "decoder",
    text: Text = None,
    *,
    heads: MostHeads = 8,
    others: Others = 16,
    first_tokens: EffectTokens = 64,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> RoleTests:
    """Test whether heads do what they look like: each role by its own test, head by head and all together.

    Induction: is the loss of random tokens that come again higher? Previous token: do induction heads lose
    what they look for? Same token and name movers: is the right one of two people still named? All others:
    does anything change on the text? A head matters alone where more is lost than changes, either way,
    without any of some heads of the same layers that do not have the role.

    >>> found = roles("default", "The cat sat on the mat, and the dog sat by the cat.", heads=2, others=5)
    >>> set(found.scores.columns["verdict"]) <= {ALONE, TOGETHER, GROUP, NONE}
    True
    """
    from langscape.models.effects import PartName
    from langscape.models.role_tests import (
        Test,
        copying_test,
        looking_test,
        naming_test,
        read_people,
        repeated_ids,
        text_test,
    )
    from langscape.models.unedited import read_unedited

    run = unedited_run(model, text, first_tokens)
    network = run.model
    decoder = network.kind == "decoder" and network.layout.vocabulary > 0
    found: dict[str, list[tuple[PartName, float]]] = {}
    tests: dict[str, Test] = {}
    plain = text_test(network, text, first_tokens)
    for role, listed in _named(run).items():
        found[role], tests[role] = listed, plain
    long_enough = (network.longest or 10**9) >= 81
    if decoder and long_enough:
        probe = read_unedited(network, repeated_ids(network, seed=seed))
        there = _named(probe)
        for role in ("induction", "previous-token"):
            found[role] = there.get(role, [])
        tests["induction"] = copying_test(network, probe)
        watched = [one for one, _ in found["induction"][:heads]]
        if watched:
            tests["previous-token"] = looking_test(probe, watched)
        people = read_people(network) if network.tokenizer is not None else None
        if people is not None:
            naming = naming_test(people)
            tests |= {role: naming for role in ("same-token", "duplicate-token") if role in found}
            movers = (people.right > 0.3) & (people.right > 1.5 * people.wrong)
            found[NAMES] = [
                (PartName("head", int(layer), int(head)), float(people.right[layer, head]))
                for layer, head in np.argwhere(movers)
            ]
            tests[NAMES] = naming
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    told = {role: sorted(found[role], key=lambda one: -one[1])[:heads] for role in found if found[role]}
    for done, (role, listed) in enumerate(told.items()):
        rows += _tested(role, listed, [one for one, _ in found[role]], tests[role], network, others, rng)
        if progress is not None:
            progress(Step(done + 1, len(told), "roles tested"))
    if not rows:
        raise DataError(f"no head of {network.name} looks as a role does over this text; give a longer text")
    columns = {
        name: np.array([row[name] for row in rows], object if name in _TEXT else None) for name in rows[0]
    }
    items = Items([f"{row['role']} {row['head']}" for row in rows], columns)
    said = {
        role: f"{tests[role].name}? {tests[role].unit}"
        + (f", {tests[role].before:.2f} before" if tests[role].before else "")
        for role in told
    }
    notes = (
        "Heads are replaced by their mean over the tokens but the first; of each role the "
        f"{heads} strongest are tested. “Others” are {others} heads, or groups, of the same layers that do "
        f"not look as the role does: by chance a head loses more than all of them once in {others + 1}. "
        f"“{NONE}” means that what is lost is not beyond these",
    )
    name = title_of(model)
    return RoleTests(name, items, said, others, notes)


_TEXT = ("role", "head", "verdict")


def _named(run: Any) -> dict[str, list[tuple[Any, float]]]:
    """Role → the heads that look so, with their scores."""
    from langscape.metrics.roles import ROLES
    from langscape.models.effects import parts_of

    parts = parts_of(run.model)
    scores, tags = looks(run)
    found: dict[str, list[tuple[Any, float]]] = {}
    for one in parts:
        for tag in str(tags[one.layer, one.head]).split(", "):
            if tag:
                value = float(scores[ROLES[tag].score][one.layer, one.head])
                found.setdefault(tag, []).append((one, value))
    return found


def _tested(
    role: str,
    listed: Sequence[tuple[Any, float]],
    all_of_role: Sequence[Any],
    test: Any,
    network: Any,
    others: int,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """The rows of one role."""
    from langscape.models.effects import parts_of

    heads = [one for one, _ in listed]
    free = [one for one in parts_of(network) if one not in set(all_of_role)]
    alone = test.lost([[one] for one in heads])

    def like(group: Sequence[Any]) -> list[Any]:
        """As many heads of the same layers without the role; of any layer where there are too few."""
        chosen: list[Any] = []
        for one in group:
            near = [other for other in free if other.layer == one.layer and other not in chosen]
            near = near or [other for other in free if other not in chosen]
            if near:
                chosen.append(near[int(rng.integers(len(near)))])
        return chosen

    def beside(group: Sequence[Any] | None) -> float:
        """The most that changes, either way, without other heads: single ones, or as many as a group has."""
        drawn = [like(group or [heads[int(rng.integers(len(heads)))]]) for _ in range(others)]
        drawn = [one for one in drawn if one]
        return float(np.abs(test.lost(drawn)).max()) if drawn else float("nan")

    around = beside(None)
    # those that do nothing alone are tried together, without those that do: else these would speak for them
    weak = [one for one, lost in zip(heads, alone, strict=True) if lost <= max(around, test.floor)]
    groups = [(f"all {len(heads)} together", heads)] if len(heads) > 1 else []
    if 1 < len(weak) < len(heads):
        groups.append((f"the {len(weak)} others together", weak))
    together = []
    for name, group in groups:
        lost, near = float(test.lost([group])[0]), beside(group)
        together.append((name, group, lost, near, lost > max(near, test.floor)))
    redundant = any(holds for _, group, _, _, holds in together if group == weak)
    rows = [
        {
            "role": role, "head": str(one), "layer": one.layer, "number": one.head, "score": score,
            "lost": float(lost), "others": around,
            "verdict": verdict(float(lost), around, redundant, test.floor),
        }
        for (one, score), lost in zip(listed, alone, strict=True)
    ]  # fmt: skip
    for name, _, lost, near, holds in together:
        rows.append(
            {
                "role": role, "head": name, "layer": -1, "number": -1, "score": float("nan"), "lost": lost,
                "others": near, "verdict": GROUP if holds else NONE,
            }
        )  # fmt: skip
    return rows
