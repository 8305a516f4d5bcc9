"""Tests of other folders, run as a part of the attack with its own counts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

from tests.attack.runner import ROOT


def run_tests(
    chosen: Sequence[str], settings: Mapping[str, str] | None = None, *, seconds: float = 1800
) -> tuple[int, list[str]]:
    """How many passed, and the failures by name. That none ran at all is a failure too."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfEs", "--tb=line", *chosen]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **(settings or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    failures = re.findall(r"^(?:FAILED|ERROR|SKIPPED) .*", done.stdout, re.M)
    if done.returncode and not failures:
        failures = [f"pytest ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"]
    count = int(passed[1]) if passed else 0
    return count, failures or ([] if count else ["no test ran"])
