"""A reader with every fault, by seed: the harness must find each of them."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from tests.attack.mutations import CANARY
from tests.attack.specimens import Given
from tests.attack.targets import Target, holds

from langscape.errors import FileError


class Planted(Target):
    """A target whose mutants say which fault to have."""

    def mutant(self, seed: int) -> tuple[Given, random.Random]:
        """The seed as a file."""
        return {"seed.txt": str(seed).encode()}, random.Random(0)


def _read(path: Path, rng: random.Random) -> Any:
    from tests.attack.test_harness import PLANTED

    what = PLANTED[int(path.read_text())]
    if what == "refuse":
        raise FileError("this is no file of ours; give another")
    if what == "crash":
        raise KeyError("label")
    if what == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "hang":
        time.sleep(1000)
    if what == "eat":
        return bytearray(64 << 30)
    if what == "take":
        return len(bytearray(os.urandom(1 << 20)) * 400)
    if what == "canary":
        Path(CANARY).touch()
    if what == "lines":
        raise FileError("this is\nno file of ours")
    return what


PLANTED_TARGET = Planted(
    "planted", lambda: {"seed.txt": b"0"}, (), _read, lambda found: holds(found != "wrong", "it is right")
)
