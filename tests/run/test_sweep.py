from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from watching import alive, wait_until, workers_of

from langscape.data import Step
from langscape.errors import Cancelled, DataError, MissingError, SettingsError
from langscape.execution.sweep import Sweep, find_sweep, statuses
from langscape.execution.sweep_runner import Pace
from langscape.store.recipe import Recipe
from langscape.store.store import Store

Log = Callable[[], Counter]


def squares(n: int, pause: float = 0.0) -> dict[str, Recipe]:
    return {f"task {i}": Recipe("chores.square", {"n": i, "pause": pause}) for i in range(n)}


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_sweep_computes_every_task_once_and_again_only_what_is_missing(
    store: Store, log: Log, workers: int
) -> None:
    sweep = Sweep(squares(20), store=store)
    report = sweep.run(workers=workers)
    assert (report.total, report.done, report.computed, report.failed) == (20, 20, 20, {})
    table = sweep.table()
    assert list(table["key"]) == [f"task {i}" for i in range(20)]
    np.testing.assert_array_equal(table["square"], np.arange(20) ** 2)
    store._remove(sweep.tasks["task 7"].digest)
    again = Sweep(squares(20), store=store)
    assert again.id == sweep.id
    assert again.run(workers=workers).computed == 1
    assert log() == {f"square {i}": 1 + (i == 7) for i in range(20)}
    assert not list((store.root / "aside").iterdir())


@pytest.mark.slow
def test_progress_counts_up_with_rate_and_time_left_in_every_way(store: Store) -> None:
    for workers in (0, 2):
        steps: list[Step] = []
        tasks = {str(i): Recipe("chores.square", {"n": i, "pause": 0.02 + workers / 1000}) for i in range(40)}
        Sweep(tasks, store=store).run(workers=workers, progress=steps.append)
        working = [step for step in steps if step.doing == "chores.square"]
        assert [step.done for step in working] == sorted(step.done for step in working)
        assert (working[-1].done, working[-1].total) == (40, 40)
        assert working[-1].figures["seconds left"] == 0
        timed = [step for step in working if "seconds left" in step.figures]
        assert len(timed) > 2
        for step in timed:
            assert step.figures["seconds left"] * step.figures["per second"] == pytest.approx(40 - step.done)


def test_what_fails_is_reported_with_its_error_and_the_rest_is_done(store: Store) -> None:
    hows = ("data", "bug", "nan", "type", "print")
    tasks = {how: Recipe("chores.broken", {"how": how}) for how in hows} | squares(5)
    for workers in (0, 2):
        sweep = Sweep(tasks, store=store)
        report = sweep.run(workers=workers)
        assert report.done == 6
        assert report.failed == {
            "data": "row 3 is empty; fill it",
            "bug": "ZeroDivisionError: division by zero",
            "nan": report.failed["nan"],
            "type": "step chores.broken returned a str; expected Map, Arrays, Table or a mapping",
        }
        record = find_sweep(store, sweep.id)
        assert (record["state"], record["done"], record["failed"]) == ("failed", 6, 4)
        assert {row["key"] for row in store.index.tasks(sweep.id, "failed")} == set(report.failed)


def test_a_task_that_always_kills_its_worker_fails_after_three_tries_and_harms_no_other(
    store: Store, log: Log
) -> None:
    tasks = squares(30) | {"bomb": Recipe("chores.broken", {"how": "die"})} | {"last": Recipe("chores.noise")}
    report = Sweep(tasks, store=store).run(workers=2)
    assert list(report.failed) == ["bomb"]
    assert "signal 9" in report.failed["bomb"]
    assert "3 times" in report.failed["bomb"]
    assert report.done == 31
    assert log()["dies"] == 3
    assert all(log()[f"square {i}"] == 1 for i in range(30))


def test_what_tasks_need_is_computed_once_before_them(store: Store, log: Log) -> None:
    noise = [Recipe("chores.noise", {"seed": seed}) for seed in (1, 2)]
    tasks = {
        f"{seed} {column}": Recipe("chores.total", {"column": column}, {"noise": noise[seed]})
        for seed in range(2)
        for column in range(8)
    }
    sweep = Sweep(tasks, store=store)
    assert sweep.run(workers=2).done == 16
    assert log() == {"noise 1": 1, "noise 2": 1, "total": 16}
    assert sweep.table()["total"][9] == float(store.get(noise[1])["x"][:, 1].sum())  # type: ignore[index]


@pytest.mark.parametrize(
    ("how", "said"),
    [("data", "^row 3 is empty"), ("bug", "^an input of the sweep cannot be made: ZeroDivisionError")],
)
def test_an_input_that_cannot_be_made_stops_the_sweep_with_its_error(
    store: Store, how: str, said: str
) -> None:
    bad = Recipe("chores.broken", {"how": how})
    with pytest.raises(DataError, match=said):
        Sweep({"a": Recipe("chores.total", {}, {"noise": bad})}, store=store).run(workers=0)


def test_workers_have_one_compute_thread_and_the_parents_import_path(store: Store) -> None:
    from langscape.execution.worker_process import ENVIRONMENT, WorkerProcess

    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        assert ENVIRONMENT[f"{name}_NUM_THREADS"] == "1"
    hello = {"root": str(store.root), "id": store.id, "modules": ["chores"], "warm": ""}
    heard: queue.Queue[dict | None] = queue.Queue()
    process = WorkerProcess("worker_main", hello, heard.put)
    assert heard.get(timeout=30) == {"ready": process.pid}
    assert psutil.Process(process.pid).environ()["NUMBA_NUM_THREADS"] == "1"
    assert process.code is None
    process.end()
    assert heard.get(timeout=10) is None
    assert process.ending.startswith("signal 9, SIGKILL")


def test_a_worker_refuses_what_it_cannot_import_or_see(store: Store) -> None:
    from langscape.execution.pool import Pool

    pool = Pool(store, ["no_such_module"], 1)
    try:
        wait_until(lambda: pool.wait(0.1) or pool.error)
    finally:
        pool.stop()
    assert isinstance(pool.error, MissingError)
    assert "'no_such_module', which registers steps" in str(pool.error)
    assert not pool.free()


@pytest.mark.parametrize("workers", [-1, 1.5, True, 5000])
def test_an_absurd_number_of_workers_is_refused(store: Store, workers: object) -> None:
    with pytest.raises(SettingsError, match="workers is"):
        Sweep(squares(1), store=store).run(workers=workers)  # type: ignore[arg-type]


def test_a_sweep_without_tasks_is_refused(store: Store) -> None:
    with pytest.raises(SettingsError, match="no tasks"):
        Sweep({}, store=store)


def test_cancel_from_another_process_stops_the_workers_and_says_how_to_go_on(store: Store, log: Log) -> None:
    tasks = {str(i): Recipe("chores.patient", {"n": i, "seconds": 60.0}) for i in range(4)}
    for workers in (2, 0):
        sweep = Sweep(tasks, store=store)
        before = log().total()
        code = f"from langscape.store.store import Store; Store({str(store.root)!r}).cancel({sweep.id!r})"

        def cancel(before: int = before, code: str = code) -> None:
            wait_until(lambda: log().total() > before)
            subprocess.run([sys.executable, "-c", code], check=True)

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(Cancelled, match=rf"cancelled with 0 of 4 tasks done.*sweep resume {sweep.id}"):
            sweep.run(workers=workers)
        thread.join()
        assert find_sweep(store, sweep.id)["state"] == "cancelled"
        assert not [child for child in workers_of(os.getpid()) if alive(child)]
    assert not list((store.root / "aside").iterdir())


@pytest.mark.slow
def test_ctrl_c_leaves_a_sweep_that_can_be_resumed(store: Store, log: Log) -> None:
    sweep = Sweep(squares(200, pause=0.01), store=store)

    def interrupt() -> None:
        wait_until(lambda: log().total() > 20)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(
        Cancelled, match=rf"stopped with \d+ of 200 tasks done; they are kept.*resume {sweep.id}"
    ):
        sweep.run(workers=2)
    thread.join()
    assert not [child for child in workers_of(os.getpid()) if alive(child)]
    assert find_sweep(store, sweep.id)["state"] == "stopped"
    kept = store.size()[0]
    assert 0 < kept < 200
    resumed = Sweep.open(sweep.id[:6], store)
    report = resumed.run(workers=2)
    assert (report.done, report.computed) == (200, 200 - kept)
    assert find_sweep(store, sweep.id)["state"] == "done"


def test_resume_refuses_a_sweep_whose_input_has_changed(store: Store, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one\n")
    sweep = Sweep({"a": Recipe("chores.lines", {}, {"text": text})}, store=store)
    sweep.run(workers=0)
    text.write_text("two\nthree\n")
    with pytest.raises(DataError, match="has changed since it was started"):
        Sweep.open(sweep.id, store)


def test_an_unknown_sweep_is_named_beside_the_known_ones(store: Store) -> None:
    with pytest.raises(SettingsError, match="'abc' is no sweep of this store; the latest are none"):
        find_sweep(store, "abc")
    sweep = Sweep(squares(1), store=store)
    sweep.run(workers=0)
    with pytest.raises(SettingsError, match=sweep.id):
        find_sweep(store, "zzz")
    assert [record["id"] for record in statuses(store)] == [sweep.id]


def test_steps_of_a_script_run_in_process_and_are_refused_to_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from langscape.store.recipe import Recipe\n"
        "from langscape.store import step\n"
        "from langscape.store.store import Store\n"
        "from langscape.execution.sweep import Sweep\n"
        "@step('mine', version=1)\n"
        "def mine(settings, inputs, progress):\n"
        "    return {'x': 1}\n"
        "sweep = Sweep({'a': Recipe('mine')}, store=Store(sys.argv[1]))\n"
        "print(sweep.run(workers=0).done)\n"
        "sweep.run(workers=1)\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "store")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert run.stdout == "1\n"
    assert "step 'mine' is defined in the script itself" in run.stderr


def test_batches_hold_seconds_of_work_and_shrink_towards_the_end() -> None:
    pace = Pace()
    assert pace.batch(1000, 2) == 1  # nothing is known yet
    for _ in range(50):
        pace.took(0.01)
    assert pace.batch(100_000, 2) == 200
    assert pace.batch(60, 2) == 10
    assert pace.batch(1, 2) == 1
    for _ in range(50):
        pace.took(30.0)
    assert pace.batch(100_000, 2) == 1
