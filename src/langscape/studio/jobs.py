"""Questions as jobs: each a recipe, done once, told as it goes, and there again after any restart.

The list of jobs is in the store's index, so that several studios may share a store: each job has an
owner, who computes it; the others show it. The jobs of an owner who is gone are taken over. An owner is
there as long as it holds its lock, and a lock ends with its process.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from langscape.data import Progress, Step
from langscape.declarations import Analysis
from langscape.declarations.validation import check_settings
from langscape.errors import LangscapeError
from langscape.execution.pool import Pool, cores
from langscape.store import Store, locks
from langscape.store.manifest import Entry
from langscape.studio.forms import OFFERED, GivenInput, offered, recipe_of, title_of
from langscape.studio.problem import Problem, problem_named
from langscape.studio.record import (
    Clock,
    earlier_parts,
    error_in_names,
    is_current,
    is_there,
    job_id,
    new_record,
    record_text,
)

LIVE = ("queued", "running")
TRIES = 2
"""How often a job may lose its worker before it counts as failed."""

KEPT = 500
"""Jobs that are listed; beyond, the oldest that have ended are taken off the list (results stay)."""

_BLANK = {"needs": {}, "background": False, "named": False, "parts": []}
_OUTDATED = Problem("gone", "this was made by an earlier version of langscape", "Run it again.")
"""What a finished job shows whose steps have changed since: its pictures are those of another formula."""
_PRIVATE = ("recipe", "needs", "background", "named", "owner", "parts")


class Jobs:
    """The jobs of one store, as this studio sees and does them.

    `tell` is called with a job's record whenever it changes, from any thread.
    """

    def __init__(
        self, store: Store, tell: Callable[[Mapping[str, Any]], None], *, workers: int = 2, warm: str = ""
    ) -> None:
        self.store = store
        self.owner = secrets.token_hex(6)
        self._tell = tell
        self._mutex = threading.RLock()
        self._records: dict[str, dict[str, Any]] = {}
        self._queue: list[str] = []
        self._removed: dict[str, dict[str, Any]] = {}
        self._tries: dict[str, int] = {}
        self._clocks: dict[str, Clock] = {}
        self._saved: dict[str, float] = {}
        self._seen = 0.0
        self._stop = threading.Event()
        self._held = contextlib.ExitStack()
        self._held.enter_context(locks.held(self._lock(self.owner)))
        self._look()
        self._adopt()
        modules = ("langscape.declarations.running",)
        self.pool = Pool(
            store, modules, workers, threads=max(1, cores() // workers), warm=warm, speaking_to="studio"
        )
        self._thread = threading.Thread(target=self._run, name="studio jobs", daemon=True)
        self._thread.start()

    def request(
        self, name: object, settings: Any, inputs: Mapping[str, GivenInput], *, first: bool = True
    ) -> tuple[dict[str, Any], bool]:
        """The job of this question, and whether it is new: begun if nobody has, or if it failed.

        Jobs that somebody waits for go `first`, before those that nobody asked for yet.
        """
        analysis = offered(name)
        complete = check_settings(analysis.signature.settings, settings, analysis.name)
        recipe = recipe_of(analysis, complete, inputs, self.store)
        id = job_id(analysis, recipe)
        with self._mutex:
            if id not in self._records:
                self._look()
            if id not in self._records:
                self._bring_back(id)
            known = self._records.get(id)
            if known is not None and (known["state"] in LIVE or is_there(self.store, known)):
                # models and inputs may be called otherwise by now
                if not known["named"]:
                    known["title"] = title_of(analysis, complete, inputs)
                if first and known["background"] and id in self._queue:
                    self._move_up(known, self._first_place())
                return self._shown(known), False
            record = new_record(analysis, complete, recipe, inputs, self.owner, background=not first)
            if known is not None:
                record["made"] = known["made"]
                if known["named"]:
                    record |= {"title": known["title"], "named": True}
            if not self.store.index.claim_job(id, self.owner, record_text(record)):
                self._look()  # another studio was first
                return self._shown(self._find(id)), False
            self.store.clear_cancel(id)
            self._records[id] = record
            self._queue.insert(self._first_place() if first else len(self._queue), id)
        self._say(record)
        self.pool.wake()
        return self._shown(record), known is None

    def all(self) -> list[dict[str, Any]]:
        """Every job, the latest first."""
        with self._mutex:
            records = sorted(self._records.values(), key=lambda one: one["made"], reverse=True)
            return [self._shown(record) for record in records]

    def now(self) -> list[dict[str, Any]]:
        """What a page that begins to listen is told: the live jobs and the latest."""
        return [one for at, one in enumerate(self.all()) if at < 50 or one["state"] in LIVE][::-1]

    def get(self, id: str) -> dict[str, Any]:
        """The job of that id."""
        with self._mutex:
            return self._shown(self._find(id))

    def look_at(self, id: str) -> dict[str, Any]:
        """Somebody looks at it now: where it waits, it comes next."""
        with self._mutex:
            record = self._find(id)
            if id in self._queue:
                self._move_up(record, 0)
            return self._shown(record)

    def cancel(self, id: str) -> dict[str, Any]:
        """End it now if it is ours, else ask its owner to."""
        with self._mutex:
            record = self._find(id)
            if record["state"] in LIVE:
                if record["owner"] == self.owner:
                    self._end(record)
                else:
                    self.store.cancel(id)
            return self._shown(record)

    def rename(self, id: str, title: str) -> dict[str, Any]:
        """Call it otherwise; without a title it is called by what it computes again."""
        with self._mutex:
            record = self._find(id)
            changed = {**record, "title": title or _usual_title(record), "named": bool(title)}
            self._write_title(record, changed)
            return self._shown(record)

    def rename_input(self, id: str, name: str) -> None:
        """An input is called otherwise: so are the jobs that are named by it."""
        with self._mutex:
            for record in list(self._records.values()):
                if all(one["id"] != id for one in record["inputs"].values()):
                    continue
                inputs = {
                    key: {**one, "name": name} if one["id"] == id else one
                    for key, one in record["inputs"].items()
                }
                changed = {**record, "inputs": inputs}
                if not record["named"]:
                    changed["title"] = _usual_title(changed)
                with contextlib.suppress(Problem):  # another studio is at it, and names it when it is done
                    self._write_title(record, changed)

    def _write_title(self, record: dict[str, Any], changed: dict[str, Any]) -> None:
        if record["owner"] != self.owner and not self.store.index.rename_job(
            record["id"], record_text(changed)
        ):
            raise Problem(
                "not_ready",
                f"{record['title']} is computed by another studio",
                "Rename it when it is done.",
            )
        record |= changed
        if record["owner"] == self.owner:
            self._save(record)
        self._say(record)

    def forget(self, id: str) -> None:
        """Cancel it, and take it off the list; its result stays in the store. Asked again, it comes back."""
        with self._mutex:
            record = self._find(id)
            self.cancel(id)
            if record["state"] == "done":
                self._removed[id] = record
                while len(self._removed) > KEPT:
                    self._removed.pop(next(iter(self._removed)))
            self.store.index.forget_job(id)
            self._drop(id)

    def entry(self, id: str) -> tuple[dict[str, Any], Entry]:
        """A finished job and its result in the store."""
        with self._mutex:
            record = self._find(id)
        if record["state"] != "done":
            raise Problem(
                "not_ready", f"{record['title']} is {record['state']}, not done", "Wait, or ask again."
            )
        entry = self.store.entry(record["digest"])
        if entry is None:
            raise Problem(
                "gone", f"the result of {record['title']} is not in the store any more", "Ask again."
            )
        return record, entry

    def close(self) -> None:
        """Stop; what was not finished is there for whoever comes next."""
        self._stop.set()
        self.pool.wake()
        self._thread.join(timeout=10)
        self.pool.stop()
        with self._mutex:
            for record in self._records.values():
                if record["owner"] == self.owner and record["state"] == "running":
                    record |= {"state": "queued", "doing": "", "done": 0, "total": 0, "left": None}
                    with contextlib.suppress(LangscapeError):
                        self._save(record)
        self._held.close()

    def _run(self) -> None:
        next_look = next_adopt = 0.0
        while not self._stop.is_set():
            now = time.monotonic()
            for message in self.pool.wait(0.2):
                # a disk that is full must not silence a job: the page is told before it is written down
                with contextlib.suppress(LangscapeError):
                    self._heard(message)
            try:
                self._dispatch()
                if now >= next_look:
                    next_look = now + 0.5
                    self._look()
                    self._obey()
                if now >= next_adopt:
                    next_adopt = now + 3.0
                    self._adopt()
                    self._tidy()
            except LangscapeError:
                # A disk that is full or an index that is busy: jobs go on, and it is tried again.
                self._stop.wait(1.0)

    def _dispatch(self) -> None:
        with self._mutex:
            while self.pool.free() and (id := self._next()) is not None:
                self._queue.remove(id)
                record = self._records.get(id)
                if record is None or record["state"] != "queued" or record["owner"] != self.owner:
                    continue
                record |= {"state": "running", "doing": "a worker is getting ready", "error": None}
                follows = OFFERED[record["analysis"]].follows
                self._clocks[id] = Clock(earlier_parts(record, self._records.values()), follows)
                self.pool.send([{"key": id, "recipe": record["recipe"]}])
                self._save(record)
                self._say(record)
            if self._queue and self.pool.error is not None:
                record = self._records[self._queue.pop(0)]
                self._finish(record, "failed", problem_named("Exception", str(self.pool.error)))

    def _next(self) -> str | None:
        """The job to begin now. What nobody waits for leaves one worker to who comes meanwhile."""
        at_it = sum(one["state"] == "running" and one["background"] for one in self._records.values())
        room = at_it < max(1, len(self.pool.pids) - 1)
        return next((id for id in self._queue if room or not self._records[id]["background"]), None)

    def _heard(self, message: Mapping[str, Any]) -> None:
        key = message["key"]
        with self._mutex:
            record = self._records.get(key)
            if record is None or record["state"] != "running" or record["owner"] != self.owner:
                return
            clock = self._clocks.setdefault(key, Clock())
            if "step" in message:
                record |= message["step"]
                record["seconds"], record["left"] = clock.at(message["step"])
                self._say(record)
                if time.monotonic() - self._saved.get(key, 0.0) > 1.0:
                    self._save(record)
            elif "digest" in message:
                record |= {"digest": message["digest"], "needs": message["needs"]}
            elif message["state"] == "done":
                record |= {"seconds": message["seconds"], "parts": clock.parts()}
                self._finish(record, "done")
            elif message["state"] in ("lost", "back"):
                self._tries[key] = self._tries.get(key, 0) + (message["state"] == "lost")
                if self._tries[key] < TRIES:
                    record |= {"state": "queued", "doing": "its worker ended; another takes it", "left": None}
                    self._queue.insert(0, key)
                    self._say(record)
                    self._save(record)
                else:
                    self._tries.pop(key)
                    self._finish(record, "failed", problem_named("Lost", message["error"]))
            else:
                self._finish(
                    record,
                    "failed",
                    problem_named(message["kind"], error_in_names(self.store, record, message)),
                )

    def _finish(self, record: dict[str, Any], state: str, problem: Problem | None = None) -> None:
        done = record["total"] if state == "done" else record["done"]
        record |= {"state": state, "done": done, "left": None, "doing": "", "error": None}
        if problem is not None:
            record["error"] = problem.to_json()["error"]
        self._say(record)
        self._save(record)

    def _end(self, record: dict[str, Any]) -> None:
        """Cancel a job of ours."""
        if record["id"] in self._queue:
            self._queue.remove(record["id"])
        self.pool.cancel(record["id"])
        self._finish(record, "cancelled")
        self.store.clear_cancel(record["id"])
        self.pool.wake()

    def _obey(self) -> None:
        """Cancel what another studio asked us to."""
        with self._mutex:
            for record in list(self._records.values()):
                mine = record["owner"] == self.owner and record["state"] in LIVE
                if mine and self.store.is_cancelled(record["id"]):
                    self._end(record)

    def _look(self) -> None:
        """Take in what other studios have changed."""
        with self._mutex:
            # Clocks of writers differ by less than a second on one machine; what is seen twice does no harm.
            rows = self.store.index.jobs(self._seen - 2.0)
            for row in rows:
                self._seen = max(self._seen, row["changed"])
                if row["owner"] == self.owner and row["id"] in self._records:
                    continue
                record = {**_BLANK, **json.loads(row["record"])}
                record |= {"owner": row["owner"], "state": row["state"], "made": row["made"]}
                if record.get("analysis") not in OFFERED:
                    continue  # of another langscape
                if record["state"] == "done" and not is_current(record):
                    record |= {"state": "failed", "error": _OUTDATED.to_json()["error"]}
                if self._records.get(row["id"]) != record:
                    self._records[row["id"]] = record
                    self._say(record, changed=False)
            there = self.store.index.job_ids()
            for id in [id for id in self._records if id not in there]:
                if self._records[id]["owner"] == self.owner:
                    self.pool.cancel(id)
                self._drop(id)

    def _adopt(self) -> None:
        """Go on with the jobs of studios that are gone."""
        with self._mutex:
            for record in sorted(self._records.values(), key=lambda one: one["made"]):
                if record["state"] not in LIVE or record["owner"] == self.owner:
                    continue
                if locks.is_free(self._lock(record["owner"])):
                    if self.store.index.adopt_job(record["id"], record["owner"], self.owner):
                        record |= {"owner": self.owner, "state": "queued", "doing": "", "left": None}
                        self._queue.append(record["id"])
                        self._save(record)
                        self._say(record)
                    else:
                        self._look()
                        return

    def _tidy(self) -> None:
        with self._mutex:
            ended = [one for one in self._records.values() if one["state"] not in LIVE]
            for record in sorted(ended, key=lambda one: one["changed"])[: max(0, len(ended) - KEPT)]:
                self.store.index.forget_job(record["id"])
                self._drop(record["id"])

    def _bring_back(self, id: str) -> None:
        """List a finished job that was removed under its own name and date, if its result is still there."""
        record = self._removed.pop(id, None)
        if record is None or not is_there(self.store, record):
            return
        record["owner"] = self.owner
        if self.store.index.claim_job(id, self.owner, record_text(record)):
            self._records[id] = record
            self._save(record)
            self._say(record)

    def _drop(self, id: str) -> None:
        self._records.pop(id, None)
        if id in self._queue:
            self._queue.remove(id)
        self._tell({"id": id, "state": "deleted"})

    def _find(self, id: str) -> dict[str, Any]:
        if id not in self._records:
            raise Problem("not_found", f"there is no job {id[:80]!r}", "It may have been deleted; ask again.")
        return self._records[id]

    def _move_up(self, record: dict[str, Any], place: int) -> None:
        """Somebody waits for it."""
        record["background"] = False
        self._queue.remove(record["id"])
        self._queue.insert(place, record["id"])
        self.pool.wake()

    def _first_place(self) -> int:
        """Behind those who wait, before what nobody waits for."""
        return sum(not self._records[id]["background"] for id in self._queue)

    def _save(self, record: dict[str, Any]) -> None:
        record["changed"] = time.time()
        self._saved[record["id"]] = time.monotonic()
        self.store.index.change_job(record["id"], self.owner, record["state"], record_text(record))

    def _say(self, record: dict[str, Any], *, changed: bool = True) -> None:
        if changed:
            record["changed"] = time.time()
        self._tell(self._shown(record))

    def _shown(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """A record as the page gets it."""
        out = {name: value for name, value in record.items() if name not in _PRIVATE}
        out["here"] = record["owner"] == self.owner
        if out["left"] is not None and (clock := self._clocks.get(record["id"])) is not None:
            out["left"] = clock.still(out["left"])
        out["views"] = [picture.name for picture in OFFERED[record["analysis"]].pictures]
        return out

    def _lock(self, owner: str) -> Any:
        return self.store.root / "locks" / f"studio-{owner}"


def _usual_title(record: Mapping[str, Any]) -> str:
    names = {key: one["name"] for key, one in record["inputs"].items()}
    return OFFERED[record["analysis"]].called(record["settings"], names)


def do_now(
    store: Store, analysis: Analysis, settings: Any, inputs: Mapping[str, GivenInput], progress: Progress
) -> float | None:
    """Do a job in this process and write it down as done, so that a studio has it from its first moment.

    Gives the seconds that it took, None where the result was there.
    """
    complete = check_settings(analysis.signature.settings, settings, analysis.name)
    recipe = recipe_of(analysis, complete, inputs, store)
    named = store.name(recipe)
    is_there = store.entry(named.digest) is not None
    clock = Clock()

    def timed(step: Step) -> None:
        clock.at({"done": step.done, "total": step.total, "doing": step.doing})
        progress(step)

    entry = store.make(named, timed)
    record = new_record(analysis, complete, recipe, inputs, "", background=True)
    record |= {"state": "done", "digest": named.digest, "needs": named.digests(), "seconds": entry.seconds}
    record["parts"] = clock.parts()
    if store.index.claim_job(record["id"], "", record_text(record)):
        store.index.change_job(record["id"], "", "done", record_text(record))
    return None if is_there else entry.seconds
