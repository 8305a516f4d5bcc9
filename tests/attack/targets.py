"""Every reader: the files it is given, how they are damaged, and what must hold of what it gives back.

A reader may raise a LangscapeError, or give something that is right in itself. Anything else is a finding.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack import containers, specimens
from tests.attack.containers import in_gzip, in_parquet_foot, in_safetensors, in_zip
from tests.attack.mutations import BYTES, TEXT, Mutation, in_json, mutate_json, name, one_of
from tests.attack.specimens import Files, Given

Damage = Callable[[random.Random, Files], Files]


@dataclass(frozen=True)
class Target:
    """One reader and one format.

    files    the good files, by their names below a folder
    damage   ways to damage them, each as likely as the others
    read     reads the first file; its own choices (all words, some, the first) are drawn from the generator
    check    raises AssertionError if what was read is wrong in itself
    folder   it reads the folder of all the files instead
    heavy    it needs torch, which takes seconds to load
    writes   it may change files beside those it reads, as a store does
    heals    it may not even refuse: what is damaged is made anew
    """

    name: str
    files: Callable[[], Files]
    damage: tuple[Damage, ...]
    read: Callable[[Path, random.Random], Any]
    check: Callable[[Any], None]
    folder: bool = False
    heavy: bool = False
    writes: bool = False
    heals: bool = False

    def place(self, folder: Path, files: Given) -> Path:
        """What is read, once the files lie below the folder."""
        return folder if self.folder else folder / next(iter(files))

    def mutant(self, seed: int) -> tuple[Given, random.Random]:
        """The files of one mutant, and the generator as it stands then, for the reader's choices."""
        rng = random.Random(f"{self.name} {seed}")
        return rng.choice(self.damage)(rng, self.files()), rng


class Wrong(AssertionError):
    """A reader gave something that cannot be right."""


def holds(true: object, said: str) -> None:
    """Raise unless it is so."""
    if not true:
        raise Wrong(said)


def on(*mutations: Mutation, only: Iterable[str] = (), but: Iterable[str] = ()) -> tuple[Damage, ...]:
    """Damage of one file, chosen among all, those named, or all but those named (by how a name ends)."""
    wanted, unwanted = tuple(only), tuple(but)

    def damage_by(mutation: Mutation) -> Damage:
        def damage(rng: random.Random, files: Files) -> Files:
            names = [
                n for n in files if (not wanted or n.endswith(wanted)) and not n.endswith(unwanted or ("\0",))
            ]
            chosen = rng.choice(names)
            return {**files, chosen: mutation(rng, files[chosen])}

        return damage

    return tuple(damage_by(one) for one in mutations)


def _bytes(rng: random.Random, data: bytes) -> bytes:
    return one_of(rng, BYTES, data)


def _text(rng: random.Random, data: bytes) -> bytes:
    return one_of(rng, TEXT, data)


def _zeroed_page(rng: random.Random, data: bytes) -> bytes:
    """One page of SQLite's, or some after it, emptied or full of noise."""
    at = 4096 * rng.randrange(max(len(data) // 4096, 1))
    size = 4096 * rng.choice((1, 1, 2, 4))
    return data[:at] + rng.choice((bytes(size), rng.randbytes(size))) + data[at + size :]


def _vectors(path: Path, rng: random.Random) -> Any:
    from langscape.sources import read_vectors

    chosen = rng.choice((None, None, ["tea", "oslo", "nowhere"]))
    return read_vectors(path, chosen, rng.choice((None, None, 3)))


def _good_vectors(found: Any) -> None:
    holds(found.matrix.ndim == 2 and len(found.matrix) == len(found.words), "as many words as rows")
    holds(len(found.words), "some words")
    holds(np.isfinite(found.matrix).all(), "finite numbers")
    holds(all(isinstance(word, str) for word in found.words), "words of text")


def _vector_target(called: str, file: str, data: Callable[[], bytes], *damage: Mutation) -> Target:
    return Target(called, lambda: {file: data()}, on(*damage), _vectors, _good_vectors)


def _vector_table(rng: random.Random, files: Files) -> Files:
    """A Parquet table of vectors with odd columns and names."""
    columns = {"word": "'w' || i", "vector": "[i::float, 1::float]"}
    if rng.random() < 0.3:
        columns = {"word": "'w' || i", "a": "i::float", "b": "1::float"}
    return {next(iter(files)): _odd_table(rng, columns, 5)}


def _odd_table(rng: random.Random, columns: dict[str, str], rows: int, told: bytes | None = None) -> bytes:
    columns = dict(columns)
    for _ in range(rng.choice((1, 1, 2))):
        what, chosen = rng.random(), rng.choice(list(columns))
        if what < 0.45:
            columns[chosen] = rng.choice(containers.ODD_COLUMNS)
        elif what < 0.85:
            new = {name(rng): columns.pop(chosen) if what < 0.65 else rng.choice(containers.ODD_COLUMNS)}
            columns = {**new, **columns} if rng.random() < 0.5 else {**columns, **new}
        elif len(columns) > 1:
            del columns[chosen]
    listed = list(columns.items())
    if rng.random() < 0.05:
        listed.append(rng.choice(listed))  # two columns of one name
    return containers.parquet(listed, rng.choice((rows, rows, rows, 1, 0)), told)


def _words(path: Path, rng: random.Random) -> Any:
    from langscape.sources import read_word_list

    return read_word_list(path)


def _good_words(found: Any) -> None:
    holds(len(found.words) and all(word.strip() for word in found.words), "some words, none of them blank")
    holds(found.groups is None or len(found.groups) == len(found.words), "a group for each")


def _table(path: Path, rng: random.Random) -> Any:
    from langscape.sources import tables

    held = tables.columns_of(path)
    by = "who" if "who" in held or not held else rng.choice(list(held))
    return tables.gaussians(path, by, None if rng.random() < 0.7 else list(held)[1:3])


def _good_gaussians(found: Any) -> None:
    holds(
        found.means.shape == found.variances.shape and len(found.means) == len(found.labels), "shapes agree"
    )
    holds(np.isfinite(found.means).all() and np.isfinite(found.variances).all(), "finite numbers")
    holds((found.variances >= 0).all() and (found.counts >= 0).all(), "no negative variance or count")
    for some in found.contexts:
        for one in some:
            holds(0 <= one.start <= one.end <= len(one.text), "a context's word lies within its text")
    json.dumps(dict(found.metadata), default=str)


def _damaged_table(rng: random.Random, files: Files) -> Files:
    return {next(iter(files)): _odd_table(rng, specimens.TABLE, 12)}


def _map(path: Path, rng: random.Random) -> Any:
    from langscape.io.map_file import read_map

    return read_map(path)


def _good_map(found: Any) -> None:
    from langscape.views import scatter
    from langscape.views.table import table

    n = len(found.labels)
    holds(
        found.xy.ndim == 2 and len(found.xy) == n and 2 <= found.xy.shape[1] <= 4,
        "two to four coordinates each",
    )
    holds(found.xy.dtype.kind == "f" and np.isfinite(found.xy).all(), "finite coordinates")
    for column in (*found.items.columns.values(), *found.per_point.values()):
        holds(column.shape == (n,), "one value per item in every column")
    holds(found.vectors is None or (found.vectors.ndim == 2 and len(found.vectors) == n), "a vector each")
    holds(found.vectors is None or found.vectors.dtype.kind == "f", "vectors of numbers")
    holds(isinstance(found.kl, float) and found.history.ndim == 2, "figures of numbers")
    holds(all(isinstance(note, str) for note in found.notes), "notes of text")
    holds(all(isinstance(one, int | float) for one in found.quality.values()), "quality in numbers")
    if found.xy.shape[1] == 2 and n > 1:
        table(scatter(found))  # what was taken as a map must be drawn as one


def _map_told(rng: random.Random, files: Files) -> Files:
    told = in_json(rng, specimens.map_told()) if rng.random() < 0.85 else None
    return {next(iter(files)): containers.parquet(list(specimens.MAP_COLUMNS.items()), 8, told)}


def _map_columns(rng: random.Random, files: Files) -> Files:
    told = specimens.map_told() if rng.random() < 0.5 else None
    return {next(iter(files)): _odd_table(rng, specimens.MAP_COLUMNS, 8, told)}


def _gaussians(path: Path, rng: random.Random) -> Any:
    from langscape.io.gaussian_file import read_gaussians

    return read_gaussians(path)


def _model(folder: Path, rng: random.Random) -> Any:
    from langscape.models import open_model

    opened = open_model(folder, device="cpu")
    if opened.tokenizer is not None and rng.random() < 0.5:
        from langscape.models import capture

        return opened, capture(opened, "the cat sat", want=("hidden",))
    return opened, None


def _good_model(found: Any) -> None:
    import torch

    opened, captured = found
    holds(opened.layers >= 1, "some layers")
    net = getattr(opened, "net", None)
    for weights in [] if net is None else net.parameters():
        holds(torch.isfinite(weights).all(), "finite weights")
    if captured is not None:
        finite = np.isfinite(captured["hidden"]).all()
        holds(finite or any("not finite" in note for note in captured.notes), "finite states, or said")


def _size(folder: Path, rng: random.Random) -> Any:
    from langscape.models import model_revision, model_size

    return model_revision(folder), model_size(str(folder))


def _capture(path: Path, rng: random.Random) -> Any:
    from langscape.store import results

    return results.read("noun", path)


def _good_capture(found: Any) -> None:
    holds(all(isinstance(token, str) for token in found.tokens), "tokens of text")
    for called, array in found.arrays.items():
        holds(len(found.axes[called]) == array.ndim, "a name for each axis")


def _store_table(path: Path, rng: random.Random) -> Any:
    from langscape.store import results

    return results.read("table", path)


def _good_table(found: Any) -> None:
    holds(len({len(values) for values in found.columns.values()}) == 1, "columns of one length")


def _packed(path: Path, rng: random.Random) -> Any:
    from langscape.analyses import _packed_vectors as packing

    rows = packing.packed_rows(path)
    first = rng.randrange(3)
    return rows, packing.read_packed(path, first, 3), packing.read_words(path), packing.packed_notes(path)


def _good_packed(found: Any) -> None:
    _, (words, matrix), every, notes = found
    holds(len(words) == len(matrix), "as many words as rows")
    holds(all(isinstance(note, str) for note in notes), "notes of text")
    holds(isinstance(every, list), "a list of words")


def _corpus(path: Path, rng: random.Random) -> Any:
    from langscape.sources import corpus, sentences
    from langscape.sources.textfile import read_text

    unit = rng.choice(("sentence", "paragraph"))
    return corpus(path).find(["tea", "at home", "öl"], contexts=5, unit=unit), sentences(read_text(path))


def _good_corpus(found: Any) -> None:
    for some in found[0].contexts:
        for one in some:
            holds(0 <= one.start < one.end <= len(one.text), "a context's word lies within its text")
    holds(all(one.strip() for one in found[1]), "no blank sentence")


def _store(folder: Path, rng: random.Random) -> Any:
    """A damaged store: it is opened, asked, swept again, and then whole."""
    import chores  # noqa: F401

    from langscape.execution.sweep import Sweep, statuses
    from langscape.store.recipe import Recipe
    from langscape.store.store import Store

    store = Store(folder)
    try:
        sweep = Sweep({"a": Recipe("chores.square", {"n": 3}), "b": Recipe("chores.noise")}, store=store)
        said = sweep.run(workers=0)
        values = [store.run(Recipe(step)) for step in ("chores.square", "chores.noise", "chores.table")]
        listed, inputs = statuses(store), store.index.inputs()
        checked = store.check()
        return said, values, store.run(Recipe("chores.map")), listed, inputs, checked
    finally:
        store.index.close()


def _good_store(found: Any) -> None:
    said, (square, noise, table), drawn, *_ = found
    holds(said.done == 2 and not said.failed, "the sweep is done")
    holds(dict(square) == {"n": 0, "square": 0, "root": 0.0}, "the right figures")
    rng = np.random.default_rng(0)
    holds((noise["x"] == rng.normal(size=(10, 8)).astype(np.float32)).all(), "the right arrays")
    holds(table["row"].tolist() == [0, 1, 2] and len(drawn) == 5, "the right table and map")


def _recipe(path: Path, rng: random.Random) -> Any:
    """As the command line takes it: a file of JSON, or of JSON lines."""
    import chores  # noqa: F401

    from langscape.store.recipe import Recipe, digest

    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None  # no JSON: that is the caller's to say
    made = Recipe.from_json(value)
    return made, digest(made)


def _good_recipe(found: Any) -> None:
    from langscape.store.recipe import Recipe

    if found is not None:
        made, named = found
        holds(len(named) == 64, "a digest")
        holds(Recipe.from_json(made.to_json()) == made, "the same recipe again")


def _ask(path: Path, rng: random.Random) -> Any:
    """As the studio takes it: settings of an analysis."""
    from langscape.declarations.validation import check_settings
    from langscape.studio.forms import offered

    try:
        value = json.loads(path.read_bytes())
        name, settings = value["analysis"], value["settings"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    found = offered(name)
    return check_settings(found.signature.settings, settings, found.name)


_ASKED = json.dumps({"analysis": "words", "settings": {"perplexity": 30.0, "steps": 100, "seed": 1}}).encode()

TARGETS: tuple[Target, ...] = (
    _vector_target("vectors: word2vec text", "v.txt", lambda: specimens.vectors(".txt"), _text),
    _vector_target("vectors: GloVe text", "g.txt", specimens.glove, _text),
    _vector_target("vectors: CSV", "v.csv", specimens.comma_separated, _text),
    _vector_target("vectors: gzipped text", "v.txt.gz", specimens.gzipped, in_gzip, in_gzip, _bytes),
    _vector_target("vectors: word2vec binary", "v.bin", lambda: specimens.vectors(".bin"), _bytes, _text),
    _vector_target("vectors: npz", "v.npz", lambda: specimens.npz(False), in_zip, in_zip, _bytes),
    _vector_target("vectors: npz, packed", "v.npz", lambda: specimens.npz(True), in_zip, in_zip, _bytes),
    _vector_target(
        "vectors: safetensors",
        "v.safetensors",
        lambda: specimens.vectors(".safetensors"),
        in_safetensors,
        _bytes,
    ),
    Target(
        "vectors: Parquet",
        lambda: {"v.parquet": specimens.vectors(".parquet")},
        (_vector_table, *on(in_parquet_foot, _bytes)),
        _vectors,
        _good_vectors,
    ),
    Target("word list: text", lambda: {"w.txt": specimens.word_list(".txt")}, on(_text), _words, _good_words),
    Target("word list: CSV", lambda: {"w.csv": specimens.word_list(".csv")}, on(_text), _words, _good_words),
    Target("word list: TSV", lambda: {"w.tsv": specimens.word_list(".tsv")}, on(_text), _words, _good_words),
    Target("table: CSV", lambda: {"t.csv": specimens.table()}, on(_text), _table, _good_gaussians),
    Target(
        "table: Parquet",
        lambda: {"t.parquet": containers.parquet(list(specimens.TABLE.items()), 12)},
        (_damaged_table, *on(in_parquet_foot, _bytes)),
        _table,
        _good_gaussians,
    ),
    Target(
        "map",
        lambda: {"m.parquet": specimens.map_file()},
        (_map_told, _map_told, _map_columns, _map_columns, *on(in_parquet_foot, _bytes)),
        _map,
        _good_map,
    ),
    Target(
        "Gaussians",
        lambda: {"g.safetensors": specimens.gaussian_file()},
        on(in_safetensors, in_safetensors, _bytes),
        _gaussians,
        _good_gaussians,
    ),
    Target("corpus", lambda: {"c.txt": specimens.text()}, on(_text), _corpus, _good_corpus),
    Target("recipe", lambda: {"r.json": specimens.recipe()}, on(in_json), _recipe, _good_recipe),
    Target("ask", lambda: {"a.json": _ASKED}, on(mutate_json), _ask, lambda found: None),
    Target(
        "store: capture",
        lambda: {"c.safetensors": specimens.arrays_file()},
        on(in_safetensors, in_safetensors, _bytes),
        _capture,
        _good_capture,
    ),
    Target(
        "store: table",
        lambda: {"t.parquet": specimens.table_file()},
        on(in_parquet_foot, _bytes),
        _store_table,
        _good_table,
    ),
    Target(
        "store: packed vectors",
        lambda: {"p.safetensors": specimens.packed()},
        on(in_safetensors, _bytes),
        _packed,
        _good_packed,
    ),
    Target(
        "store: identity",
        lambda: dict(specimens.store_folder()),
        on(in_json, only=("store.json",)),
        _store,
        _good_store,
        folder=True,
        writes=True,
    ),
    Target(
        "store: labels and results",
        lambda: dict(specimens.store_folder()),
        on(in_json, in_json, only=(".json",), but=("store.json",))
        + on(_bytes, but=(".sqlite", "store.json")),
        _store,
        _good_store,
        folder=True,
        writes=True,
        heals=True,
    ),
    Target(
        "store: index",
        lambda: dict(specimens.store_folder()),
        on(_bytes, _zeroed_page, only=("index.sqlite",)),
        _store,
        _good_store,
        folder=True,
        writes=True,
        heals=True,
    ),
    Target(
        "model: LSTM folder",
        lambda: dict(specimens.lstm_folder()),
        on(in_json, in_json, only=(".json",)) + on(in_safetensors, _bytes, only=(".safetensors",)),
        _model,
        _good_model,
        folder=True,
        heavy=True,
    ),
    Target(
        "model: config.json",
        lambda: dict(specimens.bert_folder(False)),
        on(
            mutate_json,
            mutate_json,
            in_json,
            only=("/config.json", "config.json"),
            but=("tokenizer_config.json",),
        ),
        _model,
        _good_model,
        folder=True,
        heavy=True,
    ),
    Target(
        "model: tokenizer",
        lambda: dict(specimens.bert_folder(False)),
        on(in_json, only=("tokenizer.json", "tokenizer_config.json")),
        _model,
        _good_model,
        folder=True,
        heavy=True,
    ),
    Target(
        "model: weights",
        lambda: dict(specimens.bert_folder(False)),
        on(in_safetensors, _bytes, only=(".safetensors",)),
        _model,
        _good_model,
        folder=True,
        heavy=True,
    ),
    Target(
        "model: shard index",
        lambda: dict(specimens.bert_folder(True)),
        on(mutate_json, mutate_json, in_json, only=("index.json",)),
        _model,
        _good_model,
        folder=True,
        heavy=True,
    ),
    Target(
        "model: size and revision",
        lambda: dict(specimens.bert_folder(True)),
        on(in_json, only=("config.json", "index.json"), but=("tokenizer_config.json",)),
        _size,
        lambda found: None,
        folder=True,
        heavy=True,
    ),
)
"""Every reader and format, one line of the table each."""


def find_target(called: str) -> Target:
    """The target of that name."""
    if called == "planted":
        from tests.attack.planted import PLANTED_TARGET

        return PLANTED_TARGET
    if called.startswith("bomb:"):
        from tests.attack.bombs import exploding

        return next(one for one in exploding() if one.name == called)
    from tests.attack.paths import NAMED

    return next(one for one in (*TARGETS, *NAMED) if one.name == called)
