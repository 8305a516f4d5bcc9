"""Reads mutants, one after the other, in a process with limits, and says what came of each.

Started by `runner`. Before a mutant is read its number is written, so that whoever ends the process is known.
Standard output is the report: one JSON object a line.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.attack.mutations import CANARY
from tests.attack.specimens import Given
from tests.attack.targets import Target, find_target

from langscape.errors import LangscapeError

SPARE = 3 << 30
"""Address space beyond what the process has once everything is imported."""

MOST = 200 << 20
"""Bytes of memory that reading a mutant, a file of some kilobytes, may take."""

UNFOLDED = 40
"""Bytes of memory that each byte of a larger file may take beyond that: a word of two letters on a line of
its own is an object of 60 bytes, and stands in several lists while they are read."""

LONGEST = 1500
"""Letters of a message; one that repeats what was in the file is not read by anybody."""


def main() -> None:
    """`python -m tests.attack.child FOLDER`, and on standard input a line per job: target, first, after."""
    folder = Path(sys.argv[1])
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    os.chdir(folder)
    jobs = json.loads(sys.stdin.readline())
    prepare(jobs)
    limit_memory()
    report.write(json.dumps({"ready": True}) + "\n")
    for job in jobs:
        target = find_target(job["target"])
        for seed in range(job["first"], job["after"]):
            files, rng = target.mutant(seed)
            place = folder / "mutant"
            write_files(place, files)
            report.write(json.dumps({"begin": seed, "target": target.name}) + "\n")
            outcome = tried(target, place, files, rng)
            said = {"end": seed, "target": target.name, **outcome}
            report.write(json.dumps(said) + "\n")
            shutil.rmtree(place, ignore_errors=True)


def prepare(jobs: list[dict[str, Any]]) -> None:
    """Import and warm what the readers need, so that their memory and time are their own."""
    import random

    for called in dict.fromkeys(job["target"] for job in jobs):
        target = find_target(called)
        place = Path.cwd() / "good"
        files = target.files()
        write_files(place, files)
        good = target.read(target.place(place, files), random.Random(0))
        if type(target) is Target:
            target.check(good)  # a specimen that is not read as it is would make every refusal right
        shutil.rmtree(place)


def limit_memory() -> None:
    """No more address space than now and SPARE."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + SPARE, now + SPARE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def write_files(place: Path, files: Given) -> None:
    """The files below a new folder."""
    place.mkdir()
    for name, data in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            data(path)


def tried(target: Target, place: Path, files: Given, rng: Any) -> dict[str, Any]:
    """What came of reading one mutant: `result` is refused, read, or what went wrong."""
    before = resident()
    reset_peak()
    listed = sorted(str(path) for path in place.rglob("*"))
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    began, cpu = time.monotonic(), time.process_time()
    outcome = _read(target, target.place(place, files), rng)
    outcome["seconds"] = round(max(time.process_time() - cpu, 0.0), 3)
    outcome["wall"] = round(time.monotonic() - began, 3)
    outcome["memory"] = max(peak() - before, 0)
    if outcome["result"] == "refused" and target.heals:
        outcome["result"] = "unhealed"
    if outcome["result"] in ("read", "refused"):
        if outcome["memory"] > MOST + UNFOLDED * size:
            outcome |= {"result": "memory", "said": f"took {outcome['memory'] >> 20} MB"}
        if Path(CANARY).exists():
            outcome |= {"result": "wrong", "said": "ran SQL that stood in the file"}
        if not target.writes and sorted(str(path) for path in place.rglob("*")) != listed:
            outcome |= {"result": "wrong", "said": "changed the folder it read"}
    Path(CANARY).unlink(missing_ok=True)
    return outcome


def _read(target: Target, place: Path, rng: Any) -> dict[str, Any]:
    with contextlib.redirect_stderr(io.StringIO()) as muttered:
        try:
            found = target.read(place, rng)
        except LangscapeError as error:
            said = str(error)
            if "\n" in said or len(said) > LONGEST:
                return {"result": "message", "said": f"{len(said)} letters: {said[:200]!r}"}
            if not said.strip():
                return {"result": "message", "said": f"an empty {type(error).__name__}"}
            return {"result": "refused", "said": said[:200]}
        except MemoryError as error:
            return {"result": "memory", "said": f"MemoryError: {str(error)[:150]}", "where": _where(error)}
        except BaseException as error:
            return {
                "result": "crash",
                "said": f"{type(error).__name__}: {str(error)[:150]}",
                "where": _where(error),
            }
        try:
            target.check(found)
        except AssertionError as error:
            return {"result": "wrong", "said": str(error)[:150], "where": _where(error)}
        except LangscapeError as error:
            return {"result": "refused", "said": str(error)[:200]}
        except BaseException as error:
            return {
                "result": "crash",
                "said": f"{type(error).__name__}: {str(error)[:150]}",
                "where": _where(error),
            }
    if "Traceback" in muttered.getvalue():
        return {"result": "crash", "said": f"a traceback on the way: {muttered.getvalue()[-150:]}"}
    return {"result": "read"}


def _where(error: BaseException) -> str:
    """The last place in langscape that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/langscape/" in frame.filename] or frames
    last = ours[-1]
    return f"{Path(last.filename).name}:{last.lineno} {last.name}"


def resident() -> int:
    """Bytes of memory held now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def reset_peak() -> None:
    """Let the peak be counted from now on."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """The most memory held since `reset_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
