"""Is the time left that the studio tells right? `python -m bench.time_left` watches three jobs.

Every half second the job's `left` is read; when it is done, each is set against the time truly left. Printed
are the middle and the worst ratio from the first tenth of the job on, leaving out its last two seconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.studio import Server
from langscape.sources import samples

Told = list[tuple[float, float, str]]
"""Seconds since the beginning, seconds told to be left, what was being done; the whole time comes last."""


def watched(server: Server, analysis: str, settings: dict[str, Any], inputs: dict[str, str]) -> Told:
    """What the studio told while a job ran."""
    body = json.dumps({"analysis": analysis, "settings": settings, "inputs": inputs}).encode()
    job = server.ask("api/jobs", body)
    while job["state"] == "queued":
        time.sleep(0.1)
        job = server.ask(f"api/jobs/{job['id']}")
    begun, told = time.monotonic(), []
    while job["state"] == "running":
        if job["left"] is not None:
            told.append((time.monotonic() - begun, float(job["left"]), job["doing"]))
        time.sleep(0.5)
        job = server.ask(f"api/jobs/{job['id']}")
    if job["state"] != "done":
        raise SystemExit(f"{analysis}: {job['state']}: {job['error']}")
    return [*told, (time.monotonic() - begun, 0.0, "")]


def report(name: str, told: Told) -> str:
    """A row of the table."""
    *told, (whole, _, _) = told
    ratios = {
        at: (left / (whole - at), doing)
        for at, left, doing in told
        if at >= whole / 10 and whole - at >= 2 and left > 0
    }
    if not ratios:
        return f"| {name} | {whole:.0f} s | none told |"
    values = [ratio for ratio, _ in ratios.values()]
    worst = max(ratios, key=lambda at: abs(np.log(ratios[at][0])))
    within = np.mean([0.5 <= value <= 2 for value in values])
    said = f"{ratios[worst][0]:.2f} after {worst:.0f} s ({ratios[worst][1]})"
    middle = f"{statistics.median(values):.2f}"
    return f"| {name} | {whole:.0f} s | {middle} | {said} | {within:.0%} of {len(values)} |"


def main() -> None:
    """The three jobs."""
    options = argparse.ArgumentParser(prog="python -m bench.time_left", description=__doc__)
    options.add_argument("--words", type=int, default=20_000)
    asked = options.parse_args()
    store = Path(tempfile.mkdtemp())
    server = Server(store)
    try:
        while any(job["state"] in ("queued", "running") for job in server.ask("api/jobs")["jobs"]):
            time.sleep(0.5)
        text = " ".join(samples.text("orchard").split()[:120])
        given = server.ask("api/inputs?kind=text&name=own.txt", text.encode())["id"]
        rng = np.random.default_rng(0)
        X = 3 * rng.normal(size=(60, 50))[rng.integers(60, size=asked.words)]
        X += rng.normal(size=X.shape)
        rows = "\n".join(f"w{i} " + " ".join(f"{one:.3f}" for one in x) for i, x in enumerate(X))
        vectors = server.ask("api/inputs?kind=vectors&name=many.txt", rows.encode())["id"]
        jobs = {
            "atlas of the decoder": ("atlas", {"model": "decoder"}, {"text": given}),
            "queries and keys of every head": ("query_key.grid", {"tokens": 600}, {"text": "sample-harbour"}),
            f"{asked.words:,} words": ("words", {}, {"vectors": vectors}),
        }
        print("| job | took | told ÷ true, middle | worst | within a factor of two |")
        print("| --- | --- | --- | --- | --- |")
        for name, job in jobs.items():
            print(report(name, watched(server, *job)), flush=True)
    finally:
        server.stop()
        shutil.rmtree(store, ignore_errors=True)


if __name__ == "__main__":
    main()
