"""`langscape store` and `langscape sweep`, as a user types them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import drive
import pytest
from tests.commands import at_home_in, run
from watching import start, wait_until, workers_of

from langscape.cli.store import age, bytes_, seconds, size
from langscape.errors import LangscapeError, SettingsError
from langscape.execution.sweep import Sweep
from langscape.store.recipe import Recipe
from langscape.store.store import Store

Log = Callable[[], Counter]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home" / "store")


@pytest.fixture
def langscape(tmp_path: Path) -> Callable[..., subprocess.Popen]:
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": path, "LANGSCAPE_HOME": str(tmp_path / "home")}

    def run(*arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-c", "from langscape.cli import main; main()", *arguments],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


def said(process: subprocess.Popen, code: int = 0) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    assert "Traceback" not in err
    return out + err


@pytest.mark.slow
def test_the_store_is_listed_sized_checked_and_pruned(store: Store, langscape: Callable) -> None:
    for n in range(3):
        store.run(Recipe("chores.square", {"n": n}))
    store.run(Recipe("chores.noise", {"rows": 1000}))
    listed = said(langscape("store", "list")).splitlines()
    assert len(listed) == 4
    assert sum("chores.square" in line and "n=2" in line for line in listed) == 1
    assert "32.1 kB" in next(line for line in listed if "noise" in line)
    assert len(said(langscape("store", "list", "--step", "chores.sq", "--limit", "2")).splitlines()) == 3
    assert re.match(r"4 results, 3\d\.\d kB in ", said(langscape("store", "size")))
    harmed = next(store.root.rglob("*.safetensors"))
    harmed.write_bytes(harmed.read_bytes()[:-9])
    checked = said(langscape("store", "check"))
    assert f"{harmed.stem[:12]} was damaged and is removed" in checked
    assert "3 good, 1 damaged" in checked
    assert "removed 0 results" in said(langscape("store", "prune", "--older-than", "1d"))
    assert "removed 3 results" in said(langscape("store", "prune", "--keep", "0"))
    assert store.size() == (0, 0)


def test_wrong_input_is_one_clear_line(
    tmp_path: Path, langscape: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(langscape("store", "prune"), 1).startswith("error: nothing says what to prune")
    at_home_in(tmp_path, monkeypatch)
    with pytest.raises(LangscapeError, match="'soon' is no length of time"):
        run("store", "prune", "--older-than", "soon")
    with pytest.raises(LangscapeError, match="'much' is no size"):
        run("store", "prune", "--keep", "much")
    for command in ("resume", "cancel", "status"):
        with pytest.raises(LangscapeError, match="'beef' is no sweep of this store"):
            run("sweep", command, "beef")
    assert "no sweeps yet" in run("sweep", "status").output


@pytest.mark.slow
def test_a_sweep_is_seen_cancelled_and_resumed_from_other_terminals(
    store: Store, log: Log, langscape: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = tmp_path / "held"  # all but the first twenty tasks wait until this file is gone
    held.touch()
    monkeypatch.setenv("CHORES_HELD", str(held))
    running = start(store.root, 100, 0.01, 2)
    wait_until(lambda: log().total() > 10)
    id = Sweep(drive.tasks(100, 0.01), store=store).id
    wait_until(
        lambda: re.search(
            rf"{id}  running +\d+ of 100, .* a second, .*left", said(langscape("sweep", "status"))
        )
    )
    assert "stops within seconds" in said(langscape("sweep", "cancel", id[:5]))
    assert "Cancelled: cancelled with" in running.communicate(timeout=60)[0]
    held.unlink()
    assert re.search(rf"{id}  cancelled", said(langscape("sweep", "status", id)))
    assert "is not running: it is cancelled" in said(langscape("sweep", "cancel", id))
    assert "100 of 100 tasks done" in said(langscape("sweep", "resume", id, "--workers", "2"))
    assert re.search(rf"{id}  done +100 of 100", said(langscape("sweep", "status")))
    assert "100 of 100 tasks done, 0 of them now" in said(langscape("sweep", "resume", id))


@pytest.mark.slow
def test_ctrl_c_on_resume_says_how_to_go_on(store: Store, log: Log, langscape: Callable) -> None:
    sweep = Sweep(drive.tasks(100, 0.05), store=store)
    sweep._record({"workers": 2, "cluster": None})
    assert f"{sweep.id}  stopped" in said(langscape("sweep", "status"))
    running = langscape("sweep", "resume", sweep.id)
    wait_until(lambda: log().total() > 10)
    workers = workers_of(running.pid)
    running.send_signal(signal.SIGINT)
    assert f"Go on with `langscape sweep resume {sweep.id}`" in said(running, 130)
    wait_until(lambda: not any(worker.is_running() for worker in workers), 10)


def test_failed_tasks_are_listed_with_their_errors(store: Store, langscape: Callable) -> None:
    sweep = Sweep({"bad": Recipe("chores.broken"), "good": Recipe("chores.square")}, store=store)
    sweep.run(workers=0)
    shown = said(langscape("sweep", "status", sweep.id))
    assert "1 of 2, 1 failed" in shown
    assert "bad: row 3 is empty; fill it" in shown
    assert "failed: bad: row 3 is empty; fill it" in said(langscape("sweep", "resume", sweep.id), 1)


def test_help_needs_nothing_heavy(langscape: Callable) -> None:
    code = (
        "import sys; from langscape.cli.app import app\n"
        "heavy = {'duckdb', 'sqlite3', 'distributed', 'dask', 'torch', 'numba', 'langscape.store.store'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert run.stdout == "[]\n", run.stderr
    assert "Go on with a sweep" in said(langscape("sweep", "--help"))


def test_sizes_and_times_are_read_and_said() -> None:
    assert [size(n) for n in (0, 999, 1000, 12_345_678, 5e12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "12.3 MB",
        "5.0 TB",
    ]
    assert [bytes_(text) for text in ("0", "2GB", "1.5 mb", "7k")] == [0, 2 * 10**9, 1_500_000, 7000]
    assert [seconds(text) for text in ("30d", "12h", "1.5m", "2w")] == [2592000, 43200, 90, 1209600]
    assert [age(n) for n in (5, 90, 7200, 300_000, -3)] == ["5s", "2m", "2h", "3d", "0s"]
    for wrong in ("", "-1d", "d", "1y"):
        with pytest.raises(SettingsError):
            seconds(wrong)
        with pytest.raises(SettingsError):
            bytes_(wrong)


def test_a_cancel_does_not_wait_for_tasks_to_end(store: Store, log: Log, langscape: Callable) -> None:
    running = start(store.root, 4, 600.0, 2)
    id = Sweep(drive.tasks(4, 600.0), store=store).id
    wait_until(lambda: log()["noise 0"])
    assert "stops within seconds" in said(langscape("sweep", "cancel", id))
    assert "Cancelled" in running.communicate(timeout=60)[0]
