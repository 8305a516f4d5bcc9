"""What is written down of a job: its name, its record, whether its result is still to be had."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from langscape.declarations import Analysis
from langscape.errors import LangscapeError
from langscape.models.catalog import CATALOG
from langscape.store import Recipe, Store
from langscape.store.recipe import canonical
from langscape.store.registry import find_step
from langscape.studio.forms import GivenInput, title_of


def job_id(analysis: Analysis, recipe: Recipe) -> str:
    """The same question has the same name, forever; a corrected step makes it another one."""

    def versions(one: Recipe) -> list[Any]:
        return [one.step, find_step(one.step).version, *(versions(need) for need in one.needs())]

    contents = canonical([analysis.name, recipe.to_json(), versions(recipe)])
    return f"{analysis.name}-{hashlib.sha256(contents.encode()).hexdigest()[:20]}"


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


class Clock:
    """How long a job has taken, and how long the thing it is doing will still take."""

    def __init__(self) -> None:
        self._begun = self._since = time.monotonic()
        self._doing = ""
        self._from = 0

    def at(self, step: Mapping[str, Any]) -> tuple[float, float | None]:
        """Seconds so far, and seconds left of what is being done now, once it can be said.

        When all of it is done something else follows, which nobody has timed yet.
        """
        now = time.monotonic()
        done, total = step["done"], step["total"]
        if step["doing"] != self._doing or done < self._from:
            self._doing, self._since, self._from = step["doing"], now, done
        passed, advanced = now - self._since, done - self._from
        left = passed * (total - done) / advanced if advanced > 0 and total > done else None
        return round(now - self._begun, 2), None if left is None else round(left, 1)


def _sources(recipe: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name, value in recipe["inputs"].items():
        found += _sources(value) if isinstance(value, Mapping) else [(name, str(value))]
    return found
