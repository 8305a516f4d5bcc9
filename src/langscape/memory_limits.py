"""How much memory may still be taken: the machine's, the container's and this process's own limits.

Readers ask before they allocate, so that a file which declares more than fits is refused with both
sizes named, and the process is never killed for it. What is compressed may grow by `MOST_EXPANSION`.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langscape.errors import FileError, LangscapeError

SHARE = 0.9
"""Of the available memory, what one file may take."""

MOST_EXPANSION = 100
"""Bytes that may come out of one compressed byte: vectors, tables and maps of real data stay below 20."""

FREE_EXPANSION = 64_000_000
"""Bytes that may come out of a compressed file of any size."""

_LARGE = 32_000_000
"""Bytes from which an array is taken from the system page by page."""

_UNLIMITED = 1 << 60  # cgroup v1 says "no limit" by a number near 2**63


def available_memory(root: str | Path = "/") -> int | None:
    """Bytes that this process can still take; None where the system does not tell.

    The least of the machine's free memory (what Linux would free for us counted in), the limit of every
    cgroup around this process less its use, and `ulimit -v` and `-d` less what is used of them.
    `root` is the folder that `proc` and `sys` are in.
    """
    root = Path(root)
    found = [_machine(root), *_cgroups(root), *_ulimits(root)]
    known = [max(one, 0) for one in found if one is not None]
    return min(known, default=None)


def check_memory(
    needed: float,
    what: str,
    next_step: str,
    *,
    kind: type[LangscapeError] = FileError,
    available: int | None = None,
) -> None:
    """Refuse what needs more than is available; `what` names it, `next_step` says what can be done.

    >>> check_memory(8e9, "v.npz: its vectors", "give a limit", available=2_000_000_000)
    Traceback (most recent call last):
    langscape.errors.FileError: v.npz: its vectors need 8.0 GB, but 2.0 GB are available; give a limit
    """
    free = available_memory() if available is None else available
    if free is not None and needed > SHARE * free:
        raise kind(f"{what} need {size(needed)}, but {size(free)} are available; {next_step}")


def release_memory() -> None:
    """Give back to the system what was freed; large arrays that come and go leave glibc's heap in pieces.

    Reading 4,000 tokens in blocks would keep 440 MB that nothing uses. Only glibc needs it.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def untouched_zeros(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Zeros of which only what is written takes memory: of a causal head's weights, half.

    NumPy asks for huge pages, each of which holds a part of every row, so that all of them would be touched.
    """
    kind = np.dtype(dtype)
    needed = math.prod(shape) * kind.itemsize
    if needed < _LARGE or not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(shape, kind)
    pages = mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, kind, math.prod(shape)).reshape(shape)


def most_expanded(compressed: int) -> int:
    """Bytes that may come out of so many compressed ones."""
    return max(FREE_EXPANSION, MOST_EXPANSION * compressed)


def check_expansion(expanded: int, compressed: int, what: str) -> None:
    """Refuse what is far larger unpacked than any real data would be."""
    if expanded > most_expanded(compressed):
        raise FileError(
            f"{what} unpacks from {size(compressed)} to {size(expanded)} or more; real data shrinks to no "
            f"less than a {MOST_EXPANSION}th, so unpack it yourself if you trust it"
        )


def size(count: float) -> str:
    """Bytes as a person says them: 14 MB."""
    units = ("kB", "MB", "GB", "TB", "PB", "EB")
    power = next((i for i in range(len(units) - 1) if count < 999.5 * 1000 ** (i + 1)), len(units) - 1)
    shown = count / 1000 ** (power + 1)
    return f"{shown:,.0f} {units[power]}" if shown >= 10 else f"{shown:.1f} {units[power]}"


def _machine(root: Path) -> int | None:
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:  # without /proc: the whole machine is the best that is known
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _cgroups(root: Path) -> Iterator[int | None]:
    """What is left in every group from ours to the root: each may have a limit of its own."""
    folder = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            for base in (folder, folder / "unified"):
                yield from _groups(base, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _groups(folder / "memory", path, *names)


def _groups(base: Path, path: str, limit: str, usage: str, cache: str) -> Iterator[int | None]:
    folder = base / path.strip("/")
    while True:
        most, used = _number(folder / limit), _number(folder / usage)
        if most is not None and used is not None and most < _UNLIMITED:
            stat = _read(folder / "memory.stat").splitlines()
            # pages of files that were read count as used, but are given back on demand
            freed = next((int(one.split()[1]) for one in stat if one.startswith(f"{cache} ")), 0)
            yield most - used + freed
        if folder == base:
            return
        folder = folder.parent


def _ulimits(root: Path) -> Iterator[int | None]:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    pages = _read(root / "proc/self/statm").split()
    page = os.sysconf("SC_PAGE_SIZE")
    for limit, at in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - (int(pages[at]) * page if len(pages) > at else 0)


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdecimal() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
