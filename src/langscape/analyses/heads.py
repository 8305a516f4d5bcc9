"""A corpus → what every head does over it: means with intervals, roles, groups, passages to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses._head_parts import (
    Column,
    HeadPart,
    LongestText,
    Most,
    Probe,
    Texts,
    Unit,
    head_part,
    head_probe,
    head_texts,
)
from langscape.analyses._head_table import HeadTable, check_sort, headed
from langscape.analyses._map_trust import head_map_line, map_heads
from langscape.data import Items, Map, Progress, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import each, stored_file
from langscape.declarations.settings import Cluster, Layers, Model, Seed, Workers
from langscape.errors import DataError
from langscape.faces import written
from langscape.io.codec import noun
from langscape.metrics.by_distance import BUCKETS
from langscape.metrics.head_tally import TOP, HeadTally, Passages, joined_passages
from langscape.metrics.role_names import (
    GIVEN,
    SOMETIMES,
    Figures,
    Judged,
    judge,
    names_of,
    position_figures,
    score_figures,
)
from langscape.metrics.roles import ROLES
from langscape.metrics.stable_groups import StableGroups, stable_groups
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")

FOLDS = 16
"""Parts that the texts are dealt into: groups and intervals are judged by how far these agree."""

_PART = 64
_POOL = 3 * TOP


@noun
@dataclass(frozen=True, eq=False, repr=False)
class HeadSurvey(HeadTable):
    """Every head of a model over many texts.

    texts     how many were read
    scores    a row per head: layer, head, names, sometimes, group, and of every score the mean over texts
              with the ends of its interval (interest, interest_low, interest_high)
    figures   score → mean and interval of every head
    roles     role → mean, threshold, share of texts and state of every head
    halves    the share of heads that have the same names on both halves of the texts
    groups    heads that attend alike, with the tree that they are cut from
    passages  for every head the places where it attends most strongly beyond what distance explains
    expected  (heads, distances) the mean weight by distance
    head_map  where the heads lie among each other, by their mean distance; None for fewer than four
    """

    model: str
    texts: int
    scores: Items
    figures: Mapping[str, Figures]
    roles: Mapping[str, Judged]
    halves: float
    groups: StableGroups
    passages: Passages
    expected: np.ndarray
    notes: tuple[str, ...] = ()
    head_map: Map | None = None

    def row_columns(self) -> Mapping[str, Any]:
        """The scores, a row per head."""
        return self.scores.row_columns()

    @property
    def keys(self) -> list[tuple[int, int]]:
        """(layer, head) of each row."""
        columns = self.scores.columns
        return [(int(a), int(b)) for a, b in zip(columns["layer"], columns["head"], strict=True)]

    def passage_columns(self) -> dict[str, np.ndarray]:
        """The passages as a table: a row for each, those of a head together, the strongest first."""
        found, keys = self.passages, self.keys
        rows = [(head, slot) for head, slot in np.ndindex(found.text.shape) if found.text[head, slot] >= 0]
        shown = [found.tokens[int(found.text[row])] for row in rows]
        beyond = [float(found.weight[row] - self.expected[row[0], found.bucket[row]]) for row in rows]
        return {
            "layer": np.array([keys[head][0] for head, _ in rows], int),
            "head": np.array([keys[head][1] for head, _ in rows], int),
            "place": np.array([slot for _, slot in rows], int),
            "weight": np.array([found.weight[row] for row in rows], float),
            "beyond": np.array(beyond, float),
            "query": np.array(
                [tokens[found.query[row]] for tokens, row in zip(shown, rows, strict=True)], object
            ),
            "key": np.array(
                [tokens[found.key[row]] for tokens, row in zip(shown, rows, strict=True)], object
            ),
            "text": np.array([passage(found, *row) for row in rows], object),
        }

    def view(self, title: str | None = None) -> View:
        """The heads as a picture: their table, the tree of groups, and the passages of each."""
        from langscape.views import survey

        return survey(
            self.scores, self.figures, self.roles, self.groups, self.passages, self.expected,
            {name: role.rule for name, role in ROLES.items()}, texts=self.texts, halves=self.halves,
            title=title or f"Heads of {self.model}", notes=self.notes, head_map=self.head_map,
        )  # fmt: skip

    def save_all(self, folder: str | Path, *, title: str | None = None) -> list[Path]:
        """Write the page, the table of scores and that of passages into a folder."""
        from langscape.views.table import write_columns

        folder = Path(folder)
        paths = [self.save(folder / name, title=title) for name in ("index.html", "scores.csv")]
        return [*paths, write_columns(self.passage_columns(), folder / "passages.csv")]


def survey_heads(
    parts: Sequence[HeadPart] | Any, probe: Probe | None = None, *, model: str = "", seed: int = 0
) -> HeadSurvey:
    """Parts of a corpus → what every head does over all of it. Parts may come one by one: none is kept."""
    folds: dict[int, HeadTally] = {}
    heads: tuple[tuple[int, int], ...] = ()
    pool: Passages | None = None
    whole: HeadTally | None = None
    short = cut = 0
    for at, part in enumerate(parts):
        short, cut = short + part.short, cut + part.cut
        if part.tally is None or part.passages is None:
            continue
        heads, fold = part.heads, at % FOLDS
        folds[fold] = folds[fold] + part.tally if fold in folds else part.tally
        whole = part.tally if whole is None else whole + part.tally
        both = [part.passages] if pool is None else [pool, part.passages]
        pool = joined_passages(both, whole.mean_by_distance(), _POOL)
    if whole is None or pool is None:
        unit = f" ({told})" if (told := written("unit", "paragraph")) else ""
        raise DataError(f"no text has as many as 8 tokens; give longer ones, or read by paragraphs{unit}")
    tallies = [folds[fold] for fold in sorted(folds)]
    probed = None if probe is None or not probe.halves else probe.halves[0] + probe.halves[1]
    roles = judge(tallies, probed)
    figures = score_figures(whole) | {"by_position": position_figures(tallies)}
    if probed is not None:
        figures["induction"] = score_figures(probed)["induction"]
    figures = {name: one for name, one in figures.items() if one.texts}
    groups = stable_groups(
        np.stack([fold.apart for fold in tallies]), np.array([fold.texts for fold in tallies]), seed
    )
    expected = whole.mean_by_distance()
    assert expected.shape[1] == BUCKETS
    table = _table(heads, figures, roles, groups)
    return HeadSurvey(
        model, whole.texts, table, figures, roles, _halves(tallies, probe), groups,
        joined_passages([pool], expected), expected, tuple(_notes(whole.texts, short, cut, roles)),
        map_heads(whole.apart / whole.texts, table, seed),
    )  # fmt: skip


def passage(found: Passages, head: int, slot: int, around: int = 12) -> str:
    """A passage in a line: the query in [brackets], the key in «angles», and what stands around them."""
    from langscape.data.token_text import joined_text

    tokens = found.tokens[int(found.text[head, slot])]
    query, key = int(found.query[head, slot]), int(found.key[head, slot])
    first, last = max(0, min(query, key) - around), min(len(tokens), max(query, key) + around + 1)
    marked = {query: ("[", "]"), key: ("«", "»")} if query != key else {query: ("[«", "»]")}
    return joined_text(tokens, marked, first, last)


def _halves(folds: Sequence[HeadTally], probe: Probe | None) -> float:
    """The share of heads with the same names on every other fold as on the rest."""
    if len(folds) < 4:
        return float("nan")
    probes = probe.halves if probe is not None and probe.halves else (None, None)
    both = [names_of(judge(folds[half::2], probes[half])) for half in range(2)]
    return float(np.mean([one == other for one, other in zip(*both, strict=True)]))


def _table(
    heads: Sequence[tuple[int, int]],
    figures: Mapping[str, Figures],
    roles: dict[str, Judged],
    groups: StableGroups,
) -> Items:
    given, some = names_of(roles, GIVEN), names_of(roles, SOMETIMES)
    sometimes = [
        ", ".join(_sometimes(name, roles[name], row) for name in names) for row, names in enumerate(some)
    ]
    columns: dict[str, Any] = {
        "layer": np.array([layer for layer, _ in heads]),
        "head": np.array([head for _, head in heads]),
        "names": np.array([", ".join(names) for names in given], object),
        "sometimes": np.array(sometimes, object),
        "group": np.array([str(one) for one in groups.group], object),
    }
    for name, one in figures.items():
        columns |= {name: one.mean, f"{name}_low": one.low, f"{name}_high": one.high}
    return Items([f"{layer}.{head}" for layer, head in heads], columns)


def _sometimes(name: str, role: Judged, row: int) -> str:
    share = role.share[row]
    return name if share != share else f"{name} ({100 * share:.0f} % of texts)"


def _notes(texts: int, short: int, cut: int, roles: Mapping[str, Judged]) -> list[str]:
    from langscape.sources.word_lookup import counted

    notes = []
    if short:
        notes.append(f"{counted(short, 'text has', 'texts have')} fewer than 8 tokens, too few to be scored")
    if cut:
        notes.append(f"{counted(cut, 'text is', 'texts are')} longer than is read: only the start counts")
    if texts < 30:
        many = counted(texts, "text is", "texts are")
        notes.append(f"{many} few: intervals are wide, and most roles are not told")
    untold = [name for name, role in roles.items() if 0 < role.figures.texts < 8 and name != "position-only"]
    if untold:
        notes.append(f"fewer than 8 texts give an occasion for {', '.join(untold)}, so nobody is called that")
    return notes


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"Heads of {model_title(settings['model'])} over {names.get('texts', 'the sample texts')}"


@picture("survey", name="survey")
def survey_picture(found: HeadSurvey, context: Any) -> View:
    """Every head with its roles and intervals, the tree of groups, and the passages of each."""
    return found.view(context.title)


Sort = Annotated[str, Setting("Sort", "Rank heads by this score.")]
Show = Annotated[int, Setting("Show", "How many heads to print; 0 prints all.", ge=0)]
PassageCount = Annotated[int, Setting("Passages", "How many passages of each head to print.", ge=0, le=TOP)]


def lines(
    found: HeadSurvey, *, sort: Sort = "interest", show: Show = 15, passages: PassageCount = 1
) -> list[str]:
    """The heads ranked by a score with their roles and passages, as lines of text."""
    from langscape.sources.word_lookup import counted

    columns = found.scores.columns
    order = found.ranked(sort)
    shown = [sort, *(name for name in ("interest", "parked", "entropy") if name != sort)]
    out = [
        counted(found.texts, "text", "texts")
        + (
            f"; {_percent(found.halves)} of heads have the same names on both halves"
            if found.halves == found.halves
            else ", too few to be halved"
        ),
        "  ".join(["head  ", *(f"{headed(name):<21}" for name in shown), "group", "names"]),
    ]
    for row in order[: show or len(order)]:
        values = [f"{_interval(found.figures[name], row):<21}" for name in shown]
        names = columns["names"][row]
        if columns["sometimes"][row]:
            names = f"{names}{'; ' if names else ''}sometimes {columns['sometimes'][row]}"
        where = found.scores.labels[int(row)]
        out.append("  ".join([f"{where:<6}", *values, f"{columns['group'][row]:>5}", names]).rstrip())
        slots = [slot for slot in range(found.passages.text.shape[1]) if found.passages.text[row, slot] >= 0]
        out += [f"        {passage(found.passages, int(row), slot)}" for slot in slots[:passages]]
    given = Counter(name for names in columns["names"] for name in names.split(", ") if name)
    for name, count in given.most_common():
        mean = found.roles[name].figures.mean
        rows = [row for row in np.argsort(-mean) if found.roles[name].state[row] == GIVEN]
        strongest = ", ".join(found.scores.labels[int(row)] for row in rows[:4])
        out.append(f"{name}: {count} {'head' if count == 1 else 'heads'}, strongest {strongest}")
    groups = found.groups
    out.append(
        f"{groups.group.max() + 1} groups of heads that attend alike"
        + (
            ""
            if np.isnan(groups.agreement)
            else f"; halves of the texts agree on them to {groups.agreement:.2f}"
        )
    )
    return [*out, *head_map_line(found.head_map)]


def _interval(one: Figures, row: int) -> str:
    """A mean with its interval; of a single text there is none."""
    mean = f"{one.mean[row]:.3f}"
    return mean if np.isnan(one.low[row]) else f"{mean} ({one.low[row]:.3f}–{one.high[row]:.3f})"


def _percent(share: float) -> str:
    return "–" if share != share else f"{100 * share:.0f} %"


@analysis(
    version=5,
    title="Heads over a corpus",
    room="atlas",
    pictures=(survey_picture,),
    uses=(head_texts, head_part, head_probe),
    describe=_title,
    check=check_sort("corpus"),
    lines=lines,
    formats=FORMATS,
    folder=True,
    example={"texts": "sample-corpus"},
    group="measure",
    examples=(
        "langscape heads default --texts sotu --most 20 --out survey.html",
        "langscape heads decoder --texts letters/ --sort induction --out heads.csv",
    ),
)
def heads(
    model: Model = "default",
    texts: Texts = None,
    *,
    unit: Unit = "auto",
    column: Column = None,
    most: Most = 1000,
    tokens: LongestText = 256,
    layers: Layers = None,
    seed: Seed = 0,
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> HeadSurvey:
    """Name and group every head of a model by what it does over many texts, and show where it attends most.

    texts may be a file, a folder, the name of a packaged corpus, a list of texts, or a column of a data
    frame. What is computed is kept part by part: a run that was stopped goes on where it stood.

    >>> found = heads("default", ["The cat sat on the mat, and the dog sat by the cat."] * 4)
    >>> found.texts, found.scores.labels[0]
    (4, '0.0')
    """
    from langscape.sources.texts import count_texts

    file = stored_file(head_texts, texts=texts, unit=unit, column=column, most=most, seed=seed)
    assert file is not None  # texts always have a name: lists are kept as files
    total = count_texts(file)
    size = int(np.clip(-(-total // FOLDS), 1, _PART))
    calls = [
        {"model": model, "texts": file, "layers": layers, "tokens": tokens, "first": first,
         "count": min(size, total - first)}
        for first in range(0, total, size)
    ]  # fmt: skip
    parts = each(head_part, calls, title="texts", workers=workers, cluster=cluster, progress=progress)
    called = title_of(model)
    return survey_heads(parts, head_probe(model, layers=layers, seed=seed), model=called, seed=seed)
