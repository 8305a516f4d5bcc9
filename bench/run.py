"""Run workloads side by side with peers and write `bench/results.md`."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from bench import peers
from bench.report import write

WORKLOADS = {
    "W1": "w1_heads",
    "W2": "w2_words",
    "W3": "w3_gaussians",
    "W4": "w4_three_dimensions",
    "W5": "w5_ten_thousand",
    "W6": "w6_hundred_thousand",
    "W7": "w7_whole_maps",
}
RESULTS = Path(__file__).parent / "results.md"


def main(arguments: list[str] | None = None) -> None:
    """`python -m bench [W1 …] [--quick] [--long] [--out FILE]`."""
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("workloads", nargs="*", metavar="W1 … W7", help="which to run; all if none is named")
    options.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    options.add_argument("--long", action="store_true", help="W7 with openTSNE too, which takes half an hour")
    options.add_argument("--out", type=Path, help="where to write; bench/results.md unless --quick")
    options.add_argument(
        "--get-peers", action="store_true", help="install scikit-learn-intelex, TorchDR and UADAPy aside"
    )
    asked = options.parse_args(arguments)
    if unknown := set(asked.workloads) - set(WORKLOADS):
        options.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if asked.get_peers:
        peers.get()
        if not asked.workloads:
            return
    out = asked.out or (RESULTS.with_name("quick.md") if asked.quick else RESULTS)
    for name in asked.workloads or WORKLOADS:
        print(name, file=sys.stderr)
        workload = importlib.import_module(f"bench.{WORKLOADS[name]}")
        more = {"long": True} if asked.long and name == "W7" else {}
        report = workload.run(quick=asked.quick, **more)
        write(out, [report], quick=asked.quick)
        print(report.markdown())
    print(f"written to {out}", file=sys.stderr)
