from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from langscape.data import Capture
from langscape.errors import DataError, SettingsError, StoreError
from langscape.store import locks
from langscape.store.recipe import Recipe, canonical
from langscape.store.results import Arrays, Table
from langscape.store.store import Busy, Store

Log = Callable[[], Counter]
HOUR = 3600


def files(store: Store, folder: str) -> list[Path]:
    return [path for path in (store.root / folder).rglob("*") if path.is_file()]


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_result_is_computed_once_and_read_ever_after(store: Store, log: Log) -> None:
    recipe = Recipe("chores.square", {"n": 12})
    assert store.get(recipe) is None
    first = store.run(recipe)
    assert first == {"n": 12, "square": 144, "root": 12**0.5}
    assert Store(store.root).run(recipe) == first == store.get(recipe)
    assert log() == {"square 12": 1}


def test_arrays_come_back_bit_for_bit_with_their_facts(store: Store) -> None:
    made = store.run(Recipe("chores.noise", {"seed": 5, "rows": 7}))
    assert isinstance(made, Arrays)
    expected = np.random.default_rng(5).normal(size=(7, 8)).astype(np.float32)
    assert made["x"].tobytes() == expected.tobytes()
    assert made.facts == {"seed": 5}
    assert not made["x"].flags.writeable


def test_a_table_comes_back_in_order_with_its_text(store: Store) -> None:
    made = store.run(Recipe("chores.table", {"rows": 4, "start": 10}))
    assert isinstance(made, Table)
    assert list(made["word"]) == ["wörd 10", "wörd 11", "wörd 12", "wörd 13"]
    np.testing.assert_array_equal(made["x"], np.arange(10, 14) / 7)
    assert made.facts == {"made": "here"}


def test_a_recipe_may_take_another_ones_result(store: Store, log: Log) -> None:
    noise = Recipe("chores.noise", {"seed": 3})
    total = store.run(Recipe("chores.total", {"column": 2}, {"noise": noise}))
    assert total["total"] == float(store.run(noise)["x"][:, 2].sum())
    assert log()["noise 3"] == 1


def test_kept_bytes_are_an_input_by_their_hash(store: Store) -> None:
    name = store.keep(b"one\ntwo\n")
    assert store.keep(b"one\ntwo\n") == name
    recipe = Recipe("chores.lines", {}, {"text": name})
    assert store.run(recipe) == {"lines": 2}
    assert store.prune(keep_bytes=0)[0] == 2
    with pytest.raises(StoreError, match="not in the store any more; give it again"):
        store.run(recipe)


@pytest.mark.parametrize("harm", ["cut", "empty", "flip", "gone", "grown"])
@pytest.mark.parametrize(
    ("step", "which"),
    [
        ("chores.square", "label"),  # figures have no file of their own
        ("chores.noise", "label"),
        ("chores.noise", "file"),
        ("chores.table", "label"),
        ("chores.table", "file"),
        ("chores.map", "file"),
    ],
)
def test_a_harmed_result_is_noticed_and_computed_again(
    store: Store, step: str, harm: str, which: str
) -> None:
    recipe = Recipe(step)
    store.run(recipe)
    entry = store.entry(store.name(recipe).digest)
    assert entry is not None
    path = entry.label if which == "label" else entry.path
    assert path is not None
    bytes_ = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(bytes_[: len(bytes_) // 2])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "grown":
        path.write_bytes(bytes_ + b" {}")
    elif harm == "gone":
        path.unlink()
    else:
        place = bytes_.index(b'"seconds": ') + 12 if which == "label" else len(bytes_) // 2
        bytes_[place] ^= 1
        path.write_bytes(bytes_)
    for fresh in (Store(store.root), store):  # with and without the memory of having checked it before
        assert fresh.get(recipe) is None
    again = store.run(recipe)
    assert store.get(recipe) is not None
    if step == "chores.noise":
        expected = np.random.default_rng(0).normal(size=(10, 8)).astype(np.float32)
        assert again["x"].tobytes() == expected.tobytes()
    assert not files(store, "aside")


def test_every_flipped_bit_of_a_label_is_noticed(store: Store) -> None:
    recipe = Recipe("chores.square", {"n": 3})
    value = store.run(recipe)
    label = store.entry(store.name(recipe).digest).label  # type: ignore[union-attr]
    good = label.read_bytes()
    for place in range(0, len(good), 3):
        bad = bytearray(good)
        bad[place] ^= 1 << (place % 7)
        label.write_bytes(bad)
        assert store.get(recipe) in (None, value)  # a flip inside white space may leave the JSON as it was
        if store.get(recipe) == value:
            assert json.loads(bad) == json.loads(good)


def test_losing_or_harming_the_index_costs_no_result_and_hides_no_corruption(store: Store, log: Log) -> None:
    recipes = [Recipe("chores.noise", {"seed": seed}) for seed in range(3)]
    for recipe in recipes:
        store.run(recipe)
    assert store.index.sweeps() == []
    store.index.close()
    harmed = store.entry(store.name(recipes[1]).digest).path  # type: ignore[union-attr]
    assert harmed is not None
    harmed.write_bytes(harmed.read_bytes()[:-1])
    index = store.root / "index.sqlite"
    for damage in (b"not a database at all" * 100, b""):
        index.write_bytes(damage)
        fresh = Store(store.root)
        assert fresh.index.sweeps() == []
        assert [fresh.get(recipe) is None for recipe in recipes] == [False, True, False]
        fresh.index.close()
    assert any("damaged" in path.name for path in store.root.iterdir())
    assert Store(store.root).check().damaged == (store.name(recipes[1]).digest,)
    assert all(log()[f"noise {seed}"] == 1 for seed in range(3))


def test_a_store_of_another_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    root = tmp_path / "store"
    Store(root)
    said = json.loads((root / "store.json").read_text())
    for number, expected in (
        (99, "format 99.*Update langscape"),
        (0, "format 0.*remove the folder, or keep it"),
    ):
        (root / "store.json").write_text(json.dumps({**said, "format": number, "by": "langscape 9.9"}))
        with pytest.raises(StoreError, match=expected):
            Store(root)


@pytest.mark.parametrize("harm", ["gone", "cut", "folder", "list", "nested"])
def test_a_store_whose_own_file_is_harmed_is_the_same_store_again(store: Store, log: Log, harm: str) -> None:
    recipe = Recipe("chores.square", {"n": 2})
    made = store.run(recipe)
    path = store.root / "store.json"
    path.unlink()
    if harm == "folder":
        path.mkdir()
        (path / "mine.txt").write_text("kept")
    elif harm != "gone":
        path.write_text({"cut": "{", "list": "[]", "nested": "[" * 100_000}[harm])
    assert Store(store.root).get(recipe) == made
    assert Store(store.root).id == json.loads(path.read_text())["id"]
    if harm == "folder":
        assert [one.read_text() for one in (store.root / "damaged").glob("*/mine.txt")] == ["kept"]


def test_a_store_without_its_own_file_is_refused_when_its_labels_are_newer(store: Store) -> None:
    store.run(Recipe("chores.square"))
    entry = next(store.entries())
    label = json.loads(entry.label.read_text()) | {"format": 99}
    label.pop("check")
    label["check"] = hashlib.sha256(canonical(label).encode()).hexdigest()
    entry.label.write_text(json.dumps(label))
    (store.root / "store.json").unlink()
    with pytest.raises(StoreError, match="format 99"):
        Store(store.root)


def test_a_folder_named_as_part_of_a_store_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with pytest.raises(StoreError, match="holds 'results' and is no store"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match=r"holds 'thesis\.tex' and is no store"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_place_that_cannot_be_a_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="LANGSCAPE_HOME"):
        Store(tmp_path / "file" / "store")


def test_the_store_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path))
    assert Store().root == tmp_path / "store"


def test_a_map_comes_back_with_its_points_and_labels(store: Store) -> None:
    made = store.run(Recipe("chores.map", {"n": 4}))
    assert made.labels == ("0", "1", "2", "3")
    np.testing.assert_array_equal(made.xy, np.arange(8).reshape(4, 2))
    entry = store.entry(store.name(Recipe("chores.map", {"n": 4})).digest)
    assert entry is not None
    assert entry.path is not None
    assert entry.path.suffix == ".parquet"


def test_strays_older_than_an_hour_go_when_the_store_is_opened(store: Store) -> None:
    old, new = store.root / "aside" / "a.parquet", store.root / "aside" / "b.parquet"
    lock = store.root / "locks" / "abc"
    for path in (old, new, lock):
        path.write_text("x")
    age(old, HOUR + 60)
    age(new, HOUR - 60)
    age(lock, HOUR + 60)
    Store(store.root)
    assert not old.exists()
    assert new.exists()
    assert not lock.exists()


def test_a_lock_held_for_hours_is_not_taken_for_a_stray(store: Store) -> None:
    lock = store.root / "locks" / "abc"
    with locks.held(lock):
        age(lock, 3 * HOUR)
        Store(store.root)
        assert lock.exists()
        assert not locks.is_free(lock)
    assert locks.is_free(lock)
    assert not lock.exists()


def test_a_file_whose_label_never_came_is_removed_by_check_and_prune(store: Store) -> None:
    recipe = Recipe("chores.noise")
    store.run(recipe)
    entry = store.entry(store.name(recipe).digest)
    assert entry is not None
    assert entry.path is not None
    entry.label.unlink()
    assert store.check().strays == 0  # it may be of a process at work
    age(entry.path, HOUR + 60)
    assert store.check().strays == 1
    assert not files(store, "results")


def test_prune_removes_the_old_and_then_the_least_used(store: Store) -> None:
    recipes = [Recipe("chores.noise", {"seed": seed, "rows": 100}) for seed in range(4)]
    for days, recipe in zip((40, 10, 20, 0), recipes, strict=True):
        store.run(recipe)
        entry = store.entry(store.name(recipe).digest)
        assert entry is not None
        age(entry.label, days * 24 * HOUR)
    count, total = store.size()
    assert count == 4
    assert total == sum(path.stat().st_size for path in files(store, "results"))
    assert store.prune(older_than=30 * 24 * HOUR)[0] == 1
    assert store.get(recipes[0]) is None
    for recipe in recipes[1:]:
        assert store.get(recipe) is not None  # and being read makes it used now
    entry = store.entry(store.name(recipes[3]).digest)
    assert entry is not None
    age(entry.label, HOUR)
    removed, freed = store.prune(keep_bytes=store.size()[1] - 10)
    assert removed == 1
    assert freed > 3200
    assert [store.get(recipe) is None for recipe in recipes] == [True, False, False, True]
    with pytest.raises(SettingsError, match="nothing says what to prune"):
        store.prune()
    with pytest.raises(SettingsError, match="keep_bytes is -1"):
        store.prune(keep_bytes=-1)


def test_check_names_the_damaged_and_keeps_the_good(store: Store) -> None:
    for seed in range(5):
        store.run(Recipe("chores.noise", {"seed": seed}))
    harmed = sorted(path for path in files(store, "results") if path.suffix == ".safetensors")[2]
    harmed.write_bytes(harmed.read_bytes()[::-1])
    steps = []
    checked = store.check(steps.append)
    assert (checked.good, checked.damaged) == (4, (harmed.stem,))
    assert [step.done for step in steps] == [1, 2, 3, 4, 5]
    assert store.check().good == 4


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ("data", DataError, "row 3 is empty"),
        ("bug", ZeroDivisionError, "division"),
        ("nan", SettingsError, "nan"),
        ("type", DataError, "returned a str; expected Map, Arrays, Table"),
    ],
)
def test_a_step_that_fails_leaves_nothing_behind(store: Store, how: str, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        store.run(Recipe("chores.broken", {"how": how}))
    assert not files(store, "results")
    assert not files(store, "aside")
    assert not files(store, "locks")


def test_an_input_that_changes_under_the_work_is_noticed_and_nothing_is_kept(
    store: Store, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one\n")
    with pytest.raises(DataError, match=r"text\.txt has changed since this was started"):
        store.run(Recipe("chores.meddler", {}, {"text": text}))
    assert store.size() == (0, 0)


@pytest.mark.slow
def test_what_another_process_computes_is_busy_or_waited_for(store: Store, log: Log) -> None:
    recipe = Recipe("chores.patient", {"seconds": 1.5})
    code = (
        "import chores, sys; from langscape.store import Recipe, Store;"
        f"Store({str(store.root)!r}).run(Recipe('chores.patient', {{'seconds': 1.5}}))"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    other = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    until = time.monotonic() + 30
    while not log()["begin 0"] and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(Busy, match="being computed by another process"):
        store.run(recipe, wait=False)
    assert store.run(recipe) == {"n": 0}
    assert other.wait(30) == 0
    assert log()["patient 0"] == 1


def test_many_processes_asking_at_once_compute_each_result_once(store: Store, log: Log) -> None:
    code = (
        "import chores, random, sys\n"
        "from langscape.store.store import Store; from langscape.store.recipe import Recipe\n"
        f"store = Store({str(store.root)!r})\n"
        "order = list(range(30)); random.Random(int(sys.argv[1])).shuffle(order)\n"
        "for n in order: store.run(Recipe('chores.square', {'n': n, 'pause': 0.005}))"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    others = [
        subprocess.Popen([sys.executable, "-c", code, str(seed)], env={**os.environ, "PYTHONPATH": path})
        for seed in range(4)
    ]
    assert [other.wait(60) for other in others] == [0, 0, 0, 0]
    assert log() == {f"square {n}": 1 for n in range(30)}
    assert store.check().good == 30
    assert not files(store, "aside")
    assert not files(store, "locks")


def test_what_another_langscape_wrote_is_computed_anew(store: Store, log: Log, monkeypatch) -> None:
    recipe = Recipe("chores.tokens")
    store.run(recipe)
    monkeypatch.setattr(Capture, "codec_version", 99)
    assert len(store.run(recipe).tokens) == 2
    assert store.run(recipe) is not None
    assert log() == {"tokens": 2}


def test_an_input_that_another_langscape_wrote_is_computed_anew(store: Store, log: Log, monkeypatch) -> None:
    tokens = Recipe("chores.tokens")
    store.run(tokens)
    monkeypatch.setattr(Capture, "codec_version", 99)
    assert store.run(Recipe("chores.count", {}, {"tokens": tokens})) == {"tokens": 2}
    assert log() == {"tokens": 2, "count": 1}
