"""Small good files of every format that langscape reads, the same on every run."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from langscape.data import Context, Gaussians, Items, Map
from langscape.sources import Vectors, write_vectors

WORDS = ("tea", "öl", "oslo", "hen", "at home", "ß", "東京", "x1")
Files = dict[str, bytes]
Given = Mapping[str, bytes | Callable[[Path], object]]
"""Files by name; one that is no ordinary file is made by a function."""


def numbers(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Ordinary numbers."""
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


@cache
def vectors(suffix: str) -> bytes:
    """Eight words with vectors of three numbers, written by langscape."""
    words = [word.replace(" ", "_") for word in WORDS] if suffix == ".bin" else WORDS
    return _written(lambda path: write_vectors(path, Vectors(words, numbers(8, 3))), f"v{suffix}")


@cache
def glove() -> bytes:
    """Vectors as text without a header."""
    return vectors(".txt").split(b"\n", 1)[1]


def comma_separated() -> bytes:
    """Vectors as a CSV table with a header."""
    rows = [line.replace(b" ", b",") for line in vectors(".txt").split(b"\n")[1:4]]
    return b"\n".join([b"word,x,y,z", *rows, b""])


@cache
def gzipped() -> bytes:
    """Vectors as packed text."""
    return gzip.compress(vectors(".txt"), mtime=0)


@cache
def npz(compressed: bool) -> bytes:
    """Words and vectors in an archive of NumPy."""
    out = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(out, words=np.array(WORDS), vectors=numbers(8, 3))
    return out.getvalue()


@cache
def word_list(suffix: str) -> bytes:
    """Words with groups."""
    between = {".csv": ",", ".tsv": "\t", ".txt": None}[suffix]
    if between is None:
        return "\n".join(WORDS).encode() + b"\n"
    rows = [f"{word}{between}{['a', 'b'][at % 2]}" for at, word in enumerate(WORDS)]
    return "\n".join([f"word{between}group", *rows]).encode() + b"\n"


@cache
def table() -> bytes:
    """A table with several rows per individual."""
    rows = [f"{'abc'[i % 3]},{i / 7:.3f},{i * i},note {i}" for i in range(12)]
    return "\n".join(["who,height,weight,said", *rows]).encode() + b"\n"


TABLE = {"who": "chr(97 + (i % 3)::int)", "height": "i / 7", "weight": "(i * i)::int", "said": "'note ' || i"}
"""The same as expressions for `containers.parquet`."""


@cache
def a_map() -> Map:
    """A map with everything a map can have."""
    items = Items(WORDS, {"group": list("aabbccdd"), "count": np.arange(8.0)})
    return Map(
        numbers(8, 2), items, kl=0.5, kls=np.array([0.5, 0.6]), history=np.array([[0, 1.0], [50, 0.5]]),
        settings={"perplexity": 3.0, "seed": 0, "learning": "auto"}, quality={"local": 0.5, "global": 0.4},
        per_point={"local": np.linspace(0, 1, 8).astype(np.float32)},
        shapes=np.tile(np.eye(2, dtype=np.float32), (8, 1, 1)), vectors=numbers(8, 3), notes=("one note",),
    )  # fmt: skip


@cache
def map_file() -> bytes:
    """That map as a file."""
    return _written(a_map().save, "map.parquet")


@cache
def map_told() -> bytes:
    """The JSON that a map's file carries."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as db:
        path = Path(folder) / "map.parquet"
        path.write_bytes(map_file())
        asked = "SELECT value FROM parquet_kv_metadata(?) WHERE key = 'langscape'"
        found = db.execute(asked, [str(path)]).fetchone()
    assert found is not None
    return found[0]


MAP_COLUMNS = {
    "label": "'word ' || i", "x": "(i / 7)::float", "y": "(i * i / 9)::float", "shape_xx": "1::float",
    "shape_xy": "0::float", "shape_yy": "1::float", "group": "'g' || (i % 2)", "count": "i::double",
    "local": "0.5::float", "vector": "[i::float, 1::float, 2::float]",
}  # fmt: skip
"""The columns of that map as expressions for `containers.parquet`."""


@cache
def gaussian_file() -> bytes:
    """Gaussians with factors, samples and contexts."""
    contexts = [[Context(f"a cup of {word}", 9, 9 + len(word))] * 2 for word in WORDS]
    made = Gaussians(
        numbers(8, 3), np.abs(numbers(8, 3, 1)), Items(WORDS, {"group": list("aabbccdd"), "n": np.arange(8)}),
        [2] * 8, factors=numbers(24, 2).reshape(8, 3, 2), samples=numbers(16, 3), contexts=contexts,
        metadata={"model": "default", "layer": 3}, notes=("one note",),
    )  # fmt: skip
    return _written(made.save, "g.safetensors")


@cache
def arrays_file() -> bytes:
    """A noun of the store: a capture, as the codec writes it."""

    from langscape.data import Capture
    from langscape.store import results

    arrays = {"attention": np.full((2, 2, 4, 4), 0.25, np.float32), "hidden": numbers(12, 3).reshape(3, 4, 3)}
    axes = {"attention": ("layer", "head", "query", "key"), "hidden": ("layer", "token", "dim")}
    capture = Capture(["a", "b", "c", "d"], arrays, axes, {"model": "default"}, ("one note",))
    return _written(lambda path: results.write(capture, path), "c.safetensors")


@cache
def table_file() -> bytes:
    """A table of the store."""
    from langscape.store import results

    made = results.Table(
        {"row": np.arange(5), "word": list("abcde"), "x": np.arange(5) / 7}, {"made": "here"}
    )
    return _written(lambda path: results.write(made, path), "t.parquet")


@cache
def packed() -> bytes:
    """Vectors as the store packs them."""
    from langscape.analyses._packed_vectors import pack

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "v.txt", Path(folder) / "p.safetensors"
        source.write_bytes(vectors(".txt"))
        pack(source, target)
        return target.read_bytes()


@cache
def lstm_folder() -> tuple[tuple[str, bytes], ...]:
    """The smallest network that comes with langscape."""
    from langscape.models.packaged import model_path

    return _folder(model_path("lstm-tiny"))


@cache
def bert_folder(sharded: bool) -> tuple[tuple[str, bytes], ...]:
    """A tiny BERT with its tokenizer, whole or in shards with an index."""
    import torch
    from safetensors.torch import load_file, save_file
    from tests.models.folders import bert_folder as build

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = build(Path(place))
        if sharded:
            tensors = load_file(folder / "model.safetensors")
            (folder / "model.safetensors").unlink()
            where = {}
            for part, chosen in enumerate((sorted(tensors)[::2], sorted(tensors)[1::2]), 1):
                shard = f"model-0000{part}-of-00002.safetensors"
                save_file({key: tensors[key] for key in chosen}, folder / shard, {"format": "pt"})
                where |= dict.fromkeys(chosen, shard)
            index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": where}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        return _folder(folder)


@cache
def text() -> bytes:
    """A text of some sentences and paragraphs."""
    said = "Mr. Rigg made tea at home. It was hot! Was it?\nThe hen (in Oslo) said: “no tea.” It left…\n\n"
    return (said * 4).encode()


@cache
def store_folder() -> tuple[tuple[str, bytes], ...]:
    """A store with a result of every kind, an index with a sweep and an input."""
    import chores  # noqa: F401

    from langscape.execution.sweep import Sweep
    from langscape.store.recipe import Recipe
    from langscape.store.store import Store

    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place) / "store")
        for step in ("chores.square", "chores.noise", "chores.table", "chores.map"):
            store.run(Recipe(step))
        Sweep({"a": Recipe("chores.square", {"n": 3}), "b": Recipe("chores.noise")}, store=store).run(
            workers=0
        )
        store.index.add_input("in-1", json.dumps({"id": "in-1", "kind": "text", "name": "a"}))
        store.index.close()
        return _folder(store.root)


@cache
def recipe() -> bytes:
    """A recipe within a recipe, as JSON."""
    inner = {"step": "chores.noise", "settings": {"seed": 3, "rows": 5}, "inputs": {}}
    return json.dumps(
        {"step": "chores.total", "settings": {"column": 1}, "inputs": {"noise": inner}}, indent=1
    ).encode()


def _written(write: Callable[[Path], object], called: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / called
        write(path)
        return path.read_bytes()


def _folder(folder: Path) -> tuple[tuple[str, bytes], ...]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return tuple((path.relative_to(folder).as_posix(), path.read_bytes()) for path in files)
