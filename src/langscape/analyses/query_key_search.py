"""Which head of all does what: noun to pronoun, same word, next word, with counts and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from langscape.analyses._query_key import (
    query_key_collect,
)
from langscape.analyses._query_key_settings import (
    Pipeline,
    Tagger,
    Texts,
    Tokens,
)
from langscape.analyses._query_key_tables import scaled_weights
from langscape.data import Capture, Progress, Shown, Step, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.settings import Generate, Model, Side
from langscape.io.codec import noun
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.metrics.head_search import HeadSearch, WordPairs

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv", ".parquet")

MOST = 12
"""Patterns that a picture shows where none were named: those that some head follows furthest."""

NAMED = 5
"""Patterns that a note names of those that are not shown."""

Find = Annotated[
    list[str] | None,
    Setting(
        "Patterns",
        "What to look for: 'noun > pronoun' by classes of tokens, 'same word', 'next word', 'previous word'; "
        "all that the text has occasions for if left out.",
        like="same word",
    ),
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class QueryKeySearch(Shown):
    """What every head does along patterns of words; `found` has weights, intervals and key popularity."""

    model: str
    found: HeadSearch
    named: bool
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> list[int]:
        """The patterns that a picture shows: those asked for, or those that some head follows furthest."""
        found = self.found
        if self.named:
            return list(range(len(found.patterns)))
        gain = np.where(found.sure, found.weight - found.popularity, 0).max(axis=1)
        order = np.argsort(-gain, kind="stable")
        return [int(at) for at in order if gain[at] > 0][:MOST] or [int(order[0])]

    @property
    def not_shown(self) -> tuple[str, ...]:
        """Which patterns have no table, and why."""
        from langscape.metrics.head_search import LEAST_QUERIES, LEAST_SENTENCES

        left_out, shown = self.found.left_out, self.shown
        others = [name for at, name in enumerate(self.found.patterns) if at not in shown]
        told = []
        if left_out:
            least = f"fewer than {LEAST_QUERIES} queries, or in fewer than {LEAST_SENTENCES} sentences"
            told.append(f"not searched, since the text has too few occasions ({least}): {_listed(left_out)}")
        if others:
            told.append(
                "searched and not shown, since no head goes along it beyond chance, or along others further: "
                f"{_listed(others)}"
            )
        return tuple(told)

    def columns(self) -> dict[str, np.ndarray]:
        """A row for every pattern and head."""
        found = self.found
        pattern, head = (part.ravel() for part in np.indices(found.weight.shape))
        return {
            "pattern": np.array(found.patterns, object)[pattern],
            "layer": found.heads[head, 0],
            "head": found.heads[head, 1],
            **{
                name: getattr(found, name).ravel()
                for name in ("weight", "low", "high", "popularity", "lift", "sure")
            },
            "queries": found.queries[pattern],
            "sentences": found.sentences[pattern],
        }

    def view(self, *, title: str | None = None) -> View:
        """A heat map of all heads for each pattern: weight over key popularity."""
        from langscape.views import Matrix, matrices

        found = self.found
        layers, heads = (sorted(set(found.heads[:, at].tolist())) for at in (0, 1))
        at = ([layers.index(a) for a in found.heads[:, 0]], [heads.index(b) for b in found.heads[:, 1]])
        tables = []
        for row in self.shown:
            lift, weight = np.full((2, len(layers), len(heads)), np.nan)
            lift[at], weight[at] = found.lift[row], found.weight[row]
            sure = np.zeros(lift.shape, bool)
            sure[at] = found.sure[row]
            best = found.best(row, 1)
            many = int(found.sure[row].sum())
            told = f"; {many} of {len(found.heads)} heads beyond chance"
            if best:
                told += f"; most weight by head {_head(found, row, best[0])}"
            tables.append(
                Matrix(
                    found.patterns[row], [str(one) for one in layers], [str(one) for one in heads], lift,
                    "ratio", 1.0, 1, f"{found.queries[row]:,} queries{told}", weight, "weight",
                    marked=sure,
                )
            )  # fmt: skip
        return matrices(
            tables,
            title=title or "Which head does what", row_name="layer", column_name="head",
            subtitle="weight on the keys of the pattern ÷ what other queries give to the same keys; bold: "
            "beyond chance, all heads taken together; each sentence is read alone",
            notes=(*self.not_shown, *self.notes),
        )  # fmt: skip

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write a row for every pattern and head (.csv, .parquet), or heat maps (.html, .png, .svg, .pdf)."""
        from langscape import views
        from langscape.views.table import write_columns

        path = Path(path)
        if path.suffix.lower() in (".csv", ".parquet"):
            return write_columns(self.columns(), path, title or "Which head does what")
        return views.write(self.view(title=title), path)


def _listed(names: Sequence[str]) -> str:
    """The first few of these, and how many more there are."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _head(found: HeadSearch, row: int, head: int) -> str:
    layer, number = found.heads[head]
    low, high = found.low[row, head], found.high[row, head]
    return f"{layer}.{number}: {found.weight[row, head]:.2f} ({low:.2f}–{high:.2f})"


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    over = names.get("text", "sample texts")
    return f"Which head of {model_title(settings['model'])} does what, over {over}"


@picture("matrices", name="heads")
def heat_maps(result: QueryKeySearch, context: Any) -> View:
    """Every head along each pattern."""
    return result.view(title=context.title)


def lines(result: QueryKeySearch) -> Sequence[str]:
    """For each pattern the heads that follow it most, and how many do for sure."""
    found = result.found
    told = ["weight on the keys of a pattern, 95 % interval, times what other queries give to the same keys"]
    for row in result.shown:
        best = found.best(row)
        heads = [f"{_head(found, row, head)} × {found.lift[row, head]:.1f}" for head in best]
        counted = f"{found.queries[row]:,} queries, {found.sentences[row]:,} sentences"
        many = int(found.sure[row].sum())
        told.append(
            f"{found.patterns[row]} ({counted}): "
            + (f"{', '.join(heads)}; {many} of {len(found.heads)} heads" if best else "no head for sure")
        )
    return told


def save(result: QueryKeySearch, path: Path, *, title: str | None = None) -> Path:
    """One file of the search."""
    return result.save(path, title=title)


@analysis(
    version=2,
    name="query_key.search",
    title="Which head does what",
    room="query_key",
    pictures=(heat_maps,),
    uses=(query_key_collect,),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    example={"text": "sample-harbour"},
    group="measure",
    examples=(
        "langscape query-key-search default --text letter.txt",
        "langscape query-key-search default --find 'next word' --find 'same word' --out heads.png",
    ),
)
def query_key_search(
    model: Model = "default",
    text: Texts = None,
    *,
    find: Find = None,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    tokens: Tokens = None,
    side: Side = None,
    generate: Generate = 0,
    progress: Progress | None = None,
) -> QueryKeySearch:
    """Search all heads for those that attend along a pattern: noun to pronoun, same word, next word, …

    Of every pattern it says how many queries have an occasion for it, what they give to its keys with an
    interval over sentences, and what other queries give to the same keys: a head that all queries of the
    sentence follow alike does nothing for the pattern. Special tokens are left out.

    >>> text = "The cat saw the dog and the dog saw the cat. " * 6
    >>> found = query_key_search("default", text, find=["next word"]).found
    >>> found.patterns, found.weight.shape, int(found.queries[0]) > 50
    (('next word',), (1, 72), True)
    """
    from langscape.affinity import head_vectors, heads_of
    from langscape.metrics.head_search import search_heads

    seen = query_key_collect(
        model, text, tokens=tokens, tagger=tagger, pipeline=pipeline, side=side, generate=generate,
        progress=progress,
    )  # fmt: skip
    heads = heads_of(seen)
    pairs, kept = _word_pairs(seen, heads[0])
    weights = []
    for done, head in enumerate(heads):
        one = head_vectors(seen, *head, special="drop")
        weights.append(scaled_weights(one.pairs)[kept])
        if progress is not None:
            progress(Step(done + 1, len(heads), "searching heads"))
    found = search_heads(pairs, weights, heads, find)
    return QueryKeySearch(str(seen.metadata.get("model", "")), found, find is not None, seen.notes)


def _word_pairs(capture: Capture, head: tuple[int, int]) -> tuple[WordPairs, np.ndarray]:
    """Who sees whom, and whose words they are; and which pairs are of two tokens: all but one's own."""
    from langscape.affinity import head_vectors
    from langscape.metrics.head_search import WordPairs
    from langscape.models.token_classes import whole_words

    one = head_vectors(capture, *head, special="drop")
    column = "part of speech" if capture.tokens.parts_of_speech is not None else "class"
    q = capture.name_of("q")
    sides = capture.tokens_along(q, "query"), capture.tokens_along(f"{q.removesuffix('q')}k", "key")
    known = []
    for items, tokens in zip((one.queries, one.keys), sides, strict=True):
        numbers = list(range(len(tokens))) if tokens.words is None else list(tokens.words)
        texts = whole_words(tokens.texts, numbers, tokens.sentence.tolist())
        rows = np.flatnonzero(~tokens.special)
        word = np.array([-9 if numbers[row] is None else numbers[row] for row in rows])
        known.append((word, [texts[row] for row in rows], [str(kind) for kind in items.columns[column]]))
    (word, text, kind), (key_word, key_text, key_kind) = known
    across = sides[0].side != sides[1].side
    kept = np.flatnonzero((one.pairs.query != one.pairs.key) | across)
    query, key = one.pairs.query[kept], one.pairs.key[kept]
    sentence = np.asarray(one.queries.columns["sentence"])
    return WordPairs(query, key, sentence, word, key_word, text, key_text, kind, key_kind), kept
