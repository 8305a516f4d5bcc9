"""What a workload gives: a table of contenders, the bars it has to clear, and how both are written down."""

from __future__ import annotations

import math
import os
import platform
import re
from dataclasses import dataclass, field
from pathlib import Path

from bench import peers
from bench.timing import Turns

OURS = "langscape"
TO_KL = "langscape’s default to that KL, CPU s"


@dataclass(frozen=True)
class Bar:
    """One thing that has to be reached: at least, or at most, so much."""

    what: str
    wanted: float
    reached: float
    at_most: bool = False

    @property
    def mark(self) -> str:
        """The sign between what was reached and what is wanted."""
        return "≤ " if self.at_most else "≥ "

    @property
    def met(self) -> bool:
        """True if it was reached."""
        return self.reached <= self.wanted if self.at_most else self.reached >= self.wanted


@dataclass
class Report:
    """One workload's results, in the order they are written."""

    name: str
    title: str
    about: str
    turns: dict[str, Turns]
    ratio_of: tuple[str, ...] = ()
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    seconds_to: dict[str, float] = field(default_factory=dict)
    """By peer, the CPU seconds of our default descent until its KL is the peer's."""

    def markdown(self) -> str:
        """The section of `results.md`."""
        phases = list(dict.fromkeys(phase for turns in self.turns.values() for phase in turns.clocks[0].cpu))
        head = [
            "",
            *(f"{phase}, CPU s" for phase in phases),
            "all, CPU s",
            "all, wall s",
            *_ratios(self),
            "KL",
        ]
        head += [TO_KL] * bool(self.seconds_to)
        head += ["peak MB", "steps", "runs"]
        rows = [self._row(turns, phases) for turns in self.turns.values()]
        rows += [[name, "not installed", *[""] * (len(head) - 2)] for name in self.missing]
        lines = [f"## {self.name}: {self.title}", "", self.about, "", *_table(head, rows), ""]
        if self.bars:
            bars = [
                [
                    bar.what,
                    bar.mark + _number(bar.wanted),
                    _number(bar.reached),
                    "met" if bar.met else "**not met**",
                ]
                for bar in self.bars
            ]
            lines += [*_table(["bar", "wanted", "reached", ""], bars), ""]
        lines += [f"- {note}" for note in self.notes] + [""] * bool(self.notes)
        return "\n".join(lines)

    def _row(self, turns: Turns, phases: list[str]) -> list[str]:
        ours = self.turns[OURS]
        cells = [turns.name]
        cells += [_number(turns.cpu(phase)) if phase in turns.clocks[0].cpu else "" for phase in phases]
        cells += [_number(turns.cpu()), _number(turns.wall())]
        if self.ratio_of and set(self.ratio_of) <= turns.clocks[0].cpu.keys():
            cells.append(f"{turns.cpu(*self.ratio_of) / ours.cpu(*self.ratio_of):.1f}×")
        elif self.ratio_of:
            cells.append("")
        cells.append(f"{turns.cpu() / ours.cpu():.1f}×")
        cells += [f"{turns.kl:.4f}" if turns.kls else "–"]
        if self.seconds_to:
            needed = self.seconds_to.get(turns.name)
            cells.append("" if needed is None else "not reached" if math.isnan(needed) else _number(needed))
        cells += ["" if math.isnan(turns.peak) else _megabytes(turns.peak), str(turns.steps or "–")]
        return [*cells, str(len(turns.clocks))]


def write(path: Path, reports: list[Report], *, quick: bool) -> None:
    """Put the sections into the file; sections of workloads that were not run stay as they are."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = {
        match.group(1): match.group(0).rstrip() + "\n"
        for match in re.finditer(r"^## (W\d+):.*?(?=^## |\Z)", old, re.S | re.M)
    }
    for report in reports:
        sections[report.name] = report.markdown().rstrip() + "\n"
    size = " (quick: small sizes, no verdicts)" if quick else ""
    text = f"# Side by side{size}\n\n{_about()}\n\n" + "\n".join(sections[name] for name in sorted(sections))
    path.write_text(text, encoding="utf-8")


def peers_kls(turns: dict[str, Turns]) -> dict[str, float]:
    """The KL that each peer ends at."""
    return {name: one.kl for name, one in turns.items() if name != OURS and one.kls}


def same_steps(turns: dict[str, Turns]) -> None:
    """Raise unless all contenders that count steps took the same number."""
    taken = {one.name: one.steps for one in turns.values() if one.steps is not None}
    if len(set(taken.values())) > 1:
        raise AssertionError(f"the contenders took different numbers of steps: {taken}")


def _ratios(report: Report) -> list[str]:
    return [f"{' + '.join(report.ratio_of)}, × ours"] * bool(report.ratio_of) + ["all, × ours"]


def _about() -> str:
    names = ("numpy", "scikit-learn", "openTSNE", "umap-learn", "scikit-learn-intelex", "torchdr", "numba")
    versions = ", ".join(f"{name} {peers.version(name)}" for name in names)
    return (
        "Written by `make bench`. One thread each; contenders take turns in one process; medians over runs. "
        "CPU seconds count, wall seconds stand beside them. KL is one float64 function for all, of the same "
        "unexaggerated P. Peak memory is what a run adds to the process. \n\n"
        f"{_processor()}, Python {platform.python_version()}, {versions}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} cores"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    line = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(cells) + " |" for cells in (head, line, *rows)]


def _megabytes(value: float) -> str:
    return f"{value:.0f}" if value >= 1 else "< 1"


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 100 else f"{value:,.0f}"
