"""Tables of queries and keys: attention between classes and clusters, scores of maps, how c was chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data import Capture, Map, Shown, View
from langscape.errors import SettingsError
from langscape.io.codec import noun

if TYPE_CHECKING:
    from langscape.affinity import HeadVectors, Scales
    from langscape.metrics import ClassTable

Key = tuple[int, int]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class ClassTables(Shown):
    """Attention between classes of tokens: a table per (layer, head), by the classes of one column."""

    column: str
    tables: Mapping[Key, ClassTable]

    def view(self) -> View:
        """The tables as a picture."""
        from langscape.views import class_tables

        return class_tables(self.tables, column=self.column)


def write_tab(tabs: Mapping[str, Callable[[], View]], tab: str, path: Path) -> Path:
    """One tab of a page as a file: a figure, or its numbers as .csv or .parquet."""
    from langscape import views

    if tab not in tabs:
        raise SettingsError(f"there is no tab {tab!r} here; there are {', '.join(tabs)}")
    return views.write(tabs[tab](), path)


def tabs_of(classes: Sequence[ClassTables], scales: Scales | None = None) -> dict[str, Callable[[], View]]:
    """The tabs of tables: attention between classes and between parts of speech, and how c was chosen."""
    from langscape import views

    tabs = {"classes" if one.column == "class" else "parts": one.view for one in classes}
    if scales is not None:
        tabs["c"] = lambda: views.scales([scales])
    return tabs


def class_columns(capture: Capture) -> list[Literal["class", "part of speech"]]:
    """The columns by which tokens are classed: parts of speech where a tagger gave them."""
    return ["class", "part of speech"] if capture.tokens.parts_of_speech is not None else ["class"]


def class_tables(
    capture: Capture,
    column: str = "class",
    heads: Sequence[tuple[int, int]] | None = None,
    special: Literal["keep", "drop"] = "drop",
) -> dict[tuple[int, int], ClassTable]:
    """Attention between classes of tokens for every head of a capture.

    With "drop", special tokens are left out and what a query gives to the others is scaled to 1: they soak up
    so much that everything else would seem avoided. With "keep" they are a class of their own.
    """
    from langscape.affinity import head_vectors, heads_of
    from langscape.metrics import class_attention
    from langscape.models.taggers import PARTS
    from langscape.models.token_classes import CLASSES

    tables, order = {}, PARTS if column == "part of speech" else CLASSES
    for key in heads_of(capture) if heads is None else heads:
        one = head_vectors(capture, *key, special=special)
        if column not in one.queries.columns:
            raise SettingsError(f"there is no column {column!r}; there are {', '.join(one.queries.columns)}")
        asked, seen = ([str(kind) for kind in side.columns[column]] for side in (one.queries, one.keys))
        pairs = one.pairs
        tables[key] = class_attention(scaled_weights(pairs), pairs.query, pairs.key, asked, seen, order)
    return tables


def pairing(map: Map, one: HeadVectors, clusters: int = 8) -> Any:
    """Clusters of a head's map, and which of them attend to each other; see `metrics.pair_clusters`.

    Where special tokens were dropped, what a query gives to the others is scaled to 1, as in `class_tables`.
    """
    from langscape.metrics import pair_clusters

    n, pairs = len(one.Q), one.pairs
    texts = one.queries.columns["text"].tolist(), one.keys.columns["text"].tolist()
    weights = scaled_weights(pairs)
    return pair_clusters(map.xy[:n], map.xy[n:], *texts, weights, pairs.query, pairs.key, clusters)


def cluster_view(capture: Capture, head: tuple[int, int], map: Map, clusters: int = 8) -> View:
    """Which clusters of a head's map attend to which, as a table of weight over what chance would give."""
    from langscape.affinity import head_vectors
    from langscape.views import Matrix, matrices
    from langscape.views.matrices import SIDES

    one = head_vectors(capture, *head, special=map.settings.get("special", "keep"))
    found = pairing(map, one, clusters)
    counted = zip(found.query_names, found.table.queries, strict=True)
    rows = [f"{at}: {name} ({count})" for at, (name, count) in enumerate(counted)]
    columns = [f"{at}: {name}" for at, name in enumerate(found.key_names)]
    matrix = Matrix(
        f"{head[0]}.{head[1]}", rows, columns, found.table.lift, "ratio", second=found.table.weight,
        second_name="share of the query’s weight",
    )  # fmt: skip
    return matrices(
        [matrix],
        title="Which clusters pair up", row_name="cluster of queries", column_name="cluster of keys",
        subtitle=(
            "clusters of the map by place, of queries and keys each by themselves, named by their tokens, in "
            f"brackets how many queries; weight ÷ what chance would give: {SIDES}"
        ),
    )  # fmt: skip


def scaled_weights(pairs: Any) -> np.ndarray:
    """The weights of each query scaled to sum to 1; less where special tokens were dropped."""
    total = np.bincount(pairs.query, pairs.attention)
    return pairs.attention / np.maximum(total[pairs.query], 1e-300)


def score_lines(panels: Sequence[tuple[Key, Map]], titles: Sequence[str] | None = None) -> list[str]:
    """The scores of every map as lines of text, their mean, what a picture without queries has, a verdict."""
    from langscape.metrics.null import Null
    from langscape.metrics.scores import SCORES, applying

    shown = applying("query-key map", computed=True)
    kl = SCORES["kl"]
    lines = ["  ".join([f"{'head':<8}", *(score.word for score in shown), f"{kl.word:>8}"])]

    def line(name: str, scores: Sequence[float], loss: float) -> str:
        texts = [f"{one.text(value):>{len(one.word)}}" for one, value in zip(shown, scores, strict=True)]
        return "  ".join([f"{name:<8}", *texts, f"{kl.text(loss):>8}"])

    rows = [[one.quality.get(score.name, math.nan) for score in shown] for _, one in panels]
    for at, ((layer, head), one) in enumerate(panels):
        lines.append(line(titles[at] if titles else f"{layer}.{head}", rows[at], one.kl))
    means = [math.fsum(row[at] for row in rows) / len(rows) for at in range(len(shown))]
    if len(panels) > 1 and titles is None:
        lines.append(line("mean", means, math.fsum(one.kl for _, one in panels) / len(panels)))
    blind = [Null.mean_of([Null.read(one.quality, score.name) for _, one in panels]) for score in shown]
    lines.append(line("blind", [null.mean for null in blind], math.nan))
    lines.append(f"blind is {shown[0].null}")
    by_verdict: dict[str, list[str]] = {}
    for score, value, null in zip(shown, means, blind, strict=True):
        if verdict := score.in_words(value, null):
            by_verdict.setdefault(verdict, []).append(score.word)
    lines += [f"{verdict}: {', '.join(words)}" for verdict, words in by_verdict.items()]
    return lines


def scale_lines(chosen: Sequence[Scales]) -> list[str]:
    """How c was chosen: counted queries per constant, and what the choice is worth on unseen sentences."""
    lines = []
    for one in chosen:
        if one.metric == "norms":
            lines.append(f"c by norms: {one.c.min():.2f} to {one.c.max():.2f}")
            continue
        counts = ", ".join(
            f"{c:g}: {n:,}" for c, n in zip(one.constants, one.counted.sum(axis=0), strict=True)
        )
        lines.append(f"c by {one.metric}: counted queries of all heads by constant {counts}")
        open_ = int((np.isfinite(one.c) & ~one.told).sum())
        kept = int(((one.c == 1) & one.told).sum())
        seen = np.isfinite(one.held_out).all(axis=1)
        unseen = "no sentence is left to try it on"
        if seen.any():
            before, after, fine = one.held_out[seen].mean(axis=0)
            unseen = (
                f"on unseen sentences: {before:.4f} at c = 1, {after:.4f} at the chosen, {fine:.4f} finely"
            )
        lines.append(
            f"  {unseen}; {kept} of {len(one.c)} heads stay at c = 1"
            + (f", and of {open_} the text cannot tell c" if open_ else "")
        )
    return lines


def write_scores(panels: Sequence[tuple[Key, Map]], path: Path) -> Path:
    """A row per map as CSV or Parquet: its head, its c, its KL and its scores."""
    from langscape.views.table import write_columns

    names = list(dict.fromkeys(name for _, one in panels for name in one.quality))
    columns = {
        "layer": [layer for (layer, _), _ in panels],
        "head": [head for (_, head), _ in panels],
        "c": [one.settings.get("c", np.nan) for _, one in panels],
        "kl": [one.kl for _, one in panels],
    }
    columns |= {name: [one.quality.get(name, np.nan) for _, one in panels] for name in names}
    return write_columns(columns, path, "Scores of query–key maps")


def notes_of_maps(capture: Capture, maps: Sequence[Map]) -> tuple[str, ...]:
    """What a reader should know of the reading and of the maps, each said once."""
    from langscape.views.trust import notes_of

    return tuple(dict.fromkeys((*capture.notes, *(note for one in maps for note in notes_of(one)))))
