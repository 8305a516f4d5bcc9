"""SIGKILL at random moments: of sweeps and their workers, of a studio, of a process that writes files.

What was done before is there after, what is there is whole, and the work goes on to the same end.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tests.attack import specimens
from tests.attack.budget import Budget
from tests.attack.existing import run_tests
from tests.attack.report import Row
from tests.attack.serving import Studio, wait_until

from langscape.io.map_file import read_map
from langscape.store.store import Store

WRITER = """
import sys
from pathlib import Path
from tests.attack import specimens
from langscape.sources import Vectors, write_vectors
from langscape.io.gaussian_file import read_gaussians
folder = Path(sys.argv[1])
(folder / "g0.safetensors").write_bytes(specimens.gaussian_file())
gaussians, drawn = read_gaussians(folder / "g0.safetensors"), specimens.a_map()
vectors = Vectors(specimens.WORDS, specimens.numbers(8, 3))
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    drawn.but(xy=drawn.xy + turn).save(folder / "m.parquet")
    gaussians.save(folder / "g.safetensors")
    for suffix in (".npz", ".parquet", ".safetensors"):
        write_vectors(folder / f"v{suffix}", vectors)
"""
"""Writes the same few files for ever."""


def run(budget: Budget) -> Iterator[Row]:
    """Half of the kills to sweeps, a quarter each to studios and writers."""
    yield sweeps(max(budget.kills // 2, 4))
    yield studios(max(budget.kills // 4, 2))
    yield writers(max(budget.kills // 4, 2))


def sweeps(kills: int) -> Row:
    """The random kills of tests/run/test_kills.py, as many as the budget has."""
    chosen = "tests/run/test_kills.py::test_random_kills_of_workers_and_parents_lose_nothing"
    passed, findings = run_tests([chosen], {"LANGSCAPE_KILLS": str(kills)})
    return Row(
        "kills",
        "A sweep whose workers and parents are killed loses nothing and ends with the same table",
        f"{kills} kills of workers and parents",
        "0 lost, equal to the undisturbed table" if passed and not findings else "lost",
        findings,
    )


def studios(kills: int) -> Row:
    """A studio killed while files are uploaded and jobs run: what it had taken is there at the next start."""
    rng, findings, taken = random.Random("studios"), [], Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "store"
        kept: set[str] = set()
        for turn in range(kills):
            studio = Studio(root)
            there = {one["id"] for one in studio.client.get("/api/inputs").json["inputs"]}
            findings += [f"kill {turn}: {len(kept - there)} inputs are lost"] * bool(kept - there)
            kept |= there
            moment = time.monotonic() + rng.uniform(0.0, 1.0)
            number = 0
            while time.monotonic() < moment:
                number += 1
                words = f"word{turn}x{number} 1 2 3\nother{turn}x{number} 3 2 1\nthird 1 1 1\n".encode()
                got = studio.client.post(f"/api/inputs?kind=vectors&name=v{turn}.txt", words)
                if got.status != 201:
                    findings.append(f"kill {turn}: an upload is refused with {got.body[:120]!r}")
                    break
                kept.add(got.json["id"])
                taken["inputs"] += 1
                asked = {
                    "analysis": "words",
                    "settings": {"steps": 20},
                    "inputs": {"vectors": got.json["id"]},
                }
                taken["jobs"] += studio.client.post("/api/jobs", asked).status == 201
            studio.kill()
            findings += [f"kill {turn}: a traceback: {studio.errors()[-200:]}"] * (
                "Traceback" in studio.errors()
            )
            _end_workers(root)
        store = Store(root)
        checked = store.check()
        findings += [f"{len(checked.damaged)} results are damaged"] * bool(checked.damaged)
        store.index.close()
        with Studio(root) as last:
            there = {one["id"] for one in last.client.get("/api/inputs").json["inputs"]}
            findings += [f"at the end {len(kept - there)} inputs are lost"] * bool(kept - there)
    return Row(
        "kills",
        "A studio that is killed has, at its next start, everything that it said it had taken",
        f"{kills} kills during {taken['inputs']:,} uploads and {taken['jobs']:,} jobs",
        "0 lost, 0 damaged" if not findings else "lost",
        findings,
    )


def writers(kills: int) -> Row:
    """A process that writes maps, Gaussians and vectors: each file is the old one or the new one."""
    rng, findings = random.Random("writers"), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for turn in range(kills):
            writer = subprocess.Popen(
                [sys.executable, "-c", WRITER, str(folder)],
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in [os.getcwd(), *sys.path] if p)},
            )
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.4))
            writer.kill()
            writer.wait()
            findings += [f"kill {turn}: {said}" for said in _damaged(folder)]
        left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        # whoever writes next to them removes what the killed ones left
        again = specimens.a_map().save(folder / "m.parquet")
        assert again.exists()
        still = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        findings += [f"{len(still)} files that nobody owns stay: {still[:1]}"] * bool(still)
    return Row(
        "kills",
        "A file whose writer is killed is the old one or the new one, and what is left beside it goes",
        f"{kills} kills of a process that writes five kinds of files",
        f"0 damaged; {len(left)} unfinished files, {len(left) - len(still)} removed by the next writer",
        findings,
    )


def _damaged(folder: Path) -> list[str]:
    from langscape.io.gaussian_file import read_gaussians
    from langscape.sources import read_vectors

    said = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == "g0.safetensors":
            continue
        try:
            if path.name == "m.parquet":
                found = read_map(path)
                moved = found.xy - specimens.a_map().xy
                right = np.allclose(moved, np.round(moved[0, 0]), atol=1e-3)
            elif path.name == "g.safetensors":
                right = len(read_gaussians(path)) == len(specimens.WORDS)
            else:
                right = (read_vectors(path).matrix == specimens.numbers(8, 3)).all()
        except Exception as error:
            right = False
            said.append(f"{path.name}: {type(error).__name__}: {str(error)[:120]}")
        said += [f"{path.name} is not what was written"] * (not right)
    return said


def _end_workers(root: Path) -> None:
    """Wait until no worker of a killed studio is left: they end when their parent is gone."""
    import psutil

    def left() -> bool:
        for process in psutil.process_iter(["cmdline"]):
            said = " ".join(process.info["cmdline"] or ())
            if str(root) in said and "multiprocessing" not in said:
                return True
        return False

    wait_until(lambda: not left(), 30)
