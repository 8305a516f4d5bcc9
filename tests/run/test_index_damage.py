"""An index and records that are damaged in every way: nothing stops, and what is whole stays."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import drive
import pytest

from langscape.errors import StoreError
from langscape.execution.sweep import Sweep, find_sweep
from langscape.store import locks
from langscape.store.index import Index
from langscape.store.recipe import Recipe
from langscape.store.records import Records, file_name
from langscape.store.store import Store

FILES = 300


def fill(store: Store) -> dict[str, str]:
    """A store with a sweep, jobs, inputs and many remembered hashes; paths by what they hash to."""
    Sweep(drive.tasks(12, 0.0), store=store).run(workers=0)
    for n in range(5):
        assert store.index.claim_job(f"words-{n}", "me", json.dumps({"analysis": "words", "n": n}))
        assert store.index.change_job(f"words-{n}", "me", "done", json.dumps({"analysis": "words", "n": n}))
        store.index.add_input(f"in-{n}", json.dumps({"name": f"list {n}"}))
    paths = {f"/somewhere/a file of some length, number {n}": f"{n:064x}" for n in range(FILES)}
    for path, sha256 in paths.items():
        store.index.remember_hash(path, 1, 2, 3, sha256)
    store.index.close()
    return paths


def assert_all_there(store: Store, paths: dict[str, str]) -> None:
    """Every query answers, and answers right; a hash may have been forgotten, never be another."""
    index = store.index
    for path, sha256 in paths.items():
        assert index.file_hash(path, 1, 2, 3) in (None, sha256)
    index.remember_hash("/new", 1, 2, 3, "f" * 64)
    assert index.file_hash("/new", 1, 2, 3) == "f" * 64
    (sweep,) = index.sweeps()
    assert (sweep["state"], sweep["done"], sweep["total"]) == ("done", 12, 12)
    assert {task["state"] for task in index.tasks(sweep["id"])} == {"done"}
    assert Sweep.open(sweep["id"], store).run(workers=0).computed == 0
    assert index.job_ids() == {f"words-{n}" for n in range(5)}
    assert [json.loads(job["record"])["n"] for job in index.jobs()] == list(range(5))
    assert {json.loads(one["record"])["name"] for one in index.inputs()} == {f"list {n}" for n in range(5)}
    assert index.input("in-3") is not None
    assert store.size()[0] == 12
    assert store.check().good == 12
    assert not store.check().damaged


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    root = tmp_path_factory.mktemp("filled") / "store"
    return root, fill(Store(root))


@pytest.fixture
def harmed(filled: tuple[Path, dict[str, str]], tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of the filled store to be harmed."""
    return Path(shutil.copytree(filled[0], tmp_path / "copy")), filled[1]


def flip(raw: bytearray, chance: random.Random) -> bytearray:
    for _ in range(chance.choice((1, 1, 8, 200))):
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return raw


def flip_header(raw: bytearray, chance: random.Random) -> bytearray:
    raw[chance.randrange(100)] = chance.randrange(256)
    return raw


def cut(raw: bytearray, chance: random.Random) -> bytearray:
    return raw[: chance.randrange(len(raw))]


def zero(raw: bytearray, chance: random.Random) -> bytearray:
    page = 4096 * chance.randrange(len(raw) // 4096)
    raw[page : page + 4096] = bytes(4096)
    return raw


def swap(raw: bytearray, chance: random.Random) -> bytearray:
    one, other = (4096 * chance.randrange(len(raw) // 4096) for _ in range(2))
    raw[one : one + 4096], raw[other : other + 4096] = raw[other : other + 4096], raw[one : one + 4096]
    return raw


def noise(raw: bytearray, chance: random.Random) -> bytearray:
    start = chance.randrange(len(raw))
    raw[start : start + 4096] = chance.randbytes(len(raw[start : start + 4096]))
    return raw


HARMS = [flip, flip_header, cut, zero, swap, noise]


@pytest.mark.parametrize("harm", HARMS)
def test_an_index_harmed_at_random_places_costs_nothing_at_opening_or_later(
    harmed: tuple[Path, dict[str, str]], harm: Callable[[bytearray, random.Random], bytearray]
) -> None:
    root, paths = harmed
    index = root / "index.sqlite"
    whole = index.read_bytes()
    assert len(whole) > 10 * 4096
    for seed in range(6):
        bad = bytes(harm(bytearray(whole), random.Random(seed)))
        index.write_bytes(bad)
        fresh = Store(root)
        assert_all_there(fresh, paths)
        fresh.index.close()
        index.write_bytes(whole)
        opened = Store(root)
        assert opened.index.file_hash(next(iter(paths)), 1, 2, 3) is not None
        index.write_bytes(bad)  # under an open connection
        assert_all_there(opened, paths)
        opened.index.close()


def test_rows_whose_bits_were_flipped_are_never_believed(harmed: tuple[Path, dict[str, str]]) -> None:
    root, paths = harmed
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("update files set sha256 = replace(sha256, '0', '1')")
    assert_all_there(Store(root), paths)
    assert list((root / "damaged").iterdir())


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("what", ["folder", "text", "empty"])
def test_anything_in_the_place_of_the_index_is_set_aside_or_overwritten(
    harmed: tuple[Path, dict[str, str]], ending: str, what: str
) -> None:
    root, paths = harmed
    path = root / f"index.sqlite{ending}"
    path.unlink(missing_ok=True)
    if what == "folder":
        path.mkdir()
        (path / "mine.txt").write_text("kept")
    else:
        path.write_text("" if what == "empty" else "a text, and no table of any kind\n" * 500)
    assert_all_there(Store(root), paths)
    if what == "folder":
        assert list(root.rglob("mine.txt"))


@pytest.mark.parametrize(
    "schema",
    [
        "create table files (a)",
        "create table other (a)",
        "create view files as select 1 as path",
        "pragma user_version = 7",
        "create table files (path, size, mtime_ns, inode, sha256, row_check); pragma user_version = 2",
    ],
)
def test_an_index_of_another_form_or_version_is_begun_anew(
    harmed: tuple[Path, dict[str, str]], schema: str
) -> None:
    root, paths = harmed
    (root / "index.sqlite").unlink()
    with sqlite3.connect(root / "index.sqlite") as db:
        db.executescript(schema)
    assert_all_there(Store(root), paths)


def test_what_an_index_of_version_1_held_in_tables_is_still_there(store: Store, tmp_path: Path) -> None:
    Sweep(drive.tasks(12, 0.0), store=store).run(workers=0)
    sweep = store.index.sweeps()[0]
    tasks = store.index.tasks(sweep["id"])
    shutil.rmtree(store.root / "records")
    store.index.close()
    (store.root / "index.sqlite").unlink()
    with sqlite3.connect(store.root / "index.sqlite") as db:
        db.executescript(
            "pragma journal_mode = wal;"
            "create table sweeps (id text primary key, title text, made real, changed real, state text,"
            " total integer, done integer, failed integer, rate real, modules text, way text) without rowid;"
            "create table tasks (sweep text, place integer, key text, digest text, recipe text, state text,"
            " tries integer, error text, primary key (sweep, place)) without rowid;"
            "create table jobs (id text primary key, made real, changed real, state text, owner text,"
            " record text) without rowid;"
            "create table inputs (id text primary key, made real, record text) without rowid;"
            "pragma user_version = 1;"
        )
        db.execute(
            "insert into sweeps values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [sweep[name] for name in ("id", "title", "made", "changed", "state", "total", "done", "failed",
                                      "rate", "modules", "way")],
        )  # fmt: skip
        db.executemany(
            "insert into tasks values (?, ?, ?, ?, ?, ?, ?, ?)", [tuple(task.values()) for task in tasks]
        )
        db.execute("update tasks set state = 'failed', tries = 3, error = 'too hot' where place = 4")
        db.execute("insert into jobs values ('words-0', 1.5, 2.5, 'done', 'me', '{\"n\": 0}')")
        db.execute("insert into inputs values ('in-0', 1.5, '{\"name\": \"list\"}')")
    db.close()
    opened = Store(store.root).index
    assert opened.sweeps() == [sweep]
    assert [task["key"] for task in opened.tasks(sweep["id"])] == [task["key"] for task in tasks]
    assert [task["error"] for task in opened.tasks(sweep["id"], "failed")] == ["too hot"]
    assert [(job["id"], job["made"], job["state"]) for job in opened.jobs()] == [("words-0", 1.5, "done")]
    assert [json.loads(one["record"]) for one in opened.inputs()] == [{"name": "list"}]


@pytest.mark.slow
def test_processes_that_meet_a_damaged_index_at_once_lose_nothing(
    harmed: tuple[Path, dict[str, str]],
) -> None:
    root, paths = harmed
    raw = bytearray((root / "index.sqlite").read_bytes())
    (root / "index.sqlite").write_bytes(bytes(raw[:4096]) + os.urandom(len(raw) - 4096))
    code = (
        "import sys, json; from langscape.store.store import Store\n"
        f"index = Store({str(root)!r}).index; me = sys.argv[1]\n"
        "for n in range(40):\n"
        "    index.remember_hash(f'/{me}/{n}', 1, 2, 3, 'a' * 64)\n"
        "    assert index.file_hash(f'/somewhere/{n}', 1, 2, 3) is None\n"
        "    index.add_input(f'in-{me}-{n}', json.dumps({'name': n}))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    started = [subprocess.Popen([sys.executable, "-c", code, str(me)], env=env) for me in range(3)]
    assert [one.wait(60) for one in started] == [0, 0, 0]
    index = Store(root).index
    given = {f"in-{me}-{n}" for me in range(3) for n in range(40)}
    assert given | {f"in-{n}" for n in range(5)} == {one["id"] for one in index.inputs()}
    for name in given:
        index.forget_input(name)
    assert_all_there(Store(root), paths)


@pytest.mark.parametrize("harm", [flip, cut, lambda raw, chance: bytearray(len(raw))])
@pytest.mark.parametrize("kind", ["sweeps", "jobs", "inputs"])
def test_a_damaged_record_costs_no_other_and_check_names_it(
    harmed: tuple[Path, dict[str, str]], kind: str, harm: Callable[[bytearray, random.Random], bytearray]
) -> None:
    root, _ = harmed
    path = sorted((root / "records" / kind).iterdir())[0]
    path.write_bytes(harm(bytearray(path.read_bytes()), random.Random(3)))
    store = Store(root)
    index = store.index
    assert len(index.job_ids()) == (4 if kind == "jobs" else 5)
    assert len(index.inputs()) == (4 if kind == "inputs" else 5)
    assert [sweep["total"] for sweep in index.sweeps()] == [12]  # its tasks hold it too
    assert store.check().damaged == (path.stem,)
    assert store.check().damaged == ()
    assert find_sweep(store, index.sweeps()[0]["id"])["total"] == 12


def test_a_record_is_read_again_whenever_it_changes(tmp_path: Path) -> None:
    mine, theirs = (Records(tmp_path, "jobs") for _ in range(2))
    for n in range(30):
        mine.put("a", {"n": n % 10})
        assert theirs.all() == {"a": {"n": n % 10}}
    os.utime(tmp_path / "records" / "jobs" / "a.json", (time.time() - 60,) * 2)
    assert theirs.all() == theirs.all() == {"a": {"n": 9}}
    mine.put("a", {"n": 7})
    assert theirs.all() == {"a": {"n": 7}}


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", "", ".", "x" * 300, "ö", "a\x00b", "\udc80"])
def test_no_id_leads_out_of_the_records(store: Store, id: str) -> None:
    assert store.index.input(id) is None
    store.index.add_input(id, "{}")
    assert store.index.input(id) is not None
    (made,) = (store.root / "records" / "inputs").iterdir()
    assert made.stem == file_name(id)
    store.index.forget_input(id)
    assert store.index.inputs() == []


def test_a_job_is_claimed_by_one_of_many(store: Store) -> None:
    got: list[bool] = []
    threads = [
        threading.Thread(target=lambda n=n: got.append(Index(store.root).claim_job("one", str(n), "{}")))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]


def test_a_folder_in_the_place_of_any_file_is_set_aside(store: Store) -> None:
    recipe = Recipe("chores.noise")
    digest = store.name(recipe).digest
    places = [
        store.root / "results" / digest[:2] / f"{digest}{ending}" for ending in (".json", ".safetensors")
    ]
    places += [store.root / "locks" / digest, store.root / "records" / "inputs" / "in-1.json"]
    for place in places:
        place.mkdir(parents=True)
        (place / "mine.txt").write_text("kept")
    assert store.get(recipe) is None
    assert store.size() == (0, 0)
    assert store.run(recipe) is not None
    store.index.add_input("in-1", "{}")
    assert store.index.input("in-1") is not None
    assert store.check().good == 1
    assert len(list((store.root / "damaged").glob("*/mine.txt"))) == 4
    assert locks.is_free(store.root / "locks" / digest)


def test_a_folder_in_the_place_of_a_result_is_no_result_to_prune_or_check(store: Store) -> None:
    place = store.root / "results" / "ab" / f"ab{'0' * 62}.json"
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("kept")
    assert store.check().good == 0
    assert store.prune(keep_bytes=0) == (0, 0)
    assert [one.read_text() for one in (store.root / "damaged").glob("*/mine.txt")] == ["kept"]


@pytest.mark.parametrize("name", ["results", "aside", "locks", "cancelled", "records"])
def test_a_file_in_the_place_of_a_folder_is_set_aside(store: Store, name: str) -> None:
    if (store.root / name).exists():
        shutil.rmtree(store.root / name)
    (store.root / name).write_text("mine")
    opened = Store(store.root)
    assert opened.run(Recipe("chores.noise")) is not None
    opened.index.add_input("in-1", "{}")
    assert opened.index.input("in-1") is not None
    assert [path.read_text() for path in (store.root / "damaged").iterdir()] == ["mine"]


def test_a_store_that_was_removed_says_so(store: Store) -> None:
    store.run(Recipe("chores.square"))
    _ = store.index
    shutil.rmtree(store.root)
    for use in (
        store.check,
        lambda: store.prune(keep_bytes=0),
        lambda: store.run(Recipe("chores.square")),
        lambda: store.keep(b"x"),
        lambda: store.index.add_input("in-1", "{}"),
        lambda: store.index.claim_job("a", "me", "{}"),
    ):
        with pytest.raises(StoreError, match="is not there any more; put it back, or open it again"):
            use()
    assert not store.root.exists()
    assert store.size() == (0, 0)
