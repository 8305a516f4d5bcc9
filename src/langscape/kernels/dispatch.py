"""Which set of kernels runs here: the loops spelled out in vectors, or their plain Numba twins.

The plain set is taken where the vectors do not compile, or where LANGSCAPE_PLAIN_KERNELS is set. Whether they
compile is tried once, in a process of its own, since LLVM ends a process that has an instruction it does not
know; the answer is kept beside the compiled code. All kernels of a process are of one set, and each set has
its own folder of compiled code.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba

from langscape import kernels

_WORKS = "vectors work"
_FAILS = "vectors do not work: "
_CRASHES = {getattr(signal, name, None) for name in ("SIGSEGV", "SIGABRT", "SIGILL", "SIGBUS", "SIGFPE")}


def _plain_because() -> str:
    if os.environ.get("LANGSCAPE_PLAIN_KERNELS", "0") not in ("", "0"):
        return "LANGSCAPE_PLAIN_KERNELS is set"
    known = kernels.cache_folder / f"{_tried_with()}.txt"
    with contextlib.suppress(OSError):
        answer = known.read_text()
        if answer.startswith((_WORKS, _FAILS)):
            return answer.removeprefix(_WORKS).removeprefix(_FAILS)
    problem, lasting = _try()
    if lasting:
        with contextlib.suppress(OSError):
            known.parent.mkdir(parents=True, exist_ok=True)
            known.write_text(_FAILS + problem if problem else _WORKS)
    return problem


def _tried_with() -> str:
    """A name for all that the answer depends on."""
    parts = (numba.__version__, llvmlite.__version__, llvm.get_default_triple(), llvm.get_host_cpu_name())
    source = Path(__file__).with_name("simd.py").read_bytes()
    return "vectors-" + hashlib.sha256("\n".join(parts).encode() + source).hexdigest()[:16]


def _try() -> tuple[str, bool]:
    """What the probe says of vectors, empty if they work, and whether it would say so again."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        "from langscape.kernels.simd import probe; print('probe:', probe())"
    )
    # a program that calls itself Python starts itself anew here: with the switch on it tries nothing
    switched = {**os.environ, "LANGSCAPE_PLAIN_KERNELS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", env=switched, check=False
    )
    _, answered, problem = done.stdout.partition("probe:")
    if done.returncode == 0 and answered:
        return (f"vectors do not compile here ({problem.strip()})" if problem.strip() else ""), True
    if -done.returncode in _CRASHES:
        name = signal.Signals(-done.returncode).name
        return f"vectors do not compile here (the compiler ended with {name})", True
    message = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return f"vectors could not be tried ({message})", False


PLAIN_BECAUSE = _plain_because()
"""Why the plain set is used; empty when the one in vectors is."""

PLAIN = bool(PLAIN_BECAUSE)

kernels.keep_compiled_code(plain=PLAIN)


def chosen(vectors: Any, plain: Any) -> Any:
    """The first, or where vectors are not used its twin."""
    return plain if PLAIN else vectors
