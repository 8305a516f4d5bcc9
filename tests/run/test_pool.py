"""One pool for jobs and sweeps: what it says of tasks, and what becomes of them when workers end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from watching import alive, wait_until, workers_of

from langscape.errors import StoreError
from langscape.execution import pool as pools
from langscape.execution.pool import Pool
from langscape.store.recipe import Recipe
from langscape.store.store import Store


@pytest.fixture
def pool(store: Store, log: Callable[[], Counter]) -> Iterator[Pool]:
    started = Pool(store, ["chores"], 1, ahead=1)
    yield started
    started.stop()
    assert not [process for process in workers_of(os.getpid()) if alive(process)]
    assert list((store.root / "aside").iterdir()) == []


def patient(key: str, seconds: float) -> dict[str, Any]:
    return {"key": key, "recipe": Recipe("chores.patient", {"n": int(key), "seconds": seconds}).to_json()}


def heard(pool: Pool, enough: Callable[[list[dict[str, Any]]], object]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    wait_until(lambda: messages.extend(pool.wait(0.1)) or enough(messages))
    return messages


def states(messages: list[dict[str, Any]]) -> dict[str, str]:
    return {one["key"]: one["state"] for one in messages if "state" in one}


def test_a_recipe_is_named_and_tells_how_far_it_is(pool: Pool, store: Store) -> None:
    pool.send([patient("1", 0.3)])
    messages = heard(pool, states)
    digest = store.name(Recipe("chores.patient", {"n": 1, "seconds": 0.3})).digest
    assert [one["digest"] for one in messages if "digest" in one] == [digest]
    assert any(one["step"]["done"] == 1 for one in messages if "step" in one)
    assert states(messages) == {"1": "done"}
    assert store.entry(digest) is not None


def test_cancelling_a_task_ends_its_worker_and_returns_what_waited_behind_it(
    pool: Pool, log: Callable[[], Counter]
) -> None:
    (first,) = pool.pids
    pool.send([patient("1", 60.0), patient("2", 0.0)])
    assert pool.free()
    pool.send([patient("3", 0.0)])
    assert not pool.free()
    wait_until(lambda: pool.wait(0.1) and log()["begin 1"])
    assert not pool.cancel("4")
    assert pool.cancel("1")
    assert not pool.cancel("1")
    assert states(heard(pool, lambda messages: len(states(messages)) == 2)) == {"2": "back", "3": "back"}
    assert pool.pids != [first]
    pool.send([patient("2", 0.0)])
    assert states(heard(pool, states)) == {"2": "done"}
    assert log()["patient 1"] == 0


def test_a_worker_that_dies_says_which_task_it_cost_and_why(pool: Pool, log: Callable[[], Counter]) -> None:
    pool.send([patient("1", 60.0), patient("2", 0.0)])
    wait_until(lambda: pool.wait(0.1) and log()["begin 1"])
    os.kill(pool.pids[0], signal.SIGKILL)
    ended = heard(pool, lambda messages: len(states(messages)) == 2)
    assert states(ended) == {"1": "lost", "2": "back"}
    assert ended[0]["error"] == (
        "its worker process ended (signal 9, SIGKILL; too little memory is the usual cause)"
    )


def test_workers_that_cannot_start_are_tried_some_times_and_then_no_more(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends_at_once.py").write_text("import os; os._exit(3)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(pools, "BOOT_TRIES", 3)
    pool = Pool(store, ["ends_at_once"], 2)
    try:
        pool.send([patient("1", 0.0)])
        messages = heard(pool, lambda _: not pool.pids)
    finally:
        pool.stop()
    assert states(messages) == {"1": "back"}
    assert isinstance(pool.error, StoreError)
    assert "3 worker processes in a row ended before they were ready (exit code 3)" in str(pool.error)
    assert not pool.free()


def test_a_worker_whose_parent_is_gone_ends_without_a_word() -> None:
    """Its stdin is still open, as when the parent's end has not been heard of yet."""
    code = "from langscape.execution.worker import send_answer, take_over_pipes\n"
    code += "lines, answers = take_over_pipes()\nlines.get()\nsend_answer(answers, {'state': 'done'})\n"
    code += "raise SystemExit('it goes on')"
    pipe = subprocess.PIPE
    worker = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe)
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stderr is not None
    worker.stdout.close()
    worker.stdin.write(b"[]\n")
    worker.stdin.flush()
    assert worker.stderr.read() == b""
    assert worker.wait(60) == 0
    worker.stdin.close()
    worker.stderr.close()


def test_the_last_step_of_a_part_is_told_however_soon_it_comes(monkeypatch):
    import io

    from langscape.data import Step
    from langscape.execution.worker import _Teller

    told = []
    teller = _Teller("key", io.BytesIO())
    monkeypatch.setattr(teller, "send", told.append)
    for done in range(4):
        teller(Step(done, 3, "heads scored"))
    assert [message["step"]["done"] for message in told] == [0, 3]


def test_a_sweep_takes_the_workers_that_wait_for_it_and_nobody_else_does(
    store: Store, log: Callable[[], Counter]
) -> None:
    from langscape.execution.pool import WAITING, WaitingPool
    from langscape.execution.sweep import Sweep

    waiting = WaitingPool(store, ["chores"], 2, prepare="chores:prepare")
    token = WAITING.set(waiting)
    try:
        started = workers_of(os.getpid())
        wait_until(lambda: log()["prepared"] == 2)
        assert waiting.taken(store, ["chores"], 3) is None  # another number of workers is another pool
        tasks = {str(n): Recipe("chores.square", {"n": n}) for n in range(6)}
        assert Sweep(tasks, store=store).run(workers=2).done == 6
        assert waiting.taken(store, ["chores"], 2) is None
    finally:
        WAITING.reset(token)
        waiting.stop()
    assert log()["prepared"] == 2  # no other worker was started
    assert not [process for process in started if alive(process)]


def test_workers_that_no_sweep_took_are_ended(store: Store) -> None:
    from langscape.execution.pool import WaitingPool

    waiting = WaitingPool(store, ["chores"], 1)
    started = workers_of(os.getpid())
    waiting.stop()
    assert started
    assert not [process for process in started if alive(process)]
