"""Documents on their way to a map: packed once, read by a model part by part, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from langscape.data import Progress
from langscape.declarations import Input, Setting, analysis
from langscape.declarations.running import each, opened, recipe_of
from langscape.declarations.settings import HiddenLayer
from langscape.errors import DataError, SettingsError
from langscape.models.catalog import in_words
from langscape.sources.packed_documents import some_texts
from langscape.sources.wordlist import WordList
from langscape.store import Writes
from langscape.store.recipe import Recipe

PART = 2048
"""Documents that are read and kept together: stopped half-way, reading goes on behind the last whole part."""

DocumentSource = Annotated[
    list[str] | WordList | Path,
    Input(
        "documents",
        "Texts",
        "A table of texts (.csv, .parquet, .jsonl), a list of them (.txt), or a folder of text files.",
        sample="sample-groups",
        argument=True,
    ),
]
TextModel = Annotated[
    str,
    Setting(
        "Model",
        f"{in_words('atlas')}, a folder with config.json and model.safetensors, or a Hub id.",
        names="model",
    ),
]
TextColumn = Annotated[
    str | None,
    Setting("Text column", "Of a table, the column with the texts; the likeliest one if left out."),
]
LabelColumn = Annotated[
    str | None,
    Setting("Label column", "Of a table, the column that names each text; a title, or how it begins."),
]
Pool = Annotated[
    Literal["auto", "mean", "first", "max", "last"],
    Setting(
        "State",
        "What stands for a text: auto is what the model itself does, where it says so, else the mean of its "
        "tokens; or the first token ([CLS]), the maximum, the last token.",
        labels={"mean": "mean of tokens", "first": "first token", "max": "maximum", "last": "last token"},
    ),
]
First = Annotated[int, Setting("First", "The first of the texts that are read.", ge=0)]
Count = Annotated[int, Setting("Count", "How many texts are read.", ge=1)]


@analysis(version=1, name="texts.packed", hidden=True)
def packed_documents(
    documents: DocumentSource = None,  # type: ignore[assignment]
    *,
    text: TextColumn = None,
    label: LabelColumn = None,
) -> Path:
    """Documents of any source as one file, of which any part can be read alone; who asks gets its path."""
    from langscape.sources.documents import pack_documents

    return Writes("file", lambda path: pack_documents(documents, path, text, label))  # type: ignore[return-value]


@analysis(version=1, name="texts.part", hidden=True)
def text_part(
    model: TextModel = "default",
    documents: DocumentSource = None,  # type: ignore[assignment]
    *,
    layer: HiddenLayer = None,
    pool: Pool = "auto",
    first: First = 0,
    count: Count = PART,
) -> Path:
    """The vectors of some of the packed documents, and how many windows each was read in; a file's path."""
    assert isinstance(documents, Path)
    vectors, windows = states_of(opened(model), some_texts(documents, first, count), layer, pool)
    return Writes("file", lambda path: _save(path, vectors, windows))  # type: ignore[return-value]


def _save(path: Path, vectors: np.ndarray, windows: np.ndarray) -> None:
    with path.open("wb") as file:
        np.savez(file, vectors=vectors, windows=windows)


def document_vectors(
    model: Any,
    source: PackedSource,
    n: int,
    layer: int | None,
    pool: str,
    progress: Progress | None,
    where: tuple[int | None, str | None] = (0, None),
) -> tuple[np.ndarray, np.ndarray]:
    """(n, dim) vectors of all packed documents and their numbers of windows, read part by part.

    Of a model by name, parts are kept: stopped half-way, reading goes on behind the last whole one.
    """
    if not isinstance(model, str):
        return states_of(model, some_texts(source.path, 0, n), layer, pool)
    calls = [
        {
            "model": model,
            "documents": source.recipe,
            "layer": layer,
            "pool": pool,
            "first": first,
            "count": PART,
        }
        for first in range(0, n, PART)
    ]
    workers, cluster = where
    found = each(text_part, calls, title="reading texts", workers=workers, cluster=cluster, progress=progress)
    parts = [np.load(path) for path in found]
    return np.concatenate([one["vectors"] for one in parts]), np.concatenate(
        [one["windows"] for one in parts]
    )


class PackedSource(NamedTuple):
    """The packed file of documents, and how it is named to whoever reads it."""

    path: Path
    recipe: Recipe


def packed_source(documents: Any, text: str | None, label: str | None) -> PackedSource:
    """Documents of any source, packed."""
    given = {"documents": documents, "text": text, "label": label}
    return PackedSource(packed_documents(**given), recipe_of(packed_documents, **given))


def states_of(model: Any, texts: list[str], layer: int | None, pool: Any) -> tuple[np.ndarray, np.ndarray]:
    """One vector per text, and how many windows each was read in."""
    if model.kind == "vision":
        raise SettingsError(f"{model.name} reads images; texts need a model that reads text")
    if model.kind in ("lstm", "encoder-decoder"):
        return _one_by_one(model, texts, layer, pool)
    from langscape.models.pooling import pooling_of, text_states

    last = model.layout.hidden["self"][0] - 1
    pooling = pooling_of(model, pool, last=layer is None or layer == last)
    vectors, windows = text_states(model, texts, layer, pooling)
    return check_differ(vectors, last if layer is None else layer, pooling.mode), windows


def _one_by_one(model: Any, texts: list[str], layer: int | None, pool: str) -> tuple[np.ndarray, np.ndarray]:
    """The same for models whose states only a capture tells: the mean over tokens, or one of them."""
    from langscape.errors import not_there
    from langscape.models import capture_each

    role = "encoder" if model.kind == "encoder-decoder" else "self"
    last = model.layout.hidden[role][0] - 1
    wanted = last if layer is None else layer
    if not 0 <= wanted <= last:
        raise not_there("hidden layer", wanted, range(last + 1), model.name)
    rows = []
    for seen in capture_each(model, texts, ("hidden",), [wanted]):
        states, plain = seen[seen.name_of("hidden")][0], ~np.asarray(seen.tokens.special)
        plain = plain if plain.any() else ~plain
        if pool in ("first", "last"):
            rows.append(states[0 if pool == "first" else -1])
        else:
            rows.append(states[plain].max(axis=0) if pool == "max" else states[plain].mean(axis=0))
    return check_differ(np.stack(rows), wanted, pool), np.ones(len(rows), int)


def check_differ(vectors: np.ndarray, layer: int, mode: str) -> np.ndarray:
    """Refuse vectors that are all the same: at layer 0 the first token has seen none of its text."""
    if len(vectors) > 1 and mode == "first" and np.ptp(vectors, axis=0).max() == 0:
        raise SettingsError(
            f"at layer {layer} the first token is the same for every text, since it has seen none yet; "
            'choose layer 1 or higher, or pool "mean"'
        )
    if not np.isfinite(vectors).all():
        raise DataError("the model gives numbers that are not finite for some texts; try another precision")
    return vectors
