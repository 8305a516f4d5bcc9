"""Good files under names that mean something to a shell or a database, and things that are no files at all.

A name is a name: the file of that name is read, and not another one that a pattern would find. What is no
regular file is refused at once, since a reader of a pipe may wait for ever.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.attack import runner
from tests.attack.budget import Budget
from tests.attack.readers import described
from tests.attack.report import Row
from tests.attack.specimens import Given
from tests.attack.targets import TARGETS, Target, holds

HARD: tuple[tuple[str, str], ...] = (
    ("a[1]", "a1"), ("a*", "ab"), ("a?", "ab"), ("a{1,2}", "a1"), ("[a-z]", "b"), ("**", "b"), ("a'b", "ab"),
    ('a"b', "ab"), ("a;b", "a"), ("a'; SELECT 1; --", "a"), ("a b", "a"), (" a", "a"), ("-a",
    "a"), ("~", "a"),
    ("$HOME", "a"), ("%20", " "), ("a%5B1%5D", "a[1]"), ("öß東", "o"), ("e\u0301", "\u00e9"),
    ("👩\u200d👧", "a"),
    ("a\nb", "a"), ("a\\b", "ab"), ("a" * 200, "a"), ("#a", "a"), ("a://b".replace("/", ":"),
    "a"), ("s3:a", "a"),
    ("\udcff\udcfe", "a"),
)  # fmt: skip
"""A stem, and another that somebody who takes it for a pattern might open."""


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the whole path is longer than a socket's name may be
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


SPECIAL: dict[str, Callable[[Path], object]] = {
    "a pipe": _fifo,
    "a link to a pipe": lambda path: (_fifo(path.with_name("pipe")), path.symlink_to("pipe")),
    "a socket": _socket,
    "a folder": lambda path: path.mkdir(),
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a link to /dev/tty": lambda path: path.symlink_to("/dev/tty"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "an empty file": lambda path: path.touch(),
}
"""What a name may stand for beside a file with something in it."""


@dataclass(frozen=True)
class Named(Target):
    """A target whose mutants are its good file, under hard names with another file beside it."""

    def mutant(self, seed: int) -> tuple[Given, random.Random]:
        """The seed is the place in HARD."""
        stem, other = HARD[seed % len(HARD)]
        (called, data), *_ = self.files().items()
        ending = "".join(Path(called).suffixes)
        # the other is no file of this format, so that opening it cannot be taken for reading this one
        return {stem + ending: data, other + ending: b"another file\n"}, random.Random(0)


@dataclass(frozen=True)
class Odd(Target):
    """A target that is given what is no file."""

    def mutant(self, seed: int) -> tuple[Given, random.Random]:
        """The seed is the place in SPECIAL."""
        called = next(iter(self.files()))
        return {called: list(SPECIAL.values())[seed % len(SPECIAL)]}, random.Random(0)


def _refuse(found: Any) -> None:
    holds(False, f"read {str(found)[:60]} from what is no file")


def _must_read(target: Target) -> Callable[[Any], None]:
    def check(found: Any) -> None:
        holds(found is not None, "something was read")
        target.check(found)

    return check


_SINGLE = tuple(
    one
    for one in TARGETS
    if not one.folder and one.name not in ("recipe", "ask") and "store:" not in one.name
)
NAMED: tuple[Target, ...] = (
    *(
        Named(f"{one.name}, by name", one.files, one.damage, one.read, _must_read(one), heals=True)
        for one in _SINGLE
    ),
    *(Odd(f"{one.name}, no file", one.files, one.damage, one.read, one.check) for one in _SINGLE),
)


def run(budget: Budget) -> Iterator[Row]:
    """Two rows, over all readers of single files."""
    by_name = [(one.name, 0, len(HARD)) for one in NAMED if isinstance(one, Named)]
    # an empty file, the last, is a corpus in which no word is found
    no_file = [
        (one.name, 0, len(SPECIAL) - one.name.startswith("corpus")) for one in NAMED if isinstance(one, Odd)
    ]
    for promise, jobs, right in (
        ("A path is a path: the file of that name is read, whatever signs are in it", by_name, "read"),
        ("Pipes, sockets, devices, folders and empty files are refused at once", no_file, "refused"),
    ):
        tallies = runner.run(jobs, most_deaths=3)
        findings = [
            described(name, one)
            for name, tally in tallies.items()
            for one in tally.findings
            # DuckDB takes UTF-8 only: that a table is to be renamed is a right answer to its bytes
            if "is not UTF-8" not in one["said"] or one["result"] != "unhealed"
        ]
        for name, tally in tallies.items():
            other = "refused" if right == "read" else "read"
            findings += [f"{tally.counts[other]} {other} ({name})"] * bool(tally.counts[other])
        tried = sum(tally.tried for tally in tallies.values())
        slowest = max(tally.slowest for tally in tallies.values())
        good = sum(tally.counts[right] for tally in tallies.values())
        yield Row(
            "paths",
            promise,
            f"{tried:,} names to {len(jobs)} readers",
            f"{good:,} {right}; slowest {slowest:.2f} s",
            findings,
        )
