"""Hands mutants to children and collects what came of each; one that ends its child is counted too."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

LONGEST = 10.0
"""Seconds after which a reader hangs: of work, or of waiting for nothing. Where the machine is busy with
other things it gets six times as many."""

START = 180.0
"""Seconds in which a child must have imported what it needs."""

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where mutants lie: in memory, since a store makes every file last on the disk before it goes on."""

ROOT = Path(__file__).parents[2]


@dataclass
class Tally:
    """What came of the mutants of one target."""

    target: str
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0
    memory: int = 0

    @property
    def tried(self) -> int:
        """How many mutants were read."""
        return self.counts.total()

    def add(self, outcome: dict[str, Any]) -> None:
        """Count one."""
        self.counts[outcome["result"]] += 1
        self.slowest = max(self.slowest, outcome.get("seconds", 0.0))
        self.memory = max(self.memory, outcome.get("memory", 0))
        if outcome["result"] not in ("read", "refused"):
            self.findings.append(outcome)


def run(jobs: Iterable[tuple[str, int, int]], *, most_deaths: int = 50) -> dict[str, Tally]:
    """The tallies of (target, first seed, seed after the last); a target with too many deaths is given up."""
    waiting = [{"target": target, "first": first, "after": after} for target, first, after in jobs]
    tallies = {job["target"]: Tally(job["target"]) for job in waiting}
    while waiting:
        waiting = _one_child(waiting, tallies)
        for tally in tallies.values():
            if tally.counts["died"] + tally.counts["hang"] >= most_deaths:
                waiting = [job for job in waiting if job["target"] != tally.target]
    return tallies


def _one_child(jobs: list[dict[str, Any]], tallies: dict[str, Tally]) -> list[dict[str, Any]]:
    """Runs jobs until they are done or the child ends; returns what is left."""
    folder = tempfile.mkdtemp(prefix="langscape-attack-", dir=MEMORY)
    said = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed below, after the child
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.attack.child", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *(p for p in sys.path if p)])},
    )
    try:
        assert child.stdin is not None
        child.stdin.write(json.dumps(jobs).encode() + b"\n")
        child.stdin.close()
        return _watch(child, jobs, tallies, said)
    finally:
        child.kill()
        child.wait()
        said.close()
        shutil.rmtree(folder, ignore_errors=True)


def _watch(
    child: Any, jobs: list[dict[str, Any]], tallies: dict[str, Tally], said: Any
) -> list[dict[str, Any]]:
    ready, now, since, cpu, rest = False, None, time.monotonic(), 0.0, b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(0.5):
                piece = os.read(child.stdout.fileno(), 1 << 16)
                if not piece:
                    break
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    told = json.loads(line)
                    if "begin" in told:
                        now = told
                        since, cpu = time.monotonic(), _cpu(child)
                    elif "end" in told:
                        tallies[told["target"]].add(told)
                        jobs = _after(jobs, told["target"], told["end"])
                        now = None
                    ready = True
                continue
            passed = time.monotonic() - since
            if now is None and passed > START:
                raise AssertionError(f"the child for {jobs[0]['target']} does nothing for {START:g} s")
            used = _cpu(child) - cpu
            idle = passed > LONGEST and used < LONGEST / 10 and _is_waiting(child)
            if now is not None and (idle or used > LONGEST or passed > 6 * LONGEST):
                child.kill()
                tallies[now["target"]].add(
                    {"result": "hang", "end": now["begin"], "said": f"still reading after {passed:.0f} s"}
                )
                return _after(jobs, now["target"], now["begin"])
    code = child.wait()
    if now is not None:
        said.seek(0)
        last = [line for line in said.read().splitlines() if line.strip()][-1:]
        told = f"the process ended with {code}: {' '.join(last)[:150]}"
        tallies[now["target"]].add({"result": "died", "end": now["begin"], "said": told})
        return _after(jobs, now["target"], now["begin"])
    if not ready or jobs:
        said.seek(0)
        raise AssertionError(f"a child ended with {code} before its work began:\n{said.read()[-3000:]}")
    return jobs


def _after(jobs: list[dict[str, Any]], target: str, seed: int) -> list[dict[str, Any]]:
    """The jobs without the mutants up to that one."""
    left = [
        {**job, "first": seed + 1} if job["target"] == target and job["first"] <= seed < job["after"] else job
        for job in jobs
    ]
    return [job for job in left if job["first"] < job["after"]]


def _is_waiting(child: Any) -> bool:
    """Whether it sleeps each time one looks, rather than waits for its turn."""
    try:
        process = psutil.Process(child.pid)
        for _ in range(5):
            if process.status() not in (psutil.STATUS_SLEEPING, psutil.STATUS_DISK_SLEEP):
                return False
            time.sleep(0.05)
    except psutil.Error:
        return False
    return True


def _cpu(child: Any) -> float:
    try:
        times = psutil.Process(child.pid).cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system
