"""The steps of words: maps, insertion, and bulk insertion part by part, against the plain calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from langscape import affinity, metrics
from langscape.analyses import _large_quality as large_quality
from langscape.analyses._map_memory import check_map_memory, map_memory, saying
from langscape.analyses._packed_vectors import pack, packed_rows, read_packed
from langscape.analyses.insert import insertion
from langscape.data import Items, Map, Step
from langscape.engine import Schedule, embed, insert
from langscape.errors import DataError, FileError, SettingsError, TooLargeError
from langscape.sources import Vectors, read_vectors, samples, write_vectors
from langscape.store.recipe import Recipe
from langscape.store.registry import step
from langscape.store.store import Store

QUICK = Schedule(steps=300)
"""What 300 steps of `words` are."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@step("figures.seven", version=1, defaults={})
def seven(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Any) -> dict[str, int]:
    return {"seven": 7}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vectors(tmp_path_factory.mktemp("vectors") / "words.bin", samples.words().rows(range(1500)))


@pytest.fixture
def base(vectors: Path) -> Recipe:
    return Recipe("words", {"limit": 400, "perplexity": 20, "steps": 300}, {"vectors": vectors})


@pytest.mark.parametrize("way", ["perplexity", "ranks", "reciprocal", "local"])
def test_a_map_by_recipe_is_the_map_by_call(store: Store, vectors: Path, way: str) -> None:
    settings = {
        "limit": 200,
        "perplexity": 15.0,
        "neighbours": way,
        "metric": "cosine",
        "steps": 300,
        "seed": 3,
    }
    made = store.run(Recipe("words", settings, {"vectors": vectors}))
    read = read_vectors(vectors, limit=200)
    ways = {
        "perplexity": affinity.points,
        "ranks": affinity.ranks,
        "reciprocal": affinity.reciprocal,
        "local": affinity.local,
    }
    P = ways[way](read.matrix, 15.0, metric="cosine", items=read.items(), seed=3)
    expected = embed(P, schedule=QUICK, seed=3)
    np.testing.assert_array_equal(made.xy, expected.xy)
    assert made.labels == read.words
    assert made.kl == expected.kl
    np.testing.assert_array_equal(made.vectors, read.matrix)


def test_a_list_with_groups_chooses_and_colours_the_words(
    store: Store, vectors: Path, tmp_path: Path
) -> None:
    chosen = [word for word in read_vectors(vectors).words[100:160] if word.isalpha()]
    listed = tmp_path / "list.csv"
    listed.write_text("word,group\n" + "".join(f"{word},{i % 3}\n" for i, word in enumerate(chosen)))
    recipe = Recipe("words", {"perplexity": 5, "steps": 300}, {"vectors": vectors, "words": listed})
    made = store.run(recipe)
    assert list(made.labels) == chosen
    assert set(made.items.columns["group"]) == {"0", "1", "2"}


def test_inserted_words_by_recipe_are_those_by_call(store: Store, vectors: Path, base: Recipe) -> None:
    words = list(read_vectors(vectors).words[1000:1010])
    listed = store.keep("\n".join(words).encode())
    grown = store.run(Recipe("insert", {}, {"map": base, "vectors": vectors, "words": listed}))
    expected = insert(store.run(base), read_vectors(vectors, words).matrix, words)
    np.testing.assert_array_equal(grown.xy, expected.xy)
    with pytest.raises(DataError, match="no words are named for insertion"):
        store.run(Recipe("insert", {}, {"map": base, "vectors": vectors}))


@pytest.mark.parametrize("ending", [".bin", ".txt", ".npz", ".safetensors", ".parquet"])
def test_packed_vectors_are_the_rows_that_read_vectors_gives(tmp_path: Path, ending: str) -> None:
    source, target = tmp_path / f"v{ending}", tmp_path / "packed.safetensors"
    words = [f"wörd{i}" for i in range(500)]
    matrix = np.random.default_rng(0).normal(size=(500, 7)).astype(np.float32)
    matrix[33, 2] = np.nan  # left out, and counted by read_vectors
    write_vectors(source, Vectors(words, matrix))
    pack(source, target)
    expected = read_vectors(source)
    assert packed_rows(target) == len(expected) == 499
    for first, count in ((0, 499), (0, 1), (10, 30), (490, 100), (498, 1)):
        got, rows = read_packed(target, first, count)
        assert got == list(expected.words[first : first + count])
        np.testing.assert_array_equal(rows, expected.matrix[first : first + count])
    again = read_vectors(target)
    assert again.words == expected.words
    np.testing.assert_array_equal(again.matrix, expected.matrix)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, target.name])


def test_packing_a_broken_file_leaves_nothing(store: Store, vectors: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.bin"
    cut.write_bytes(vectors.read_bytes()[:-1000])
    with pytest.raises(FileError, match="cut short"):
        store.run(Recipe("vectors.packed", {}, {"vectors": cut}))
    assert store.size() == (0, 0)
    assert not list((store.root / "aside").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [None, "local"])
def test_bulk_insertion_places_every_word_where_one_call_does(
    store: Store, vectors: Path, base: Recipe, tmp_path: Path, cluster: str | None
) -> None:
    sweep = insertion(base, vectors, store=store, chunk=250, neighbours=8)
    report = sweep.run(workers=2, cluster=cluster)
    assert report.failed == {}
    assert report.done == 7  # the map's own words, and six parts
    folder = sweep.dataset(tmp_path / "placed")
    rows = duckdb.sql(f"select * from '{folder}/*.parquet'").fetchnumpy()
    everything = read_vectors(vectors)
    expected = insert(store.run(base), everything.matrix[400:], everything.words[400:], neighbours=8)
    assert list(rows["label"]) == list(expected.labels)
    np.testing.assert_array_equal(rows["x"], expected.xy[:, 0])
    np.testing.assert_array_equal(rows["y"], expected.xy[:, 1])
    np.testing.assert_array_equal(rows["inserted"], np.arange(1500) >= 400)
    np.testing.assert_array_equal(rows["dissimilar"], expected.items.columns["dissimilar"])
    assert list(rows["nearest"][400:]) == list(expected.items.columns["nearest"][400:])
    np.testing.assert_allclose(
        np.ma.filled(rows["local"][400:], np.nan), expected.per_point["local"][400:], rtol=1e-6
    )
    with pytest.raises(FileError, match="exists already"):
        sweep.dataset(folder)
    assert insertion(base, vectors, store=store, chunk=250, neighbours=8).run(workers=2).computed == 0


def test_only_tables_and_maps_make_a_dataset_and_failure_leaves_no_folder(
    store: Store, tmp_path: Path
) -> None:
    from langscape.execution.sweep import Sweep

    with pytest.raises(DataError, match="gives figures; only maps and tables"):
        Sweep({"a": Recipe("figures.seven")}, store=store).dataset(tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]
    with pytest.raises(SettingsError, match="chunk is 0"):
        insertion(tmp_path / "map.parquet", tmp_path / "v.bin", store=store, chunk=0)


def test_figures_read_part_by_part_are_those_of_the_metrics(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_quality, "_PART", 300)
    monkeypatch.setattr(large_quality, "_ROWS", 10_000)  # more than there are: all
    pack(vectors, tmp_path / "packed")
    read = read_vectors(vectors)
    order = np.random.default_rng(0).permutation(len(read))[:1200]  # a map in another order, of some words
    X = read.matrix[order]
    for metric in ("euclidean", "cosine"):
        made = Map(X[:, :2].copy(), Items([read.words[i] for i in order]), metric=metric)
        found = large_quality.large_quality(made, tmp_path / "packed")
        wanted, _ = metrics.quality(X, made.xy, metric=metric)
        assert found["rows"] == wanted["rows"] == 1200
        for name in ("local", "local_sd", "global", "global_sd"):
            assert found[name] == pytest.approx(wanted[name], abs=2e-4), (metric, name)


def test_rows_that_were_left_out_in_packing_are_named_on_the_map(store: Store, tmp_path: Path) -> None:
    sample = samples.words().rows(range(60))
    lines = [
        f"{word} {' '.join(map(str, row))}" for word, row in zip(sample.words, sample.matrix, strict=True)
    ]
    again = lines[3].replace(lines[3].split()[1], "nan")
    path = tmp_path / "v.txt"
    path.write_text("\n".join([*lines, lines[5], "odd" + again[again.index(" ") :]]))
    settings = {"landmarks": 20, "perplexity": 5, "steps": 300}
    made = store.run(Recipe("words", settings, {"vectors": path}))
    assert [note.split(" (")[0] for note in made.notes[:2]] == [
        "1 repeated words: the first row of each was kept",
        "1 rows with NaN or infinity were left out",
    ]


def test_a_map_saved_without_vectors_takes_them_from_the_file(
    store: Store, vectors: Path, base: Recipe, tmp_path: Path
) -> None:
    made = store.run(base)
    bare = made.save(tmp_path / "bare.parquet", vectors=False)
    words = read_vectors(vectors).words[500:503]
    listed = store.keep("\n".join(words).encode())
    grown = store.run(Recipe("insert", {}, {"map": bare, "vectors": vectors, "words": listed}))
    plainly = insert(made, read_vectors(vectors, words).matrix, words)
    np.testing.assert_array_equal(grown.xy, plainly.xy)
    other = write_vectors(tmp_path / "other.bin", samples.words().rows(range(300, 600)))
    with pytest.raises(DataError, match="300 of its 400 words are not in the file"):
        store.run(Recipe("insert", {}, {"map": bare, "vectors": other, "words": listed}))


def test_a_map_saved_without_vectors_says_what_is_missing(
    store: Store, vectors: Path, base: Recipe, tmp_path: Path
) -> None:
    path = store.run(base).save(tmp_path / "map.parquet", vectors=False)
    with pytest.raises(DataError, match="saved without its vectors"):
        insertion(path, vectors, store=store).run(workers=0)


def test_the_same_words_from_python_command_and_studio_are_one_question(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.commands import at_home_in, run

    import langscape
    from langscape.declarations.inputs import word_list_bytes
    from langscape.sources.wordlist import WordList
    from langscape.studio.forms import OFFERED, GivenInput, recipe_of

    at_home_in(tmp_path, monkeypatch)
    chosen = list(read_vectors(vectors).words[100:140])
    (tmp_path / "list.txt").write_text("\n".join(chosen))
    made = langscape.words(vectors, chosen, perplexity=5, steps=60)
    store = Store()
    count = sum(one.kind != "bytes" for one in store.entries())
    run(
        "words",
        vectors,
        "--words",
        "list.txt",
        "--perplexity",
        "5",
        "--steps",
        "60",
        "--neighbours",
        "perplexity",
    )
    given = {
        "vectors": GivenInput("in-1", "vectors", "words.bin", store.keep(vectors.read_bytes())),
        "words": GivenInput("in-2", "words", "list.txt", store.keep(word_list_bytes(WordList(chosen)))),
    }
    recipe = recipe_of(OFFERED["words"], {"perplexity": 5, "steps": 60}, given, store)
    np.testing.assert_array_equal(store.get(recipe).xy, made.xy)
    assert sum(one.kind != "bytes" for one in store.entries()) == count
    assert langscape.words(read_vectors(vectors), chosen, perplexity=5, steps=60).kl == made.kl


def test_landmarks_are_one_road_whoever_asks_and_however_many_compute(store: Store, vectors: Path) -> None:
    import langscape
    from langscape.declarations.running import using
    from langscape.metrics import neighbours_on

    with using(store):
        made = langscape.words(vectors, landmarks=300, perplexity=10, steps=60, workers=0)
        again = langscape.words(vectors, landmarks=300, perplexity=10, steps=60, workers=2)
        other = langscape.words(vectors, landmarks=300, perplexity=10, steps=60, theta=0.05, workers=0)
    assert len(made) == 1500
    assert made.vectors is None
    np.testing.assert_array_equal(made.xy, again.xy)
    np.testing.assert_array_equal(made.xy[:300], other.xy[:300])
    assert not np.array_equal(made.xy[300:], other.xy[300:])
    # of all words, placed ones too, the true neighbours are among the landmarks and kept as their score says
    assert made.neighbours.shape == (1500, 10)
    assert made.neighbours.max() < 300
    np.testing.assert_allclose(neighbours_on(made).kept / 10, made.per_point["local"], atol=1e-6)
    assert any("and its own local, are among the 300 landmarks" in note for note in made.notes)
    steps = [dict(one.recipe)["step"] for one in store.entries() if one.kind != "bytes"]
    assert sorted(steps) == [
        "vectors.packed", "words", "words", "words.landmarks", "words.placed", "words.placed",
    ]  # fmt: skip
    for wrong in ({"limit": 20}, {"words": ["tea"]}, {"dims": 3}):
        with pytest.raises(SettingsError, match="landmarks"), using(store):
            langscape.words(vectors, landmarks=300, **wrong)


@pytest.mark.parametrize("where", [{"workers": 2}, {"cluster": "local", "workers": 2}])
def test_neighbours_that_are_looked_for_in_shards_make_the_same_map(
    store: Store, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: dict[str, Any]
) -> None:
    import langscape
    from langscape.analyses import _neighbour_shards
    from langscape.declarations.running import using
    from langscape.kernels import neighbours

    if "cluster" in where:
        pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    monkeypatch.setattr(neighbours, "EXACT_BELOW", 500)
    monkeypatch.setitem(metrics.true_neighbours.__globals__, "_EXACT", 500)
    monkeypatch.setitem(affinity.points.__globals__, "EXACT_UP_TO", 500)
    monkeypatch.setattr(neighbours, "PART", 512)
    monkeypatch.setattr(_neighbour_shards, "SHARD", 512)
    with using(store):
        here = langscape.words(vectors, perplexity=10, steps=20, workers=0)
    with using(Store(tmp_path / "other")):
        there = langscape.words(vectors, perplexity=10, steps=20, **where)
    np.testing.assert_array_equal(there.xy, here.xy)
    np.testing.assert_array_equal(there.neighbours, here.neighbours)
    np.testing.assert_array_equal(there.distances, here.distances)
    assert there.settings["recall"] == here.settings["recall"] < 1
    steps = [dict(one.recipe)["step"] for one in Store(tmp_path / "other").entries() if one.kind != "bytes"]
    assert sorted(steps) == ["words", *["words.neighbours"] * 6]  # three shards of each of two searches


def test_arrays_are_inserted_without_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import langscape

    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path / "home"))
    X = np.random.default_rng(0).normal(size=(40, 6))
    base = embed(affinity.points(X[:30], 5), schedule=QUICK)
    for neighbours, engine in ((8, 8), ("score", "score"), ("none", None)):
        grown = langscape.insert(base, X[30:], [f"w{i}" for i in range(10)], neighbours=neighbours)
        np.testing.assert_array_equal(grown.xy, insert(base, X[30:], neighbours=engine).xy)
    assert grown.labels[-1] == "w9"
    assert not (tmp_path / "home").exists()
    with pytest.raises(SettingsError, match="score, none, or a whole number from 1 to 1000"):
        langscape.insert(base, X[30:], neighbours="some")


def test_a_map_that_does_not_fit_is_refused_with_what_would():
    needed = map_memory(1_000_000, 100)
    check_map_memory(1_000_000, 100, needed, available=int(2 * needed))
    with pytest.raises(
        TooLargeError, match=r"a map of 1,000,000 words × 100 takes about 4\.\d GB"
    ) as refused:
        check_map_memory(1_000_000, 100, needed, available=3_000_000_000)
    first, second = refused.value.ways
    assert (first.setting, second.setting) == ("limit", "landmarks")
    assert map_memory(first.value, 100) <= 0.9 * 3_000_000_000
    assert map_memory(first.value + 2000, 100) > 0.9 * 3_000_000_000
    # the program itself is counted, and by then it runs: a small map is never refused
    check_map_memory(6, 100, map_memory(6, 100), available=200_000_000)


def test_a_large_map_says_beside_its_progress_what_it_takes_and_a_small_one_does_not():
    told: list[Step] = []
    for words in (341_479, 5000):
        tell = saying(map_memory(words, 100), told.append)
        assert tell is not None
        tell(Step(1, 2, "neighbours", {"KL": 1.0}))
    assert [one.doing for one in told] == ["neighbours (about 1.6 GB of memory)", "neighbours"]
    assert told[0].figures == {"KL": 1.0}
