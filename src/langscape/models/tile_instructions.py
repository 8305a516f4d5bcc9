"""AMX, which virtual machines announce and do not always have: half precision would end the process there."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

LIMIT = "ONEDNN_MAX_CPU_ISA"
"""What oneDNN, which multiplies torch's half precision, reads once, before its first product."""

_PROCESSORS = Path("/proc/cpuinfo")


@cache
def avoid_tiles() -> None:
    """In a virtual machine that announces AMX, have torch do without; nothing where torch is loaded already.

    A product in bfloat16 was seen to end the process with an illegal instruction on such a machine, although
    the system allows the tiles. Whoever sets the variable themselves has what they set.
    """
    if LIMIT not in os.environ and "torch" not in sys.modules and {"hypervisor", "amx_tile"} <= announced():
        os.environ[LIMIT] = "AVX512_CORE_FP16"


def announced(processors: Path = _PROCESSORS) -> frozenset[str]:
    """What the first processor says that it can do; nothing where the system does not tell."""
    try:
        with processors.open(encoding="utf-8", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return frozenset()
    return frozenset(flags.partition(":")[2].split())
