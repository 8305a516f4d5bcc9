"""What the commands of all papers share: options, claims and whether they hold, errors in one line."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from langscape.cli.terminal import say, say_error
from langscape.errors import FileError, LangscapeError
from papers.page import Tabled


@dataclass(frozen=True)
class Check:
    """One claim: what it says, the number wanted, the number found, and whether it holds."""

    claim: str
    wanted: str
    found: str
    holds: bool

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'FAILS'}  {self.claim}: {self.found} ({self.wanted})"


def tabled(held: Iterable[Check], name: str = "checks", title: str = "") -> Tabled:
    """The claims as a table of the page."""
    rows = [[one.claim, one.wanted, one.found, "yes" if one.holds else "NO"] for one in held]
    return Tabled(name, title, ["Claim", "wanted", "found", "holds"], rows, [None] * 4)


def options(
    name: str, about: str | None, quick: str, *, workers: int | None = None
) -> argparse.ArgumentParser:
    """--quick, --out and --workers of `python -m papers.NAME`, to which a paper adds its own."""
    read = argparse.ArgumentParser(
        prog=f"python -m papers.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--quick", action="store_true", help=quick)
    read.add_argument("--out", type=Path, default=Path("demo/papers") / name, help="folder to write to")
    told = "one for each core if left out" if workers is None else f"{workers} runs in this one"
    read.add_argument("--workers", type=int, default=workers, help=f"worker processes; {told}")
    return read


def made_folder(out: Path) -> Path:
    """The folder, made where it is not there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{out} cannot be made a folder: {error.strerror}; choose another") from None
    return out


def tell(held: Iterable[object], out: Path, began: float) -> None:
    """Print every claim, and say where the page is and how long it took since `began`."""
    for one in held:
        print(one)
    say(f"{out / 'index.html'} written, {time.monotonic() - began:.0f} s")


def run(main: Callable[[], None]) -> None:
    """Run a paper's command; an error of ours is one clear message and exit code 1."""
    try:
        main()
    except LangscapeError as error:
        say_error(error)
        sys.exit(1)
