"""Jobs: shared, told, cancelled, killed, and there again after any end of the server."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from map_settings import ENDLESS, SHORT

from langscape import affinity, embed, errors
from langscape.engine import Schedule
from langscape.errors import LangscapeError
from langscape.execution import pool
from langscape.sources import read_vectors
from langscape.store import Store, locks
from langscape.store.registry import find_step
from langscape.studio import examples, record
from langscape.studio.forms import GivenInput
from langscape.studio.inputs import Inputs
from langscape.studio.jobs import Jobs
from langscape.studio.problem import problem_named, problem_of


def wait_until(true, seconds=60):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def sample():
    from langscape.studio.inputs import samples

    return {"vectors": samples()["sample-words"]}


@pytest.mark.slow
def test_a_map_made_by_a_job_is_the_librarys_own_bit_for_bit(client, vectors, few, tmp_path):
    record = client.ask("words", {**SHORT, "neighbours": "local", "seed": 3}, vectors=vectors)
    done = client.wait(record["id"])
    assert done["error"] is None
    view = client.get(f"/api/jobs/{record['id']}/views/map").json
    (tmp_path / "few.txt").write_bytes(few)
    words = read_vectors(tmp_path / "few.txt")
    P = affinity.local(words.matrix, 10.0, 2.0, 1, items=words.items(), seed=3)
    same = embed(P, schedule=Schedule(steps=60), seed=3)
    assert view["properties"]["labels"] == list(words.words)
    assert client.arrays(view)["xy"].tobytes() == np.asarray(same.xy, np.float32).tobytes()


def test_the_same_ask_is_the_same_job_and_answers_at_once_when_done(client, vectors):
    first = client.ask("words", {**SHORT, "seed": 4}, vectors=vectors)
    again = client.ask(
        "words", {**SHORT, "seed": 4, "neighbours": "perplexity", "metric": "euclidean"}, vectors=vectors
    )
    assert again["id"] == first["id"]
    done = client.wait(first["id"])
    third = client.post(
        "/api/jobs", {"analysis": "words", "settings": {**SHORT, "seed": 4}, "inputs": {"vectors": vectors}}
    )
    assert (third.status, third.json["state"]) == (200, "done")
    assert third.json["digest"] == done["digest"]
    assert client.ask("words", {**SHORT, "seed": 5}, vectors=vectors)["id"] != first["id"]


def test_many_who_ask_at_once_get_one_job(client, vectors):
    got = []
    threads = [
        threading.Thread(
            target=lambda: got.append(client.ask("words", {**SHORT, "seed": 6}, vectors=vectors))
        )
        for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len({record["id"] for record in got}) == 1
    listed = [job for job in client.get("/api/jobs").json["jobs"] if job["id"] == got[0]["id"]]
    assert len(listed) == 1
    client.wait(got[0]["id"])


@pytest.mark.slow
def test_progress_is_told_with_steps_and_time_left_until_it_is_done(client):
    record = client.ask("words", {"limit": 700, "steps": 6000, "seed": 11}, vectors="sample-words")
    told = []
    for one in client.listen(60):
        if one["id"] == record["id"]:
            told.append(one)
            if one["state"] == "done":
                break
    steps = [one for one in told if one["total"] == 6000]
    assert steps
    assert [one["done"] for one in steps] == sorted(one["done"] for one in steps)
    assert any(one["left"] is not None and one["left"] >= 0 for one in steps)
    assert told[-1]["seconds"] > 0


@pytest.mark.slow
def test_a_running_job_is_cancelled_and_the_next_one_runs(client, vectors):
    slow = client.ask("words", ENDLESS, vectors="sample-words")
    client.wait(slow["id"], "running")
    begun = time.monotonic()
    assert client.post(f"/api/jobs/{slow['id']}/cancel").json["state"] == "cancelled"
    next_one = client.ask("words", {**SHORT, "seed": 12}, vectors=vectors)
    client.wait(next_one["id"])
    print(f"cancelled, and the next job done, within {time.monotonic() - begun:.2f} s")
    assert client.get(f"/api/jobs/{slow['id']}").json["state"] == "cancelled"
    view = client.get(f"/api/jobs/{slow['id']}/views/map")
    assert (view.status, view.error["code"]) == (409, "not_ready")


def test_a_cancelled_job_that_is_asked_for_again_runs_again(client):
    slow = {**ENDLESS, "seed": 2}
    first = client.ask("words", slow, vectors="sample-words")
    client.post(f"/api/jobs/{first['id']}/cancel")
    again = client.post("/api/jobs", {"analysis": "words", "settings": slow, "inputs": {}})
    assert again.json["state"] in ("queued", "running")
    client.wait(first["id"], "running")
    assert client.send("DELETE", f"/api/jobs/{first['id']}").status == 204
    assert client.get(f"/api/jobs/{first['id']}").error["code"] == "not_found"


@pytest.mark.slow
def test_many_that_are_cancelled_while_workers_start_leave_a_studio_that_works(client, vectors, monkeypatch):
    monkeypatch.setattr(pool, "BOOT_TRIES", 3)
    for seed in range(8):
        record = client.ask("words", {**ENDLESS, "seed": 100 + seed}, vectors="sample-words")
        client.wait(record["id"], "running")
        assert client.post(f"/api/jobs/{record['id']}/cancel").json["state"] == "cancelled"
    done = client.wait(client.ask("words", {**SHORT, "seed": 13}, vectors=vectors)["id"])
    assert done["error"] is None


def test_a_job_whose_data_is_refused_says_what_by_the_name_the_user_gave(client, few):
    rows = b"3 100\n" + b"\n".join(few.split(b"\n")[1:4])
    given = client.post("/api/inputs?kind=vectors&name=three.txt", rows).json["id"]
    record = client.ask("words", {**SHORT, "perplexity": 30}, vectors=given)
    failed = client.wait(record["id"], "failed", "done")
    assert failed["state"] == "failed"
    assert failed["error"]["code"] == "bad_input"
    assert "results/" not in failed["error"]["message"]
    assert "Traceback" not in failed["error"]["message"]


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing_but_time_once(client, running):
    record = client.ask("words", {**ENDLESS, "seed": 7}, vectors="sample-words")
    jobs = running.jobs

    def is_at_it():
        now = client.get(f"/api/jobs/{record['id']}").json
        return now["state"] == "running" and now["doing"].startswith("t-SNE")

    for _ in range(2):
        wait_until(is_at_it)
        os.kill(jobs.pool.pids[0], signal.SIGKILL)
        wait_until(lambda: not is_at_it())  # its end has been heard
    failed = client.wait(record["id"], "failed")
    assert failed["error"]["code"] == "lost"
    assert "signal 9" in failed["error"]["message"]
    assert list((jobs.store.root / "aside").iterdir()) == []


@pytest.mark.slow
def test_a_job_of_a_killed_server_is_gone_on_with_by_the_next(start_apart):
    one = start_apart()
    asked = {"limit": 600, "steps": 4000, "seed": 1}
    record = one.client.ask("words", asked, vectors="sample-words")
    queued = one.client.ask("words", {**asked, "seed": 2, "limit": 100}, vectors="sample-words")
    one.client.wait(record["id"], "running")
    one.kill()
    two = start_apart()
    for id in (record["id"], queued["id"]):
        assert two.client.wait(id)["here"]
    two.stop()
    three = start_apart()
    assert three.client.get(f"/api/jobs/{record['id']}").json["state"] == "done"
    assert three.client.get(f"/api/jobs/{record['id']}/views/map").status == 200
    assert three.client.ask("words", asked, vectors="sample-words")["state"] == "done"


@pytest.mark.slow
def test_a_server_that_is_stopped_leaves_its_jobs_to_the_next(start_apart):
    one = start_apart()
    record = one.client.ask("words", {"limit": 600, "steps": 4000}, vectors="sample-words")
    one.client.wait(record["id"], "running")
    one.stop()
    assert one.process.returncode == 0
    assert start_apart().client.wait(record["id"])["state"] == "done"


@pytest.mark.slow
def test_two_studios_on_one_store_share_their_jobs(start_apart):
    one, two = start_apart(), start_apart()
    record = one.client.ask("words", ENDLESS, vectors="sample-words")
    seen = two.client.ask("words", ENDLESS, vectors="sample-words")
    assert seen["id"] == record["id"]
    assert (record["here"], seen["here"]) == (True, False)
    two.client.wait(record["id"], "running")
    two.client.post(f"/api/jobs/{record['id']}/cancel")
    assert one.client.wait(record["id"], "cancelled")["state"] == "cancelled"
    assert two.client.wait(record["id"], "cancelled")["state"] == "cancelled"
    short = two.client.ask("words", {**SHORT, "limit": 60}, vectors="sample-words")
    two.client.wait(short["id"])
    one.client.wait(short["id"])
    assert (
        one.client.get(f"/api/jobs/{short['id']}/views/map").body
        == two.client.get(f"/api/jobs/{short['id']}/views/map").body
    )
    assert two.client.send("DELETE", f"/api/jobs/{short['id']}").status == 204
    until = time.monotonic() + 60
    while one.client.get(f"/api/jobs/{short['id']}").status != 404:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_a_result_that_was_pruned_is_said_to_be_gone_and_is_made_again(start_apart, tmp_path):
    one = start_apart()
    record = one.client.ask("words", {**SHORT, "limit": 50}, vectors="sample-words")
    one.client.wait(record["id"])
    Store(tmp_path / "store").prune(keep_bytes=0)
    assert one.client.get(f"/api/jobs/{record['id']}/views/map").error["code"] == "gone"
    again = one.client.ask("words", {**SHORT, "limit": 50}, vectors="sample-words")
    assert again["state"] in ("queued", "running")
    one.client.wait(record["id"])
    assert one.client.get(f"/api/jobs/{record['id']}/views/map").status == 200


def test_a_lock_says_whether_an_owner_is_there(tmp_path):
    store = Store(tmp_path / "store")
    jobs = Jobs(store, lambda record: None, workers=1)
    lock = store.root / "locks" / f"studio-{jobs.owner}"
    assert not locks.is_free(lock)
    jobs.close()
    assert locks.is_free(lock)


def test_what_somebody_waits_for_goes_before_what_nobody_asked_for(tmp_path, sample: dict[str, GivenInput]):
    jobs = Jobs(Store(tmp_path / "store"), lambda record: None, workers=1)
    try:

        def ask(seed, first):
            return jobs.request("words", {**ENDLESS, "seed": seed}, sample, first=first)[0]["id"]

        running = ask(0, True)
        while jobs.get(running)["state"] != "running":
            time.sleep(0.01)
        background, urgent, later = ask(1, False), ask(2, True), ask(3, True)
        assert jobs._queue == [urgent, later, background]
        other = ask(4, False)
        assert ask(4, True) == other  # somebody waits for it now
        assert jobs._queue == [urgent, later, other, background]
        assert jobs.look_at(background)["state"] == "queued"  # it is on somebody's screen now
        assert jobs._queue == [background, urgent, later, other]
        assert jobs.look_at(running)["state"] == "running"
    finally:
        jobs.close()


def test_prepared_examples_are_there_before_any_worker_is_ready(tmp_path, monkeypatch):
    wanted = {"vectors": "sample-words"}
    monkeypatch.setattr(examples, "examples", lambda: {"words": ({**SHORT, "limit": 40}, wanted)})
    store = Store(tmp_path / "store")
    told = []
    examples.prepare(store, lambda step: None, told.append)
    assert told[-2].startswith("example 1 of 1, words: ")
    assert told[-1].startswith("  computed in ")
    examples.prepare(store, lambda step: None, told.append)
    assert told[-1] == "  it was in the store"
    jobs = Jobs(store, lambda record: None, workers=1)
    try:
        found = examples.begin_examples(jobs, Inputs(store))
        assert jobs.get(found["words"])["state"] == "done"
        record, entry = jobs.entry(found["words"])
        assert entry.kind == "map"
        assert record["digest"] == entry.digest
    finally:
        jobs.close()


def test_a_job_of_an_earlier_version_is_not_shown_as_done_and_is_run_again(tmp_path, monkeypatch):
    wanted = {"vectors": "sample-words"}
    monkeypatch.setattr(examples, "examples", lambda: {"words": ({**SHORT, "limit": 40}, wanted)})
    store = Store(tmp_path / "store")
    examples.prepare(store, lambda step: None, lambda line: None)
    monkeypatch.setattr(record, "find_step", lambda name: replace(find_step(name), version=[99]))
    jobs = Jobs(store, lambda record: None, workers=1)
    try:
        (old,) = jobs.all()
        assert (old["state"], old["error"]["code"]) == ("failed", "gone")
        assert "earlier version" in old["error"]["message"]
        again = examples.begin_examples(jobs, Inputs(store))["words"]
        assert again != old["id"]
    finally:
        jobs.close()


@pytest.mark.parametrize(
    "kind",
    [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, LangscapeError)],
)
def test_an_error_that_a_worker_names_is_told_as_one_that_is_raised_here(kind):
    told = problem_named(kind.__name__, "what happened")
    assert told.code != "internal" or kind is LangscapeError
    assert told.code == problem_of(kind("what happened")).code


def test_names_that_are_no_errors_are_faults():
    assert {problem_named(name, "x").code for name in ("annotations", "written", "", "ValueError")} == {
        "internal"
    }
    assert {problem_named(name, "x").code for name in ("Lost", "MemoryError")} == {"lost"}


def test_a_job_that_was_removed_comes_back_with_its_name_and_date(client, vectors):
    settings = {**SHORT, "seed": 91}
    done = client.wait(client.ask("words", settings, vectors=vectors)["id"])
    client.post(f"/api/jobs/{done['id']}/name", {"name": "for the lecture"})
    client.send("DELETE", f"/api/jobs/{done['id']}")
    assert done["id"] not in [one["id"] for one in client.get("/api/jobs").json["jobs"]]
    back = client.ask("words", settings, vectors=vectors)
    assert (back["id"], back["title"], back["state"]) == (done["id"], "for the lecture", "done")
    assert (back["made"], back["seconds"]) == (done["made"], done["seconds"])
