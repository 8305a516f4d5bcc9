"""Files that declare far more than they hold, and a process of its own to read each in."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

_READ = """
import json, sys, time
sys.path[:] = {path!r}
{before}
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
begun, started = peak(), time.perf_counter()
try:
    found = eval({call!r})
    said = "read"
except Exception as error:
    said = type(error).__name__ + ": " + str(error)
print(json.dumps([said, peak() - begun, time.perf_counter() - started]))
"""


def read_apart(call: str, before: str) -> tuple[str, int, float]:
    """What came of a call in a new process, the bytes it took at most, and its seconds.

    `before` is run first, and what it imports is not counted.
    """
    code = _READ.format(path=[entry or os.getcwd() for entry in sys.path], before=before, call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    said, taken, seconds = json.loads(done.stdout.splitlines()[-1])
    return said, taken, seconds


def npy_header(descr: str, shape: tuple[int, ...], fortran: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": descr, "fortran_order": fortran, "shape": shape})
    return out.getvalue()


def write_npz(path: Path, members: dict[str, tuple[bytes, int]]) -> Path:
    """Compressed arrays, each a header and so many zero bytes, written without holding them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (header, zeros) in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(header)
                piece = bytes(1 << 22)
                for at in range(0, zeros, len(piece)):
                    file.write(piece[: min(len(piece), zeros - at)])
    return path


def fortran_npz(path: Path, rows: int = 2_000_000, dim: int = 300) -> Path:
    """A matrix in Fortran order, of which no row can be read without all."""
    words = npy_header("|S7", (rows,)), 7 * rows
    return write_npz(
        path, {"words": words, "vectors": (npy_header("<f4", (rows, dim), True), 4 * rows * dim)}
    )


def wide_words_npz(path: Path, width: int = 500_000_000) -> Path:
    """One word of two gigabytes."""
    words = npy_header(f"<U{width}", (1,)), 4 * width
    return write_npz(path, {"words": words, "vectors": (npy_header("<f4", (1, 2)), 8)})


def gzip_of_one_line(path: Path, numbers: int = 25_000_000) -> Path:
    """Text of vectors in 48 kB: one word with millions of numbers."""
    with gzip.open(path, "wb", 9) as file:
        file.write(b"word")
        for _ in range(100):
            file.write(b" 1" * (numbers // 100))
        file.write(b"\n")
    return path


def safetensors(path: Path, header: object, data: bytes = b"") -> Path:
    """A safetensors file whose header is this, text or a value of JSON."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path
