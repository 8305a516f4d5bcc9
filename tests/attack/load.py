"""Many at once, and for long: clients during a sweep, watchers of the events, and mixed requests."""

from __future__ import annotations

import http.client
import json
import random
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.attack import specimens
from tests.attack.budget import Budget
from tests.attack.report import Row
from tests.attack.serving import Studio, start_sweep, wait_until

from langscape.studio.events import MOST as MOST_LISTENERS

LONGEST = 10.0
"""Seconds that an answer may take while everybody asks."""

MAP = {"steps": 40, "perplexity": 2.0, "restarts": 1}


def run(budget: Budget) -> Iterator[Row]:
    """Clients, watchers, and then long."""
    with tempfile.TemporaryDirectory() as folder:
        yield clients(Path(folder) / "store", budget)
        yield watchers(Path(folder) / "store", budget)
        yield long(Path(folder) / "store", budget)


class Answers:
    """What came back: statuses, seconds, and faults."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.seconds: list[float] = []
        self.faults: list[str] = []
        self._mutex = threading.Lock()

    def ask(self, what: str, send: Callable[[], Any]) -> Any:
        """Send, and count what comes back."""
        began = time.monotonic()
        try:
            got = send()
            said = f"{got.status} {got.body[:100]!r}" if got.status >= 500 else ""
        except (OSError, http.client.HTTPException) as error:
            got, said = None, repr(error)[:120]
        passed = time.monotonic() - began
        with self._mutex:
            self.statuses[0 if got is None else got.status] += 1
            self.seconds.append(passed)
            if said:
                self.faults.append(f"{what}: {said}")
            if passed > LONGEST:
                self.faults.append(f"{what}: took {passed:.1f} s")
        return got

    def told(self) -> str:
        """Counts and times."""
        listed = ", ".join(f"{count:,} × {status}" for status, count in sorted(self.statuses.items()))
        ordered = sorted(self.seconds)
        late = ordered[int(len(ordered) * 0.99)]
        middle = statistics.median(ordered)
        return f"{listed}; median {middle * 1000:.0f} ms, one in a hundred over {late * 1000:.0f} ms"


def clients(root: Path, budget: Budget) -> Row:
    """Everybody asks at the same time while a sweep of another process fills the same store."""
    answers, count = Answers(), 40 if not budget.every else 400
    with Studio(root) as studio:
        sweep = start_sweep(root, count)
        with ThreadPoolExecutor(budget.clients) as pool:
            list(pool.map(lambda number: _client(studio, number, answers), range(budget.clients)))
        said = sweep.communicate(timeout=600)[0]
        findings = answers.faults + [f"the sweep said {said!r}"] * (said != f"done {count} failed 0\n")
        muttered = studio.errors()
        findings += [f"it wrote a traceback: {muttered[-300:]}"] * ("Traceback" in muttered)
    return Row(
        "load",
        "Many clients are answered while a sweep is computed in the same store, and the sweep ends whole",
        f"{budget.clients} clients at once, {answers.statuses.total():,} requests, a sweep of {count} tasks",
        answers.told(),
        findings,
    )


def _client(studio: Studio, number: int, answers: Answers) -> None:
    rng, client = random.Random(number), studio.client
    for turn in range(12):
        what = rng.choice(("about", "jobs", "inputs", "upload", "nothing"))
        if what == "upload":
            data = f"a{number} 1 2\nb{turn} 2 1\nc 1 1\n".encode()
            answers.ask(what, lambda data=data: client.post("/api/inputs?kind=vectors&name=v.txt", data))
        else:
            path = "/api/jobs/none" if what == "nothing" else f"/api/{what}"
            answers.ask(what, lambda path=path: client.get(path))


def watchers(root: Path, budget: Budget) -> Row:
    """Listeners up to the limit are served and told of a job; those beyond are refused; all can go."""
    findings: list[str] = []
    with Studio(root) as studio:
        before = studio.files()
        given = studio.client.post("/api/inputs?kind=vectors&name=v.txt", specimens.vectors(".txt")).json[
            "id"
        ]
        opened = [_listen(studio) for _ in range(budget.watchers)]
        served = [(connection, answer) for connection, answer in opened if answer.status == 200]
        refused = [answer for _, answer in opened if answer.status != 200]
        wanted = min(budget.watchers, MOST_LISTENERS)
        findings += [f"{len(served)} are served, expected {wanted}"] * (len(served) != wanted)
        for answer in refused:
            said = answer.read()
            findings += [f"refused with {answer.status} {said[:80]!r}"] * (
                answer.status >= 500 or b"are listening already" not in said
            )
        job = studio.client.post(
            "/api/jobs", {"analysis": "words", "settings": MAP, "inputs": {"vectors": given}}
        ).json["id"]
        with ThreadPoolExecutor(len(served)) as pool:
            told = sum(pool.map(lambda one: _told_of(one[1], job), served))
        findings += [f"{len(served) - told} of {len(served)} were not told how the job ended"] * (
            told != len(served)
        )
        for connection, _ in opened:
            connection.close()
        try:
            wait_until(lambda: studio.files() <= before + 8, 30)
        except AssertionError:
            findings.append(f"{studio.files() - before} connections stay open after all have gone")
        again, answer = _listen(studio)
        findings += [f"a new watcher is answered {answer.status}"] * (answer.status != 200)
        again.close()
        muttered = studio.errors()
        findings += [f"it wrote a traceback: {muttered[-300:]}"] * ("Traceback" in muttered)
    return Row(
        "load",
        f"{MOST_LISTENERS} watchers are told of every job, those beyond are refused, and all can go",
        f"{budget.watchers} watchers at once",
        f"{len(served)} served and {told} told how a job ended, {len(refused)} refused",
        findings,
    )


def _listen(studio: Studio) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", studio.client.port, timeout=60)
    connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {studio.client.key}"})
    return connection, connection.getresponse()


def _told_of(answer: http.client.HTTPResponse, job: str) -> bool:
    """Whether the stream says that the job is done."""
    until = time.monotonic() + 90
    try:
        while time.monotonic() < until and (line := answer.readline()):
            if line.startswith(b"data: "):
                record = json.loads(line[6:])
                if record["id"] == job and record["state"] in ("done", "failed"):
                    return record["state"] == "done"
    except (OSError, http.client.HTTPException):
        pass
    return False


def long(root: Path, budget: Budget) -> Row:
    """Mixed requests of eight users; memory and open files are looked at after a quarter, and at the end."""
    answers, findings, done = Answers(), [], threading.Event()
    with Studio(root) as studio:
        threads = [threading.Thread(target=_user, args=(studio, i, answers, done)) for i in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(budget.load / 4)
        memory, files = studio.memory(), studio.files()
        time.sleep(budget.load * 3 / 4)
        grown, more = studio.memory() - memory, studio.files() - files
        done.set()
        for thread in threads:
            thread.join()
        findings += answers.faults
        findings += [f"it grew by {grown >> 20} MB"] * (grown > 200 << 20)
        findings += [f"it holds {more} more files open"] * (more > 50)
        findings += ["it does not answer at the end"] * (studio.client.get("/api/about").status != 200)
        muttered = studio.errors()
        findings += [f"it wrote a traceback: {muttered[-300:]}"] * ("Traceback" in muttered)
    return Row(
        "load",
        "Under load nothing faults, nothing waits long, and memory and open files do not grow",
        f"{answers.statuses.total():,} mixed requests of 8 users in {budget.load / 60:.2g} minutes",
        f"{answers.told()}; memory {grown / 2**20:+.0f} MB, files {more:+d}",
        findings,
    )


def _user(studio: Studio, number: int, answers: Answers, done: threading.Event) -> None:
    """Uploads, asks, looks, exports, cancels, forgets, in no order."""
    rng, client = random.Random(1000 + number), studio.client
    given: list[str] = []
    jobs: list[str] = []
    turn = 0
    while not done.is_set():
        turn += 1
        what = rng.random()
        if what < 0.1 or not given:
            rows = "".join(
                f"w{i}_{number}_{turn % 50} {rng.random():.3f} {rng.random():.3f}\n" for i in range(12)
            )
            got = answers.ask(
                "upload", lambda rows=rows: client.post("/api/inputs?kind=vectors&name=v.txt", rows.encode())
            )
            if got is not None and got.status == 201:
                given.append(got.json["id"])
        elif what < 0.15:
            body = {"analysis": "words", "settings": MAP, "inputs": {"vectors": rng.choice(given)}}
            got = answers.ask("ask", lambda body=body: client.post("/api/jobs", body))
            if got is not None and got.status in (200, 201):
                jobs.append(got.json["id"])
        elif what < 0.3 and jobs:
            id = rng.choice(jobs)
            answers.ask("view", lambda id=id: client.get(f"/api/jobs/{id}/views/map"))
        elif what < 0.34 and jobs:
            id, format = rng.choice(jobs), rng.choice(("csv", "html", "svg", "parquet"))
            answers.ask(
                "export",
                lambda id=id, format=format: client.get(f"/api/jobs/{id}/export?view=map&format={format}"),
            )
        elif what < 0.36 and jobs:
            id = rng.choice(jobs)
            answers.ask("cancel", lambda id=id: client.post(f"/api/jobs/{id}/cancel"))
        elif what < 0.38 and len(given) > 5:
            id = given.pop(0)
            answers.ask("forget", lambda id=id: client.send("DELETE", f"/api/inputs/{id}"))
        elif what < 0.45:
            answers.ask("bad", lambda: client.post("/api/jobs", b"{nonsense"))
        else:
            path = rng.choice(("/api/about", "/api/jobs", "/api/inputs", "/api/jobs/none", "/nowhere"))
            answers.ask(path, lambda path=path: client.get(path))
        done.wait(0.01)
