"""What is written down of a job: its name, its record, whether its result is still to be had."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langscape.declarations import Analysis
from langscape.errors import LangscapeError
from langscape.models.catalog import CATALOG
from langscape.store import Recipe, Store
from langscape.store.recipe import canonical
from langscape.store.registry import find_step
from langscape.studio.forms import OFFERED, GivenInput, title_of


def job_id(analysis: Analysis, recipe: Recipe) -> str:
    """The same question has the same name, forever; a corrected step makes it another one."""

    def versions(one: Recipe) -> list[Any]:
        return [one.step, find_step(one.step).version, *(versions(need) for need in one.needs())]

    contents = canonical([analysis.name, recipe.to_json(), versions(recipe)])
    return f"{analysis.name}-{hashlib.sha256(contents.encode()).hexdigest()[:20]}"


def is_current(record: Mapping[str, Any]) -> bool:
    """Whether the same question would still have the same name: no step of it has been corrected since."""
    try:
        return job_id(OFFERED[record["analysis"]], Recipe.from_json(record["recipe"])) == record["id"]
    except LangscapeError:
        return False


def new_record(
    analysis: Analysis,
    settings: Mapping[str, Any],
    recipe: Recipe,
    inputs: Mapping[str, GivenInput],
    owner: str,
    *,
    background: bool = False,
) -> dict[str, Any]:
    """A job that has just been asked for."""
    now = time.time()
    return {
        "id": job_id(analysis, recipe),
        "analysis": analysis.name,
        "title": title_of(analysis, settings, inputs),
        "state": "queued",
        "doing": "",
        "done": 0,
        "total": 0,
        "figures": {},
        "counts": True,
        "seconds": 0.0,
        "left": None,
        "settings": dict(settings),
        "inputs": {key: {"id": one.id, "name": one.name} for key, one in inputs.items()},
        "digest": None,
        "error": None,
        "made": now,
        "changed": now,
        "owner": owner,
        "recipe": recipe.to_json(),
        "needs": {},
        "background": background,
        "named": False,
        "parts": [],
    }


def record_text(record: Mapping[str, Any]) -> str:
    """A record as the index keeps it."""
    return json.dumps({name: value for name, value in record.items() if name != "owner"})


def is_there(store: Store, record: Mapping[str, Any]) -> bool:
    """Whether a job is done and its result can be had. Models of the user's own may change."""
    if record["state"] != "done" or record["digest"] is None:
        return False
    for name in ("model", "other_model"):
        model = record["settings"].get(name)
        if model is not None and model not in CATALOG:
            return False
    taken = {name for name, one in record["recipe"]["inputs"].items() if isinstance(one, Mapping)}
    if set(record["needs"]) != taken:
        return False
    wanted = [record["digest"], *(need["digest"] for need in record["needs"].values())]
    return all(store.entry(digest) is not None for digest in wanted)


def error_in_names(store: Store, record: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    """What went wrong, with the names that the user gave instead of the store's paths."""
    message_text = str(message["error"])
    for name, source in _sources(record["recipe"]):
        given = record["inputs"].get(name, {}).get("name", name)
        if source.startswith("sha256:"):
            with contextlib.suppress(LangscapeError):
                message_text = message_text.replace(str(store.kept(source)), given)
            message_text = message_text.replace(source, given)
        else:
            message_text = message_text.replace(source, given)
    return message_text.replace(str(store.root), "the store")


Parts = Sequence[Sequence[Any]]
"""What a job did one after the other, and how many seconds each took; what comes before the first is ""."""


ALIKE = 4.0
"""How many times as fast or slow a job may be as an earlier one that tells how long its rest takes: parts of
a map of 600 words say nothing of one of 20,000."""


OPENING = ("", "looking at model and inputs")
"""Parts that say nothing of how fast the others are: a model that is open already is not opened again."""


def earlier_parts(record: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> Parts:
    """What the latest finished job of the same analysis and model did.

    Of another model nothing is taken: after the heads of MiniLM-L6 are scored nothing is left to do, and of
    a decoder a third of the job is.
    """
    alike = [
        one
        for one in records
        if one["analysis"] == record["analysis"]
        and one["settings"].get("model") == record["settings"].get("model")
        and one["state"] == "done"
        and len(one["parts"]) > 1
    ]
    return max(alike, key=lambda one: one["changed"])["parts"] if alike else ()


class Clock:
    """How long a job has taken, and how long it will still take.

    earlier is what a job of the same kind did (`earlier_parts`): what is not begun yet is taken to last as
    long as it did then, times how much slower or faster this job is so far. Without it, `follows` says how
    long what comes after a part takes, as a multiple of it; where that is not known either, only what is
    being done now can be told.
    """

    def __init__(self, earlier: Parts = (), follows: Mapping[str, float] | None = None) -> None:
        self._begun = self._since = time.monotonic()
        self._doing = ""
        self._from = 0
        self._starts = [("", self._begun)]
        self._full: float | None = None
        self._follows = follows or {}
        self._told, self._end = self._begun, math.inf
        self._earlier = [(str(doing), float(seconds)) for doing, seconds in earlier]

    def at(self, step: Mapping[str, Any]) -> tuple[float, float | None]:
        """Seconds so far, and seconds left, once that can be said."""
        now = time.monotonic()
        done, total = step["done"], step["total"]
        if step["doing"] != self._doing:
            self._starts.append((step["doing"], now))
        self._full = now if done >= total else None
        if step["doing"] != self._doing or done < self._from:
            self._doing, self._since, self._from = step["doing"], now, done
        passed, advanced = now - self._since, done - self._from
        left = passed * (total - done) / advanced if advanced > 0 and total > done else None
        left = self._with_later(left, now, done / total if total else 0.0)
        self._told = now
        return round(now - self._begun, 2), None if left is None else round(left, 1)

    def still(self, left: float) -> float:
        """What is left now of what was told to be left with the last step."""
        return round(max(left - (time.monotonic() - self._told), min(left, 1.0)), 1)

    def parts(self) -> list[list[Any]]:
        """What was done so far, and for how long; what followed the last of it without a word is "" again."""
        starts = [*self._starts, *([("", self._full)] if self._full is not None else [])]
        ends = [*(start for _, start in starts[1:]), time.monotonic()]
        each = zip(starts, ends, strict=True)
        return [[doing, round(end - start, 2)] for (doing, start), end in each]

    def _passed(self, now: float) -> list[tuple[str, float]]:
        ends = [*(start for _, start in self._starts[1:]), now]
        return [(doing, end - start) for (doing, start), end in zip(self._starts, ends, strict=True)]

    def _with_later(self, left: float | None, now: float, share: float) -> float | None:
        """What is left of the whole job, from what is left of this part of it."""
        places = [at for at, (doing, _) in enumerate(self._earlier) if doing == self._doing]
        if not places:
            return self._with_following(left, now)
        at = next((place for place in places if place >= len(self._starts) - 1), places[-1])
        seconds = [one for _, one in self._earlier]
        before = sum(one for doing, one in self._earlier[:at] if doing not in OPENING) + share * seconds[at]
        passed = sum(one for doing, one in self._passed(now) if doing not in OPENING)
        if before == 0 or passed == 0:
            before, passed = sum(seconds[:at]) + share * seconds[at], now - self._begun
        slower = passed / before if before > 0 else 1.0
        if not 1 / ALIKE <= slower <= ALIKE:
            return self._with_following(left, now)
        here = slower * (1 - share) * seconds[at] if left is None else left
        whole = here + slower * sum(seconds[at + 1 :])
        return whole if whole > 0 else None

    def _with_following(self, left: float | None, now: float) -> float | None:
        """The same without an earlier job: what follows is so many times what this part of it takes."""
        if (times := self._follows.get(self._doing)) is not None and (left is not None or self._full == now):
            rest = (left or 0.0) + times * (now - self._since + (left or 0.0))
            self._end = now + rest
            return rest
        if left is None and self._end < math.inf:
            return max(self._end - now, 1.0)
        return left


def _sources(recipe: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name, value in recipe["inputs"].items():
        found += _sources(value) if isinstance(value, Mapping) else [(name, str(value))]
    return found
