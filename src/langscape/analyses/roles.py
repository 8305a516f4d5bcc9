"""Roles tested: whether heads that look as a role does matter, and whether by what the role names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
THROUGH, ELSEWHERE, LITTLE = "works through its role", "other edges carry as much", "too little to tell"
ALL, NO_EDGES = "looks at nothing else", "no edges of its own"
"""What is said where there is nothing to compare: of a head whose other edges hold next to no weight, and
of a role that is told by the shape of a row, not by certain keys."""

LEAST_REST = 0.1
"""Where other edges hold less than this, as a share of the role's weight, the head looks at nothing else."""

NAMES = "name-mover-like"
"""Heads that look from the end of a sentence at the one of two people who was named once."""

MostHeads = Annotated[
    int, Setting("Heads of a role", "The strongest so many heads of each role are tested.", ge=1, le=100)
]
Others = Annotated[
    int,
    Setting(
        "Others",
        "So many heads without the role, so many groups of them, and so many draws of other edges of the "
        "same head are taken away to compare with.",
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
             without heads, or groups, of the same layers that do not have the role), verdict; and of its
             edges all_edges_cut (lost without all edges of the role), role_edges (lost where at every token
             weight is taken at an edge of the role), other_edges (where as much is taken at another edge),
             mixed_edges (the most over draws in which a coin says which), matched (the share of the role's
             weight that is taken), works
    tests    per role what was tried, and the value before
    drawn    how many heads, groups, or draws of edges each one stood against
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
        shown = {
            "role_edges": "role’s edges cut", "other_edges": "other edges cut",
            "lost": "without it", "others": "without others",
        }  # fmt: skip
        # what has no edges to ask about comes last
        for role, test in sorted(self.tests.items(), key=lambda one: not len(self._works(one[0]))):
            rows = [int(at) for at in np.flatnonzero(columns["role"] == role)]
            names = [
                " · ".join(filter(None, (str(columns[name][at]) for name in ("head", "works", "verdict"))))
                for at in rows
            ]
            values = np.stack([columns[name][rows] for name in shown], 1).astype(float)
            held = f"{self._held(role)}. {test[0].upper()}{test[1:]}"
            tables.append(Matrix(role, names, list(shown.values()), values, "plain", 0.0, 3, held))
        return matrices(
            tables, title=title or f"Do the roles of heads of {self.model} hold?", row_name="head",
            subtitle=self.sentence, notes=self.notes,
        )  # fmt: skip

    def _works(self, role: str | None = None) -> np.ndarray:
        """What was found of the edges of every head that could be asked, of one role or all."""
        columns = self.scores.columns
        works = columns["works"].astype(str)
        asked = np.isin(works, (THROUGH, ELSEWHERE, LITTLE))
        return works[asked if role is None else asked & (columns["role"] == role)]

    def _alone(self, role: str | None = None) -> int:
        """How many heads look at nothing else than their role says."""
        columns = self.scores.columns
        mine = np.ones(len(columns["role"]), bool) if role is None else columns["role"] == role
        return int((columns["works"][mine] == ALL).sum())

    def _held(self, role: str) -> str:
        works, alone = self._works(role), self._alone(role)
        if not len(works) and not alone:
            return f"It has {NO_EDGES}, so that only what is lost without the head can be asked"
        said = [f"{(works == THROUGH).sum()} of {len(works)} work through it"] if len(works) else []
        return " and ".join([*said, *([f"{alone} {_looks(alone)} at nothing else"] if alone else [])])

    @property
    def sentence(self) -> str:
        """How many heads work through their roles, how many would by chance, and how to read the columns."""
        works, alone = self._works(), self._alone()
        found = {role: int((self._works(role) == THROUGH).sum()) for role in self.tests}
        named = ", ".join(f"{role} {count}" for role, count in found.items() if count)
        tried = len(self.scores.columns["verdict"])
        chance = f"{len(works) / (self.drawn + 1):.1f}"
        more = f" {alone} more {_looks(alone)} at nothing else." if alone else ""
        return (
            f"{(works == THROUGH).sum()} of {len(works)} heads work through their role"
            f"{f' ({named})' if named else ''}; by chance {chance} would.{more} “Role’s edges cut”: what "
            "changes when weight is taken at each token’s heaviest edge of the role. “Other edges cut”: what "
            "changes when as much is taken at its heaviest edge that is not of the role. A head works "
            f"through its role where the first is larger than the second and than {self.drawn} mixtures of "
            f"both. Whether the head matters at all is another question: {self.beyond} of {tried} heads and "
            f"groups change more than {self.drawn} others (by chance {tried / (self.drawn + 1):.1f}) when "
            "replaced by their mean (“without it”; “without others”: the most that changes without heads "
            "that do not have the role)."
        )

    @property
    def beyond(self) -> int:
        """How many heads and groups change more than all others that they stood against."""
        return int(np.isin(self.scores.columns["verdict"].astype(str), (ALONE, GROUP)).sum())

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per role and head (.csv)."""
        from langscape.views import write

        return write(self.view(title), path, columns=self.scores.columns)


class Through(NamedTuple):
    """What is lost by edges of a head.

    all_cut   without all edges of its role
    role      where at every token weight is taken at an edge of the role
    other     where as much is taken at an edge that is not of the role
    mixed     the most that changes, either way, over draws in which a coin says of every token which of both
    share     of the role's weight how much is taken
    rest      weight of other edges ÷ weight of the role
    """

    all_cut: float
    role: float
    other: float
    mixed: float
    share: float
    rest: float


def through_role(
    test: Any, head: Any, edges: Sequence[np.ndarray], draws: int, rng: np.random.Generator
) -> Through:
    """What the edges of a role carry, beside as much weight at other edges of the same head.

    test   a `models.role_tests.Test`; edges of every text of it, which make the role, (query, key)
    """
    from langscape.metrics import find_sinks
    from langscape.metrics.matched_edges import matched_edges
    from langscape.metrics.sinks import separators_of
    from langscape.models.edge_effects import Cut

    layer, number = head.layer, head.head
    cuts: list[list[Cut]] = []
    held = taken = rest = 0.0
    for run, role in zip(test.runs, edges, strict=True):
        weights = run.weights[layer][:, number : number + 1].float().cpu().numpy()
        sinks = find_sinks(weights, separators=separators_of(run.row.source.tokens()))[0, 0]
        own = weights[0, 0]
        matched = matched_edges(own, role, sinks=sinks, draws=draws, rng=rng)
        whole = np.where(role, own, 0.0)
        held, taken = held + float(whole.sum()), taken + float(matched.role.sum())
        rest += matched.rest * float(whole.sum())
        cuts.append([])
        for amounts in (whole, matched.role, matched.other, *matched.mixed):
            queries, keys = np.nonzero(amounts)
            cuts[-1].append(Cut(layer, number, queries, keys, amounts[queries, keys]))
    lost = test.lost_by_cuts(cuts)
    return Through(
        float(lost[0]), float(lost[1]), float(lost[2]), float(np.abs(lost[3:]).max()),
        taken / held if held else 0.0, rest / held if held else 0.0,
    )  # fmt: skip


def _looks(count: int) -> str:
    return "looks" if count == 1 else "look"


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"Do the roles of heads of {model_title(settings['model'])} hold?"


@picture("matrices", name="roles")
def roles_picture(found: RoleTests, context: Any) -> View:
    """A table for every role: what is lost without each head."""
    return found.view(context.title)


def lines(found: RoleTests) -> list[str]:
    """Role by role, as lines of text."""
    columns, out = found.scores.columns, [found.sentence]
    for role, test in found.tests.items():
        out.append(f"{role}: {test}")
        for at in np.flatnonzero(columns["role"] == role):
            row = {name: values[at] for name, values in columns.items()}
            if not np.isnan(row["matched"]):
                said = (
                    f"role’s edges {row['role_edges']:+.4f}, others {row['other_edges']:+.4f}, mixed at most "
                    f"{row['mixed_edges']:+.4f} ({100 * row['matched']:.0f} % of the role’s weight)  "
                    f"{row['works']}; "
                )
            else:
                said = f"{row['works']}; " if row["works"] else ""
            out.append(
                f"  {row['head']:<10} {said}lost {row['lost']:+.3f}, others at most {row['others']:+.3f}  "
                f"{row['verdict']}"
            )
    return out


def works(through: Through, floor: float) -> str:
    """What may be said of a head's edges.

    >>> works(Through(0.3, 0.2, 0.1, 0.15, 0.5, 1.0), 1e-4), works(Through(0.3, 0.1, 0.2, 0.1, 0.5, 1), 1e-4)
    ('works through its role', 'other edges carry as much')
    >>> works(Through(0.3, 1e-5, 0, 0, 0.5, 1.0), 1e-4), works(Through(0.3, 0.2, 0.1, 0.1, 0.01, 0.02), 1e-4)
    ('too little to tell', 'looks at nothing else')
    """
    if through.rest < LEAST_REST:
        return ALL
    if max(abs(through.role), abs(through.other), through.mixed) <= floor:
        return LITTLE
    return THROUGH if through.role > max(through.other, through.mixed, floor) else ELSEWHERE


def verdict(alone: float, others: float, group: bool, floor: float) -> str:
    """What may be said of a head.

    >>> verdict(2.0, 0.1, True, 1e-4), verdict(0.05, 0.1, True, 1e-4), verdict(0.05, 0.1, False, 1e-4)
    ('matters alone', 'redundant alone, matters as a group', 'no more than others')
    """
    if alone > max(others, floor):
        return ALONE
    return TOGETHER if group else NONE


@analysis(
    version=7,
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
    """Test whether heads do what they look like: whether they matter, and whether by what the role names.

    Induction: is the loss of random tokens that come again higher? Previous token: do induction heads lose
    what they look for? Same token and name movers: is the right one of two people still named? All others:
    does anything change on the text? A head matters alone where more is lost than changes, either way,
    without any of some heads of the same layers that do not have the role. It works through its role where
    more is lost by weight taken at the role's edges than by as much taken at other edges of the head.

    >>> found = roles("default", "The cat sat on the mat, and the dog sat by the cat.", heads=2, others=5)
    >>> set(found.scores.columns["verdict"]) <= {ALONE, TOGETHER, GROUP, NONE}
    True
    >>> set(found.scores.columns["works"]) <= {THROUGH, ELSEWHERE, LITTLE, ALL, NO_EDGES, ""}
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
    people = None
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
    edges = {role: _edges_of(role, tests[role], people) for role in found}
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    told = {role: sorted(found[role], key=lambda one: -one[1])[:heads] for role in found if found[role]}
    for done, (role, listed) in enumerate(told.items()):
        tested = _tested(role, listed, [one for one, _ in found[role]], tests[role], network, others, rng)
        rows += _by_edges(tested, tests[role], edges[role], others, rng)
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
        "Where weight is taken from edges, a query takes so much less from a key, and the rest of its row is "
        "not raised. At every token the same weight is taken at one edge of the role and at one other, as "
        f"much as the lighter of both holds{_said_share(rows)}. In a mixture a coin says of every token "
        f"which of both: if both carried alike, one head in {others + 1} would change more by its role than "
        f"by all {others} mixtures. Keys on which the head parks its weight are not among the others. "
        f"“{ALL}”: other edges hold less than a tenth of the role’s weight, too little to compare with",
    )
    name = title_of(model)
    return RoleTests(name, items, said, others, notes)


_TEXT = ("role", "head", "verdict", "works")


def _said_share(rows: Sequence[Mapping[str, Any]]) -> str:
    """How much of the roles' weight others can match, over the heads that were asked."""
    shares = [row["matched"] for row in rows if not np.isnan(row["matched"])]
    if not shares:
        return ""
    return (
        f" (of the role’s weight {100 * np.median(shares):.0f} % in the median head, "
        f"{100 * min(shares):.0f} % at least)"
    )


def _edges_of(role: str, test: Any, people: Any) -> list[np.ndarray] | None:
    """The edges that make a role, (query, key) of every text of its test; None where it has none."""
    from langscape.metrics.heads import role_edges
    from langscape.metrics.sinks import separators_of

    found = []
    for at, run in enumerate(test.runs):
        if role == NAMES:
            mask = np.zeros((run.tokens, run.tokens), bool)
            mask[-1, people.places[at]] = True
        else:
            tokens = run.row.source.tokens()
            weights = np.concatenate([one.float().cpu().numpy() for one in run.weights])
            known = {"special": tokens.special, "separators": separators_of(tokens)}
            listed = role_edges(weights, ids=run.ids.tolist(), **known)
            if role not in listed:
                return None
            mask = listed[role]
        found.append(mask)
    return found


def _by_edges(
    rows: list[dict[str, Any]],
    test: Any,
    edges: list[np.ndarray] | None,
    draws: int,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """The rows of one role, with what the edges of every head carry; groups are not asked."""
    from langscape.models.effects import PartName

    for row in rows:
        through, said = Through(*[float("nan")] * 6), ""
        if row["layer"] >= 0:
            said = NO_EDGES
            if edges is not None:
                head = PartName("head", row["layer"], row["number"])
                through = through_role(test, head, edges, draws, rng)
                said = works(through, test.floor)
        row |= {
            "all_edges_cut": through.all_cut, "matched": through.share, "role_edges": through.role,
            "other_edges": through.other, "mixed_edges": through.mixed, "works": said,
        }  # fmt: skip
    return rows


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
