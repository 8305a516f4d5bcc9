"""Sweeps through Dask: our own local cluster, and one that was there before."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import drive
import pytest
from watching import KILLS, alive, content, labels, start, wait_until, workers_of

from langscape.data import Step
from langscape.errors import Cancelled, MissingError, SettingsError, StoreError
from langscape.execution.sweep import Sweep, find_sweep
from langscape.store.recipe import Recipe
from langscape.store.store import Store

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
Log = Callable[[], Counter]


@pytest.mark.slow
def test_a_local_cluster_gives_the_undisturbed_table_though_a_worker_is_killed(
    store: Store, log: Log, undisturbed: Callable
) -> None:
    sweep = Sweep(drive.tasks(150, 0.02), store=store)

    def kill() -> None:
        wait_until(lambda: log().total() > 20)
        workers_of(os.getpid())[0].kill()

    thread = threading.Thread(target=kill)
    thread.start()
    steps: list[Step] = []
    report = sweep.run(workers=2, cluster="local", progress=steps.append)
    thread.join()
    assert (report.done, report.failed) == (150, {})
    assert log().total() in (150, 151)
    assert max(step.figures.get("per second", 0) for step in steps) > 0
    assert (steps[-1].done, steps[-1].figures["seconds left"]) == (150, 0)
    assert content(sweep) == undisturbed(150)
    assert not [child for child in workers_of(os.getpid()) if alive(child)]
    assert not list((store.root / "aside").iterdir())


@pytest.mark.slow
def test_a_task_that_kills_every_dask_worker_fails_and_the_rest_is_done(store: Store, log: Log) -> None:
    tasks = drive.tasks(12, 0.0) | {"bomb": Recipe("chores.broken", {"how": "die"})}
    report = Sweep(tasks, store=store).run(workers=2, cluster="local")
    assert list(report.failed) == ["bomb"]
    assert "Dask workers died" in report.failed["bomb"]
    assert report.done == 12


@pytest.mark.slow
def test_random_kills_of_dask_workers_lose_nothing(store: Store, log: Log, undisturbed: Callable) -> None:
    """A worker may die with finished outcomes that were not fetched yet; they must not be waited for."""
    kills = max(5, KILLS // 5)
    count = 60 * kills
    sweep = Sweep(drive.tasks(count, 0.01), store=store)
    chance = random.Random(kills)
    over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while len(killed) < kills and not over.wait(chance.uniform(0.1, 0.7)):
            workers = [worker for worker in workers_of(os.getpid()) if alive(worker)]
            if workers and log().total():
                victim = chance.choice(workers)
                victim.kill()
                killed.append(victim.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    report = sweep.run(workers=2, cluster="local")
    over.set()
    thread.join()
    assert (report.done, report.failed) == (count, {})
    assert len(killed) == kills, "it ended too early: there was too little to do"
    assert content(sweep) == undisturbed(count)
    assert not list((store.root / "aside").iterdir())


@pytest.mark.slow
def test_outcomes_that_died_with_their_worker_are_asked_for_again(
    store: Store, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask keeps a result in its worker's memory: here all workers die once after a batch is done."""
    from langscape.execution.cluster import DaskCluster

    fetch, killed = DaskCluster._fetch, []

    async def late(self: DaskCluster, client: object, future: Any) -> None:
        while future.status == "pending":
            await asyncio.sleep(0.01)
        if not killed:
            killed.extend(process.pid for process in self._processes)
            for process in self._processes:
                process.kill()
        await fetch(self, client, future)

    monkeypatch.setattr(DaskCluster, "_fetch", late)
    report = Sweep(drive.tasks(20, 0.0), store=store).run(workers=2, cluster="local")
    assert len(killed) == 2
    assert (report.done, report.failed) == (20, {})
    assert log().total() <= 22  # what was stored was not computed again


@pytest.mark.slow
def test_killing_the_parent_of_a_local_cluster_leaves_no_orphan_and_the_sweep_resumes(
    store: Store, log: Log, undisturbed: Callable
) -> None:
    parent = start(store.root, 80, 0.02, 2, "local")
    wait_until(lambda: log().total() > 10)
    orphans = workers_of(parent.pid)
    assert len(orphans) == 2
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(alive(process) for process in orphans), 10)
    kept = labels(store)
    again = start(store.root, 80, 0.02, 2, "local")
    assert again.communicate(timeout=120)[0] == "done 80 failed 0\n"
    assert kept.items() <= labels(store).items()
    assert content(Sweep(drive.tasks(80, 0.02), store=store)) == undisturbed(80)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """A Dask cluster that langscape did not start: a scheduler and two workers."""
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": path, "DASK_LOGGING__DISTRIBUTED": "critical"}
    dask = [sys.executable, "-m", "dask"]
    about = tmp_path / "scheduler.json"
    quiet = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    first = [
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(about),
    ]
    processes = [subprocess.Popen([*dask, *first], **quiet)]
    try:
        wait_until(lambda: about.exists() and about.stat().st_size)
        address = json.loads(about.read_text())["address"]
        worker = ["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1"]
        worker += ["--local-directory", str(tmp_path / "dask")]
        processes += [subprocess.Popen([*dask, *worker], **quiet) for _ in range(2)]
        yield address, processes
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_cluster_that_was_there_survives_the_death_of_a_worker(
    store: Store,
    log: Log,
    scheduler: tuple[str, list[subprocess.Popen]],
    monkeypatch: pytest.MonkeyPatch,
    undisturbed: Callable,
) -> None:
    address, processes = scheduler
    sweep = Sweep(drive.tasks(150, 0.02), store=store)

    def kill() -> None:
        wait_until(lambda: log().total() > 20)
        processes[1].kill()

    thread = threading.Thread(target=kill)
    thread.start()
    assert sweep.run(cluster=address).done == 150
    thread.join()
    assert processes[0].poll() is None
    assert processes[2].poll() is None
    assert content(sweep) == undisturbed(150)


@pytest.mark.slow
def test_cancelling_stops_tasks_on_a_cluster_that_goes_on_living(
    store: Store, log: Log, scheduler: tuple[str, list[subprocess.Popen]]
) -> None:
    address, processes = scheduler
    tasks = {str(i): Recipe("chores.patient", {"n": i, "seconds": 600.0}) for i in range(4)}
    sweep = Sweep(tasks, store=store)

    def cancel() -> None:
        wait_until(lambda: log().total() >= 2)
        store.cancel(sweep.id)

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(Cancelled, match=f"sweep resume {sweep.id}"):
        sweep.run(cluster=address)
    thread.join()
    assert find_sweep(store, sweep.id)["state"] == "cancelled"
    # The workers are free again: a sweep of quick tasks gets its turn.
    assert Sweep(drive.tasks(4, 0.0), store=store).run(cluster=address).done == 4
    assert all(process.poll() is None for process in processes)


@pytest.mark.slow
def test_workers_that_see_another_store_say_so(
    store: Store, scheduler: tuple[str, list[subprocess.Popen]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = scheduler
    sweep = Sweep(drive.tasks(3, 0.0), store=store)
    monkeypatch.setattr(store, "id", "of another machine")
    with pytest.raises(StoreError, match=r"sees another store at .*all machines share"):
        sweep.run(cluster=address)


def test_no_scheduler_at_the_address_is_a_clear_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langscape.execution.cluster.CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(SettingsError, match="no Dask scheduler answers at"):
            Sweep(drive.tasks(2, 0.0), store=store).run(cluster=address)


def test_without_dask_the_install_line_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingError, match=r"pip install 'langscape\[cluster\]'"):
        Sweep(drive.tasks(2, 0.0), store=store).run(cluster="local")
