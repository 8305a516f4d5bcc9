"""What a capture of a long text takes: the most memory of a process of its own, and its CPU seconds.

    python bench/capture_memory.py

Each line is a process that opens SmolLM2 (`langscape models get decoder`), reads the sample texts over and
over and captures; its memory is all that it ever held, libraries and the model's 538 MB of weights included.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

CASES: dict[str, dict[str, Any]] = {
    "the model opened, nothing captured": {},
    "8 heads of layer 18, 4,000 tokens": {"layers": 18, "heads": list(range(8)), "first_tokens": 4000},
    "the same in half precision": {
        "layers": 18, "heads": list(range(8)), "first_tokens": 4000, "weights": "float16",
    },
    "the same, the 64 strongest keys": {
        "layers": 18, "heads": list(range(8)), "first_tokens": 4000, "strongest": 64,
    },
    "head 18.6, 5,000 tokens": {"layers": 18, "heads": [6], "first_tokens": 5000},
    "rows 4,000 to 4,099 of layers 0 to 5": {
        "layers": list(range(6)), "rows": list(range(4000, 4100)), "first_tokens": 5000,
    },
}  # fmt: skip


def child(settings: dict[str, Any]) -> None:
    """Open, capture and tell: bytes of the arrays, the most memory, CPU seconds of the capture."""
    import resource
    import time

    from langscape.models import capture, open_model
    from langscape.sources import samples

    model = open_model("decoder")
    text = "\n".join(samples.text(name) for name in ("harbour", "orchard", "valley")) * 20
    begun, held = time.process_time(), 0
    if settings:
        seen = capture(model, text, ("attention",), **settings)
        held = sum(array.nbytes for array in seen.arrays.values())
    spent = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"held": held, "peak": peak, "seconds": spent}))


def measured(settings: dict[str, Any]) -> dict[str, float]:
    """What a process of its own says."""
    run = [sys.executable, __file__, json.dumps(settings)]
    return json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print the table."""
    print("| captured | arrays | the process in all | CPU |\n|---|---|---|---|")
    for name, settings in CASES.items():
        found = measured(settings)
        sizes = " | ".join(f"{found[one] / 1e6:,.0f} MB" for one in ("held", "peak"))
        print(f"| {name} | {sizes} | {found['seconds']:.0f} s |", flush=True)


if __name__ == "__main__":
    child(json.loads(sys.argv[1])) if len(sys.argv) > 1 else main()
