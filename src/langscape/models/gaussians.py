"""Words as distributions: mean and variance of a word's vector over the contexts it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from langscape.data import Context, Gaussians, Items, Progress, Step
from langscape.errors import DataError, SettingsError, not_there
from langscape.models.batch import run_batch
from langscape.models.capture_spec import make_plan
from langscape.models.inputs import Row
from langscape.models.tokens import TokenizedText, split

if TYPE_CHECKING:
    from langscape.models.model import Model

_TOKENS_AT_ONCE = 4096
"""Tokens of a batch, padding included: sentences sorted by length, about 200 a second on one core."""

MARK = "few"
"""The column that is true for words with fewer contexts than asked for."""


class Found(Protocol):
    """The contexts of words, as `sources.corpus(…).find(…)` gives them."""

    contexts: Any
    occurrences: Any

    def notes(self) -> tuple[str, ...]: ...  # noqa: D102


class Findable(Protocol):
    """Anything that finds contexts of words; `sources.corpus` makes one of files and texts."""

    def find(self, words: Sequence[str], contexts: int, **settings: Any) -> Found: ...  # noqa: D102


def word_gaussians(
    model: Model,
    corpus: Findable,
    words: Sequence[str],
    contexts: int = 100,
    layer: int = -1,
    seed: int = 0,
    *,
    rank: int = 0,
    samples: bool = True,
    progress: Progress | None = None,
    **finding: Any,
) -> Gaussians:
    """Each word as a Gaussian over up to so many of its contexts, which are kept to be read.

    A word's vector in a context is the mean over its sub-tokens at the hidden layer (0 the embedding, −1 the
    last). Words with fewer contexts than asked are kept and marked "few"; words with none are named in
    `notes`. rank keeps so many factors of each covariance; samples keeps every context's vector as float16.
    What else is given by name goes to `corpus.find`.
    """
    found = corpus.find(words, contexts, seed=seed, progress=progress, **finding)
    return gaussians_of(
        model,
        words,
        found.contexts,
        occurrences=found.occurrences,
        asked=contexts,
        layer=layer,
        rank=rank,
        samples=samples,
        notes=found.notes(),
        progress=progress,
    )


def gaussians_of(
    model: Model,
    words: Sequence[str],
    contexts: Sequence[Sequence[Context]],
    *,
    occurrences: Any = None,
    asked: int = 0,
    layer: int = -1,
    rank: int = 0,
    samples: bool = True,
    notes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Gaussians:
    """The same of contexts already found, contexts[i] those of words[i]; words without any are left out."""
    if model.kind == "vision" or model.tokenizer is None:
        raise SettingsError(f"{model.name} reads no text; words need a model with a tokenizer")
    if not isinstance(rank, int | np.integer) or rank < 0:
        raise SettingsError(f"rank {rank!r} must be a whole number, 0 for variances alone")
    kept = [i for i, some in enumerate(contexts) if some]
    if not kept:
        raise DataError(
            "none of the words stands in the corpus; check their spelling, or take another corpus"
        )
    chosen = _layer(model, layer)
    width = model.layout.hidden["self" if "self" in model.layout.hidden else "encoder"][1]
    sums = [Welford(width) for _ in kept]
    vectors = [np.zeros((len(contexts[i]), width), np.float16 if samples else np.float32) for i in kept]
    keep = samples or rank > 0
    for slot, place, vector in _vectors(model, [contexts[i] for i in kept], chosen, progress):
        sums[slot].add(vector)
        if keep:
            vectors[slot][place] = vector
    counts = np.array([len(contexts[i]) for i in kept])
    columns: dict[str, Any] = {"contexts": counts}
    if asked:
        columns[MARK] = counts < asked
    if occurrences is not None:
        columns["occurrences"] = np.asarray(occurrences)[kept]
    return Gaussians(
        np.stack([one.mean for one in sums]).astype(np.float32),
        np.stack([one.variance for one in sums]).astype(np.float32),
        Items([words[i] for i in kept], columns),
        counts,
        factors=np.stack([factors(v, int(rank)) for v in vectors]).astype(np.float32) if rank else None,
        samples=np.concatenate(vectors) if samples else None,
        contexts=[contexts[i] for i in kept],
        metadata={"model": model.name, "revision": model.revision, "layer": chosen, "asked": int(asked)},
        notes=tuple(notes),
    )


class Welford:
    """Mean and variance of vectors that come one by one, without holding them and without cancellation.

    >>> one = Welford(1)
    >>> for value in (1e9, 1e9 + 2):
    ...     one.add(np.array([value]))
    >>> one.mean.tolist(), one.variance.tolist()
    ([1000000001.0], [1.0])
    """

    def __init__(self, dim: int) -> None:
        self.count = 0
        self.mean = np.zeros(dim)
        self._squares = np.zeros(dim)

    def add(self, vector: np.ndarray) -> None:
        """Take one more vector."""
        self.count += 1
        away = vector - self.mean
        self.mean += away / self.count
        self._squares += away * (vector - self.mean)

    @property
    def variance(self) -> np.ndarray:
        """Divided by the number of vectors: 0 for a single one."""
        return self._squares / max(self.count, 1)


def factors(vectors: np.ndarray, rank: int) -> np.ndarray:
    """(dim, rank): the leading factors F of the vectors' covariance, F Fᵀ being nearest to it; zeros pad."""
    X = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, values, axes = np.linalg.svd(X / np.sqrt(len(X)), full_matrices=False)
    F = (values[:rank, None] * axes[:rank]).T
    return np.pad(F, ((0, 0), (0, rank - F.shape[1])))


def _layer(model: Model, layer: int) -> int:
    count = max(count for count, _ in model.layout.hidden.values())
    if not isinstance(layer, int | np.integer) or not -count <= layer < count:
        raise not_there("hidden layer", layer, range(count), model.name)
    return int(layer) % count


def _vectors(
    model: Model, contexts: Sequence[Sequence[Context]], layer: int, progress: Progress | None
) -> Iterator[tuple[int, int, np.ndarray]]:
    """(word, context, vector) of every context, word after word; each passage runs once, short ones first."""
    passages: dict[str, list[tuple[int, int]]] = {}
    for slot, some in enumerate(contexts):
        for place, context in enumerate(some):
            passages.setdefault(context.text, []).append((slot, place))
    rows = sorted(one for mine in passages.values() for one in _rows(model, contexts, mine))
    plan = make_plan(model.layout, ("hidden",), layer, None)
    ready: dict[tuple[int, int], np.ndarray] = {}
    done = 0
    for group in _batches(rows):
        captured = run_batch(model, plan, [row.row for row, _ in group])
        for (row, mine), one in zip(group, captured, strict=True):
            hidden = one[one.name_of("hidden")][0]
            for at, tokens in zip(mine, row.tokens, strict=True):
                ready[at] = hidden[tokens].mean(axis=0, dtype=np.float64)
        done += len(group)
        if progress is not None:
            progress(Step(done, len(rows), "running the model over contexts"))
    # in the order of words and contexts, so that sums do not depend on how passages were batched
    for slot, some in enumerate(contexts):
        for place in range(len(some)):
            yield slot, place, ready[slot, place]


class _Ready:
    """A tokenised passage, and the tokens of each word in it; sorts by length."""

    def __init__(self, row: Row, tokens: list[np.ndarray]) -> None:
        self.row, self.tokens = row, tokens

    def __lt__(self, other: _Ready) -> bool:
        return (len(self.row.source), self.row.source.ids) < (len(other.row.source), other.row.source.ids)


def _rows(
    model: Model, contexts: Sequence[Sequence[Context]], mine: list[tuple[int, int]]
) -> Iterator[tuple[_Ready, list[tuple[int, int]]]]:
    """A passage as the model reads it, with the words in it; of one that is too long, window by window."""
    left = mine
    for tokens in split(model, contexts[mine[0][0]][mine[0][1]].text, "window"):
        found = {(slot, place): _tokens_of(tokens, contexts[slot][place]) for slot, place in left}
        here = [at for at in left if len(found[at])]
        if here:
            yield _Ready(Row(tokens), [found[at] for at in here]), here
        left = [at for at in left if not len(found[at])]
        if not left:
            return
    one = contexts[left[0][0]][left[0][1]]
    word = one.text[one.start : one.end]
    raise DataError(
        f"the tokenizer of {model.name} leaves no token for {word!r} in {one.text[:60]!r}; leave the word out"
    )


def _tokens_of(tokens: TokenizedText, span: Context) -> np.ndarray:
    """The tokens that overlap the word's characters."""
    return np.array(
        [
            i
            for i, ((start, end), special) in enumerate(zip(tokens.offsets, tokens.special, strict=True))
            if not special and start < span.end and end > span.start and end > start
        ],
        np.intp,
    )


def _batches(rows: list[Any]) -> Iterator[list[Any]]:
    group: list[Any] = []
    for row in rows:
        if group and (len(group) + 1) * len(row[0].row.source) > _TOKENS_AT_ONCE:
            yield group
            group = []
        group.append(row)
    if group:
        yield group
