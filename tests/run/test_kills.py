"""Sweeps that are killed, at random, in every part, and end with the same table all the same."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable

import drive
import pytest
from watching import KILLS, alive, assert_clean, content, labels, start, wait_until, workers_of

from langscape.execution.sweep import Sweep
from langscape.store.store import Store

Log = Callable[[], Counter]


@pytest.mark.slow
def test_a_killed_worker_costs_its_task_not_the_sweep(store: Store, log: Log, undisturbed: Callable) -> None:
    sweep = Sweep(drive.tasks(60, 0.02), store=store)

    def kill() -> None:
        wait_until(lambda: log().total() > 10)
        workers_of(os.getpid())[0].kill()

    thread = threading.Thread(target=kill)
    thread.start()
    report = sweep.run(workers=2)
    thread.join()
    assert (report.done, report.failed) == (60, {})
    assert log().total() in (60, 61)
    assert content(sweep) == undisturbed(60)
    assert not list((store.root / "aside").iterdir())


@pytest.mark.slow
def test_a_killed_parent_takes_its_workers_along_and_the_sweep_goes_on_where_it_was(
    store: Store, log: Log, undisturbed: Callable
) -> None:
    parent = start(store.root, 60, 0.02, 2)
    wait_until(lambda: log().total() > 10)
    orphans = workers_of(parent.pid)
    assert len(orphans) == 2
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(alive(process) for process in orphans), 10)
    kept = labels(store)
    assert len(kept) >= 8
    again = start(store.root, 60, 0.02, 2)
    assert again.communicate(timeout=60)[0] == "done 60 failed 0\n"
    assert kept.items() <= labels(store).items()
    assert content(Sweep(drive.tasks(60, 0.02), store=store)) == undisturbed(60)
    assert_clean(store)


def test_a_worker_busy_in_a_long_task_dies_with_its_parent(store: Store, log: Log) -> None:
    parent = start(store.root, 2, 60.0, 2)
    wait_until(lambda: log()["noise 0"])
    orphans = workers_of(parent.pid)
    assert len(orphans) == 2
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(alive(process) for process in orphans), 10)


@pytest.mark.slow
def test_two_processes_sweeping_the_same_share_the_work(
    store: Store, log: Log, undisturbed: Callable
) -> None:
    both = [start(store.root, 80, 0.01, 1) for _ in range(2)]
    assert [process.communicate(timeout=60)[0] for process in both] == ["done 80 failed 0\n"] * 2
    assert max(log().values()) == 1
    assert log().total() == 80
    assert content(Sweep(drive.tasks(80, 0.01), store=store)) == undisturbed(80)


@pytest.mark.slow
def test_random_kills_of_workers_and_parents_lose_nothing(
    store: Store, log: Log, undisturbed: Callable
) -> None:
    """Kill by kill: one in five hits the parent, the others a worker, at random moments."""
    chance = random.Random(KILLS)
    count, pause = 40 * KILLS, 0.005
    kept: dict[str, tuple[int, int]] = {}
    killed: Counter[str] = Counter()
    parent = start(store.root, count, pause, 2)
    while killed.total() < KILLS and parent.poll() is None:  # a fast machine may be done before the last
        time.sleep(chance.uniform(0.0, 0.4))
        workers = workers_of(parent.pid)
        if chance.random() < 0.2:
            parent.kill()
            parent.wait()
            wait_until(lambda workers=workers: not any(alive(worker) for worker in workers), 10)
            now = labels(store)
            assert kept.items() <= now.items()
            kept = now
            killed["parent"] += 1
            parent = start(store.root, count, pause, 2)
        elif workers:
            os.kill(chance.choice(workers).pid, signal.SIGKILL)
            killed["worker"] += 1
    assert killed.total() >= KILLS // 2, f"it ended after {killed}: there is too little to do"
    said = parent.communicate(timeout=300)[0]
    assert said == f"done {count} failed 0\n"
    assert kept.items() <= labels(store).items()
    assert content(Sweep(drive.tasks(count, pause), store=store)) == undisturbed(count)
    assert log().total() - count <= KILLS * 2  # at most the tasks that were being done when a kill came
    assert store.check().damaged == ()
    assert_clean(store)
