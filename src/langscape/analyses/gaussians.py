"""Words of a corpus, or the individuals of a table, as distributions: a mean and a spread each.

Contexts are found once; the model then runs over the words part by part, so that a run that was stopped goes
on where it stood and parts may be worked on side by side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.data import Context, Gaussians, Items, Progress
from langscape.declarations import Input, Setting, analysis
from langscape.declarations.inputs import SAMPLES
from langscape.declarations.running import each, opened
from langscape.declarations.settings import Cluster, Model, Seed, Workers
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun
from langscape.models.display_names import model_title
from langscape.sources.wordlist import WordList

PART = 25
"""Words of one task: about 2,500 contexts, some ten seconds of work."""

_WORD = re.compile(r"[^\W\d_]{4,}")
_READ = 5_000_000

Corpus = Annotated[
    str | Path | Sequence[str | Path] | None,
    Input(
        "corpus",
        "Corpus",
        "Where words are read in context: a text file, a folder, or a packaged corpus (`langscape corpora`); "
        "sample texts if left out.",
        sample="sample-corpus",
        many=True,
    ),
]
List = Annotated[
    WordList | Sequence[str] | Path | None,
    Input(
        "words",
        "Words",
        "The words to look up: one a line, or .csv; a group column gives the colours. The most frequent ones "
        "of four letters or more if left out.",
        option="--words",
    ),
]
Words = Annotated[
    list[str] | None,
    Setting("Words by name", "The words to look up; the most frequent ones if left out.", option="--word"),
]
Most = Annotated[
    int, Setting("Most frequent words", "How many words are taken where none are named.", ge=4, le=2000)
]
Contexts = Annotated[
    int,
    Setting("Contexts", "Passages per word, drawn evenly from all there are.", ge=1, le=5000, document="004"),
]
Unit = Annotated[
    Literal["sentence", "paragraph"],
    Setting(
        "A context is",
        "What the model reads around a word.",
        labels={"sentence": "a sentence", "paragraph": "a paragraph"},
    ),
]
ContextLayer = Annotated[
    int,
    Setting(
        "Layer",
        "The hidden layer: 0 is the embedding, -1 the last.",
        hint="0 is the embedding, −1 the last",
        ge=-1,
        le=500,
        document="004",
        names="hidden layer",
    ),
]
Rank = Annotated[
    int,
    Setting(
        "Factors",
        "Factors kept of each covariance; 0 keeps variances alone.",
        ge=0,
        le=64,
        document="004",
    ),
]
Samples = Annotated[
    bool, Setting("Keep vectors", "Keep every context’s vector; ellipses get their angle from them.")
]
Table = Annotated[
    str | Path | None,
    Input("table", "Table", "Instead of words: a .csv or .parquet with several rows for each individual."),
]
By = Annotated[
    str | None,
    Setting("Group by", "With a table: the column that says whose row it is.", document="004"),
]
Columns = Annotated[
    list[str] | None,
    Setting("Columns", "With a table: the columns to use, by comma; all numbers if left out."),
]
Standardise = Annotated[bool, Setting("Standardise", "With a table: divide each column by its deviation.")]
Missing = Annotated[
    list[str] | None,
    Setting(
        "Missing values",
        "With a table: cells that stand for a missing value, by comma, besides empty ones, NA, N/A, NaN, "
        "null, ? and -.",
        like="-99",
    ),
]
First = Annotated[int, Setting("First", "The first word of the part.", ge=0)]
Count = Annotated[int, Setting("Count", "How many words the part has.", ge=1)]


@noun
@dataclass(frozen=True, eq=False)
class WordContexts:
    """Passages of a corpus in which words stand.

    contexts     for each word those that were drawn
    occurrences  how often each word stands in the corpus
    asked        how many were wanted of each
    missing      words that stand nowhere
    """

    words: tuple[str, ...]
    contexts: tuple[tuple[Context, ...], ...]
    occurrences: np.ndarray
    asked: int
    missing: tuple[str, ...]
    notes: tuple[str, ...] = ()


@analysis(version=2, name="gaussians.contexts", hidden=True)
def word_contexts(
    corpus: Corpus = None,
    list: List = None,
    *,
    contexts: Contexts = 100,
    unit: Unit = "sentence",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> WordContexts:
    """Passages of a corpus in which the words of a list stand, and how often each does."""
    from langscape.sources import corpus as open_corpus

    words = _words_of(list)
    found = open_corpus(_paths(corpus)).find(words, contexts, unit=unit, seed=seed, progress=progress)
    if not any(len(some) for some in found.contexts):
        raise DataError(
            "none of the words stands in the corpus; check their spelling, or take another corpus"
        )
    return WordContexts(
        tuple(words),
        tuple(tuple(some) for some in found.contexts),
        np.asarray(found.occurrences),
        found.asked,
        tuple(found.missing),
        tuple(found.notes()),
    )


@analysis(version=1, name="gaussians.part", hidden=True, uses=(word_contexts,))
def gaussians_part(
    model: Model = "default",
    corpus: Corpus = None,
    list: List = None,
    *,
    contexts: Contexts = 100,
    unit: Unit = "sentence",
    seed: Seed = 0,
    layer: ContextLayer = -1,
    rank: Rank = 0,
    samples: Samples = True,
    first: First = 0,
    count: Count = PART,
    progress: Progress | None = None,
) -> Gaussians:
    """The Gaussians of `count` words from `first` on; a part may hold none."""
    from langscape.models import gaussians_of

    found = word_contexts(corpus, list, contexts=contexts, unit=unit, seed=seed)
    mine = slice(first, first + count)
    if not any(found.contexts[mine]):
        return Gaussians(np.zeros((0, 1)), np.zeros((0, 1)), Items([]), np.zeros(0))
    return gaussians_of(
        opened(model),
        found.words[mine],
        found.contexts[mine],
        occurrences=found.occurrences[mine].tolist(),
        asked=found.asked,
        layer=layer,
        rank=rank,
        samples=samples,
        progress=progress,
    )


def check_given(settings: Mapping[str, Any], given: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    """Refuse words beside a table, and a table of which nothing says whose rows it has."""
    if "table" in given:
        if settings["words"] or "list" in given or not _is_sample(given.get("corpus")):
            raise SettingsError("a table does not go with a corpus and words; give one or the other")
        if not settings["by"]:
            raise SettingsError(
                "say what to group the table by: the column that says whose row it is, patient for example"
            )
    elif settings["words"] and "list" in given:
        raise SettingsError("words are named twice; give a list, or name them one by one")


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if "table" in names:
        return f"{settings['by']} of {names['table']} as distributions"
    of = names.get("corpus", "the sample texts")
    return f"Words of {of} as distributions, by {model_title(settings['model'])}"


def lines(found: Gaussians) -> list[str]:
    """How many there are, and which vary least and most."""
    dims, total = found.means.shape[1], int(found.counts.sum())
    sentences = [f"{len(found):,} distributions of {dims} dimensions, {total:,} contexts"]
    known = np.flatnonzero(found.counts != 1)  # a single row says nothing of a spread
    order = known[found.spread[known].argsort()]
    few = min(5, len(known) // 2)  # no word stands in both lists
    if few:
        some = [", ".join(found.labels[int(i)] for i in rows) for rows in (order[:few], order[::-1][:few])]
        sentences.append(f"vary least: {some[0]}; most: {some[1]}")
    return sentences


def save(found: Gaussians, path: Path, *, title: str | None = None) -> Path:
    """The file of the distributions."""
    return found.save(path)


@analysis(
    version=2,
    title="Distributions as a file",
    room="distributions",
    uses=(word_contexts, gaussians_part),
    describe=_title,
    check=check_given,
    lines=lines,
    save=save,
    formats=(".safetensors",),
    out="gaussians.safetensors",
    group="measure",
    examples=(
        "langscape gaussians default --corpus sotu --word bank --word river --out words.npz",
        "langscape gaussians --table flowers.csv --by species --out flowers.npz",
    ),
)
def gaussians(
    model: Model = "default",
    corpus: Corpus = None,
    *,
    words: Words = None,
    list: List = None,
    most: Most = 60,
    contexts: Contexts = 100,
    unit: Unit = "sentence",
    layer: ContextLayer = -1,
    rank: Rank = 0,
    samples: Samples = True,
    table: Table = None,
    by: By = None,
    columns: Columns = None,
    standardise: Standardise = True,
    missing: Missing = None,
    seed: Seed = 0,
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Gaussians:
    """Find words in a corpus, run a model over their contexts, and keep a mean and a variance of each.

    What is computed is kept part by part: a run that was stopped goes on where it stood. With a table, one
    Gaussian for each value of its column `by`.

    >>> found = gaussians(words=["harbour", "boats", "morning"], contexts=4)
    >>> found.labels[:2], found.means.shape[1]
    (('harbour', 'boats'), 384)
    """
    if table is not None:
        from langscape.sources import tables

        how: dict[str, Any] = {"standardise": standardise, "missing": missing or (), "progress": progress}
        return tables.gaussians(table, by, columns, **how)  # type: ignore[arg-type]
    paths = _paths(corpus)
    listed = _listed(words, list, paths, most)
    asked: dict[str, Any] = {
        "corpus": paths, "list": WordList(listed.words), "contexts": contexts, "unit": unit, "seed": seed
    }  # fmt: skip
    found = word_contexts(**asked, progress=progress)
    calls = [
        {**asked, "model": model, "layer": layer, "rank": rank, "samples": samples, "first": first,
         "count": min(PART, len(listed) - first)}
        for first in range(0, len(listed), PART)
    ]  # fmt: skip
    parts = each(
        gaussians_part, calls, title="distributions", workers=workers, cluster=cluster, progress=progress
    )
    result = joined([part for part in parts if len(part)], found.notes)
    if listed.groups is not None:
        group = dict(zip(listed.words, listed.groups, strict=True))
        column = np.array([group[word] for word in result.labels], dtype=object)
        result = replace(result, items=result.items.with_columns(group=column))
    return replace(result, metadata={**result.metadata, "missing": [*found.missing]})


def joined(parts: Sequence[Gaussians], notes: Sequence[str] = ()) -> Gaussians:
    """Several Gaussians as one, in order; they come from one model and layer."""
    if not parts:
        raise DataError("no part holds any words")
    columns = {
        name: np.concatenate([part.items.columns[name] for part in parts]) for name in parts[0].items.columns
    }
    return Gaussians(
        np.concatenate([part.means for part in parts]),
        np.concatenate([part.variances for part in parts]),
        Items([label for part in parts for label in part.labels], columns),
        np.concatenate([part.counts for part in parts]),
        factors=_stacked([part.factors for part in parts]),
        samples=_stacked([part.samples for part in parts]),
        contexts=[some for part in parts for some in part.contexts],
        metadata=parts[0].metadata,
        notes=tuple(notes),
    )


def frequent_words(paths: Sequence[Path], most: int) -> list[str]:
    """The most frequent words of at least four letters in the first megabytes of texts or folders."""
    counted: Counter[str] = Counter()
    for path in paths:
        for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
            with file.open(encoding="utf-8", errors="replace") as opened:
                counted.update(_WORD.findall(opened.read(_READ).lower()))
    if not counted:
        raise SettingsError("no words are named, and the corpus has none of four letters; name some")
    ranked = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    return [word for word, _ in ranked[:most]]


def _listed(words: Sequence[str] | None, list: Any, paths: Sequence[Path], most: int) -> WordList:
    """The words, each once: typed, of a list with their groups, or the most frequent ones of the corpus."""
    if words:
        return WordList([*dict.fromkeys(words)])
    if list is None:
        return WordList(frequent_words(paths, most))
    listed = list if isinstance(list, WordList) else WordList([*list])
    once = [*dict.fromkeys(listed.words)]
    if listed.groups is None:
        return WordList(once)
    group = dict(reversed([*zip(listed.words, listed.groups, strict=True)]))
    return WordList(once, [group[word] for word in once])


def _words_of(list: Any) -> list[str]:
    words = [str(word) for word in (list.words if isinstance(list, WordList) else list or ())]
    if not words:
        raise SettingsError("no words are named; give at least one")
    if len(set(words)) < len(words):
        twice = next(word for word, count in Counter(words).items() if count > 1)
        raise SettingsError(f"the word {twice!r} is named twice; name each word once")
    return words


def _paths(corpus: Any) -> list[Path]:
    from langscape.sources import corpus_path

    given = [corpus] if isinstance(corpus, str | Path) else corpus or [SAMPLES["sample-corpus"][2]]
    return [corpus_path(one) for one in given]


def _is_sample(corpus: Any) -> bool:
    """Whether a corpus is the one that is taken where none is given."""
    given = [] if corpus is None else [corpus] if isinstance(corpus, str | Path) else [*corpus]
    return all(Path(one) == SAMPLES["sample-corpus"][2] for one in given)


def _stacked(arrays: Sequence[np.ndarray | None]) -> np.ndarray | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if len(present) == len(arrays) else None
