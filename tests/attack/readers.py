"""Damaged files, to every reader: each is refused in one line or read right, soon and in little memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.attack import runner
from tests.attack.budget import Budget
from tests.attack.report import Row
from tests.attack.runner import Tally
from tests.attack.targets import TARGETS, Target

_WORDS = {
    "crash": "crashes",
    "died": "processes that died",
    "hang": "hangs",
    "memory": "over memory",
    "wrong": "wrong successes",
    "message": "unreadable messages",
    "unhealed": "not healed",
}


def run(budget: Budget) -> Iterator[Row]:
    """A row per target."""
    for tally in tallies(budget, TARGETS, at_once=2 if budget.every else 1):
        yield row_of(tally)


def tallies(budget: Budget, targets: Sequence[Target], at_once: int = 1) -> list[Tally]:
    """What came of the mutants of each target. Of those that are light, several share a process."""
    light = [(one.name, 0, budget.mutants) for one in targets if not one.heavy]
    heavy = [(one.name, 0, budget.heavy) for one in targets if one.heavy]
    groups = [light[part::at_once] for part in range(at_once)] + [
        heavy[part::at_once] for part in range(at_once)
    ]
    with ThreadPoolExecutor(at_once) as pool:
        done = list(
            pool.map(lambda jobs: runner.run(jobs, most_deaths=50), [group for group in groups if group])
        )
    found = {name: tally for one in done for name, tally in one.items()}
    return [found[one.name] for one in targets]


def row_of(tally: Tally) -> Row:
    """How the tally of one target is told."""
    broken = ", ".join(f"{tally.counts[kind]} {said}" for kind, said in _WORDS.items() if tally.counts[kind])
    rest = f"slowest {tally.slowest:.2f} s, most memory {tally.memory / 2**20:.0f} MB"
    counted = f"{tally.counts['refused']:,} refused, {tally.counts['read']:,} read right"
    result = "; ".join(part for part in (counted, broken, rest) if part)
    return Row(
        "readers",
        f"A damaged file is refused in one line or read right ({tally.target})",
        f"{tally.tried:,} mutants",
        result,
        [described(tally.target, one) for one in tally.findings],
    )


def described(target: str, outcome: dict) -> str:
    """One finding, with what makes it again."""
    at = f" at {outcome['where']}" if outcome.get("where") else ""
    return f"{outcome['result']}: {outcome['said']}{at} (--replay '{target}' {outcome['end']})"
