"""A real studio on loopback, in this process or in one of its own that can be killed."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Match

# map_settings must be importable by name
sys.path.insert(0, os.path.dirname(__file__))

from langscape.sources import samples, write_vectors
from langscape.store import Store
from langscape.studio.access import Access
from langscape.studio.app import application, studio
from langscape.studio.bodies import ErrorBody
from langscape.studio.events import Events
from langscape.studio.problem import STATUS
from langscape.studio.serve import Server, bind, config

ROUTES = [
    one
    for one in application({"events": Events(list)}, lambda problem: problem).routes
    if isinstance(one, APIRoute)
]


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, str]:
        found = self.json
        assert set(found) == {"error"}
        assert set(found["error"]) == {"code", "message", "hint"}
        return found["error"]


def hold_to_model(method: str, path: str, got: Answer) -> None:
    """Every answer is what the OpenAPI document promises of its route."""
    if got.headers.get("content-type") != "application/json" or path == "/api/openapi.json":
        return
    if got.status >= 400:
        told = ErrorBody.model_validate_json(got.body).error
        assert STATUS[told.code] == got.status
        return
    scope = {"type": "http", "method": method, "path": path.partition("?")[0], "headers": []}
    route = next(one for one in ROUTES if one.matches(scope)[0] is Match.FULL)
    assert route.response_model is not None, path
    route.response_model.model_validate_json(got.body)


class Client:
    """Asks one studio, as a program would: with its key, or with what it is told to send instead."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        sent = {"Authorization": f"Bearer {self.key}"} if headers is None else dict(headers)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if data is not None:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            headers_got = {name.lower(): value for name, value in answer.getheaders()}
            got = Answer(answer.status, headers_got, answer.read())
            hold_to_model(method, path, got)
            return got
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Answer:
        return self.send("GET", path, **more)

    def post(self, path: str, body: Any = b"", **more: Any) -> Answer:
        return self.send("POST", path, body, **more)

    def ask(self, ask: str, settings: dict[str, Any], **inputs: str) -> dict[str, Any]:
        got = self.post("/api/jobs", {"analysis": ask, "settings": settings, "inputs": inputs})
        assert got.status in (200, 201), got.body
        return got.json

    def wait(self, id: str, *states: str, seconds: float = 120) -> dict[str, Any]:
        """The job once it is in one of the states; done if none is named."""
        until = time.monotonic() + seconds
        while True:
            record = self.get(f"/api/jobs/{id}").json
            if record["state"] in (states or ("done",)):
                return record
            assert states or record["state"] != "failed", record["error"]
            assert time.monotonic() < until, record
            time.sleep(0.03)

    def arrays(self, view: dict[str, Any]) -> dict[str, np.ndarray]:
        """The arrays of a view, fetched."""
        out = {}
        for name, one in view["arrays"].items():
            raw = self.get(one["url"]).body
            out[name] = np.frombuffer(raw, np.dtype(one["dtype"]).newbyteorder("<")).reshape(one["shape"])
        return out

    def listen(self, seconds: float = 20) -> Any:
        """The records that the stream of events brings."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {self.key}"})
        answer = connection.getresponse()
        assert answer.getheader("content-type") == "text/event-stream"
        try:
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()


class Running:
    """A studio in a thread of this process."""

    def __init__(self, store: Store, workers: int = 1) -> None:
        self._bound = bind("127.0.0.1", 0, 1)
        self.access = Access("127.0.0.1", self._bound.getsockname()[1])
        app = studio(store, self.access, workers=workers, warm="", examples=False)
        self._parts = app.parts
        self._server = Server(config(app), app)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._bound]})
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)
        self.client = Client(self.access.port, self.access.bearer)

    @property
    def jobs(self) -> Any:
        return self._parts["jobs"]

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._bound.close()


@pytest.fixture(scope="session")
def held(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("studio") / "store")


@pytest.fixture(scope="session")
def running(held: Store) -> Any:
    """One studio for all tests that do not break it."""
    one = Running(held)
    yield one
    one.stop()


@pytest.fixture
def client(running: Running) -> Client:
    return running.client


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of 80 sample words with vectors."""
    path = tmp_path_factory.mktemp("vectors") / "few.txt"
    write_vectors(path, samples.words().rows(range(100, 180)))
    return path.read_bytes()


@pytest.fixture
def vectors(client: Client, few: bytes) -> str:
    """The same, given to the studio."""
    return client.post("/api/inputs?kind=vectors&name=few.txt", few).json["id"]


class Apart:
    """A studio in a process of its own, started as the command line does."""

    def __init__(self, store: Path, port: int = 0, stderr: Any = subprocess.PIPE) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "drive_studio.py"), str(store), str(port)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.port = int(self.address.removeprefix("http://127.0.0.1:").split("/")[0])
        self.client = Client(self.port, (store / "studio" / f"{self.port}.key").read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> str:
        """End it in order; what it wrote to the terminal as errors comes back."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=30)[1]


@pytest.fixture
def start_apart(tmp_path: Path) -> Any:
    """Starts studios over one store; those still running at the end are killed."""
    started: list[Apart] = []

    def start(port: int = 0) -> Apart:
        started.append(Apart(tmp_path / "store", port))
        return started[-1]

    yield start
    for one in started:
        one.kill()
