"""Requests that make no sense, to a running studio: each is answered in order, and never as a fault."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.attack import specimens
from tests.attack.budget import Budget
from tests.attack.mutations import TEXT, in_json, one_of
from tests.attack.report import Row
from tests.attack.serving import Studio
from tests.attack.targets import TARGETS

UPLOADS = {
    "vectors: word2vec text": "vectors", "vectors: word2vec binary": "vectors", "vectors: npz": "vectors",
    "vectors: safetensors": "vectors", "vectors: Parquet": "vectors", "vectors: gzipped text": "vectors",
    "vectors: CSV": "vectors",
    "word list: CSV": "words", "word list: text": "words", "table: CSV": "table", "table: Parquet": "table",
    "map": "map", "Gaussians": "gaussians", "corpus": "corpus",
}  # fmt: skip
"""The targets whose files are uploaded too, and as what."""


def run(budget: Budget) -> Iterator[Row]:
    """A row for bodies of JSON and one for uploads."""
    with tempfile.TemporaryDirectory() as folder, Studio(Path(folder) / "store") as studio:
        yield bodies(studio, budget)
        yield uploads(studio, budget, Path(folder))


def bodies(studio: Studio, budget: Budget) -> Row:
    """Asks and insertions with damaged settings. Whatever is begun by one is cancelled at once."""
    given = studio.client.post("/api/inputs?kind=vectors&name=v.txt", specimens.vectors(".txt")).json["id"]
    good: list[tuple[str, Any]] = [
        ("/api/insert", {"job": "x", "words": ["tea"], "settings": {"neighbours": 3}}),
        ("/api/insert", {"job": "x", "name": "new", "vector": [1.0, 2.0, 3.0]}),
    ]
    for name, ask in studio.client.get("/api/about").json["analyses"].items():
        settings = {one["name"]: one["default"] for one in ask["settings"]}
        inputs = {one["name"]: given for one in ask["inputs"] if one["kind"] == "vectors"}
        good.append(("/api/jobs", {"analysis": name, "settings": settings, "inputs": inputs}))
    rng, statuses, findings, slowest = random.Random("bodies"), Counter[int](), [], 0.0
    for number in range(budget.bodies):
        path, body = rng.choice(good)
        raw = (
            in_json(rng, json.dumps(body).encode())
            if rng.random() < 0.9
            else one_of(rng, TEXT, json.dumps(body).encode())
        )
        began = time.monotonic()
        got = studio.client.post(path, raw)
        slowest = max(slowest, time.monotonic() - began)
        statuses[got.status] += 1
        if got.status in (200, 201) and path == "/api/jobs":
            studio.client.post(f"/api/jobs/{got.json['id']}/cancel")
        elif got.status >= 500 or set(got.json.get("error", {})) != {"code", "message", "hint"}:
            findings.append(f"body {number} to {path}: {got.status} {got.body[:160]!r} of {raw[:120]!r}")
    state = _asked_at_last(studio, given)
    findings += [f"a good job that is asked for afterwards is {state}"] * (state != "done")
    muttered = studio.errors()
    findings += [f"it wrote a traceback: {muttered[-300:]}"] * ("Traceback" in muttered)
    findings += [f"an answer took {slowest:.1f} s"] * (slowest > 10)
    return Row(
        "requests",
        "A request that makes no sense is refused in the one shape, never as a fault, and good ones go on",
        f"{budget.bodies:,} damaged bodies",
        f"{_listed(statuses)}; slowest {slowest:.2f} s; then a good job is {state}",
        findings,
    )


def _asked_at_last(studio: Studio, given: str) -> str:
    """How a good job stands that is asked for when all was cancelled, at the latest after two minutes."""
    settings = {"steps": 40, "perplexity": 2.0, "restarts": 1}
    body = {"analysis": "words", "settings": settings, "inputs": {"vectors": given}}
    id = studio.client.post("/api/jobs", body).json["id"]
    until = time.monotonic() + 120
    while (state := studio.client.get(f"/api/jobs/{id}").json["state"]) in ("queued", "running"):
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return state


def uploads(studio: Studio, budget: Budget, folder: Path) -> Row:
    """The mutants of the readers, uploaded: no fault, no path of the store in an answer, no growth."""
    targets = [one for one in TARGETS if one.name in UPLOADS]
    each = max(budget.bodies // (3 * len(targets)), 2)
    before, statuses, findings, slowest = studio.memory(), Counter[int](), [], 0.0
    for target in targets:
        for seed in range(each):
            files, _ = target.mutant(10_000 + seed)
            name, data = next(iter(files.items()))
            assert isinstance(data, bytes)
            if not data:
                continue
            began = time.monotonic()
            got = studio.client.post(f"/api/inputs?kind={UPLOADS[target.name]}&name={name}", data)
            slowest = max(slowest, time.monotonic() - began)
            statuses[got.status] += 1
            where = f"upload (--replay '{target.name}' {10_000 + seed})"
            if got.status >= 500:
                findings.append(f"{where}: {got.status} {got.body[:200]!r}")
            elif str(folder).encode() in got.body:
                findings.append(f"{where}: names the store's path: {got.body[:200]!r}")
    grown = studio.memory() - before
    findings += [f"the studio grew by {grown >> 20} MB"] * (grown > 200 << 20)
    return Row(
        "requests",
        "A damaged file that is uploaded is refused or taken, never a fault, and no path is told",
        f"{statuses.total():,} uploads of {len(targets)} kinds of files",
        f"{_listed(statuses)}; slowest {slowest:.2f} s, the studio grew by {max(grown, 0) >> 20} MB",
        findings,
    )


def _listed(statuses: Counter[int]) -> str:
    return ", ".join(f"{count:,} × {status}" for status, count in sorted(statuses.items()))
