"""What a long computation keeps while it runs, so that it goes on after its process was killed.

root/checkpoints/DIGEST/NAME.safetensors: the arrays of one name, whole or not there at all, checked by a sum
over their bytes and by the version that wrote them. The folder goes when the result is stored.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from langscape.errors import DataError
from langscape.io.tensor_file import read_header, read_tensors, write_tensors
from langscape.store import disk

EVERY = 20.0
"""Seconds between two writings; a computation that takes less writes nothing."""

KEPT_FOR = 7 * 24 * 3600.0
"""Seconds after which what nobody took up again is removed."""


class StoredCheckpoint:
    """The checkpoint of one result that is being computed; only its lock's holder has it."""

    def __init__(self, root: Path, digest: str) -> None:
        self._root, self.folder = root, root / "checkpoints" / digest
        self._last = time.monotonic()

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """What was kept under that name; None where nothing was, or where it is damaged."""
        path = self._path(name)
        if not path.is_file():
            return None
        with suppress(DataError, OSError):
            header = read_header(path)
            arrays = read_tensors(path, header)
            if header.metadata == _sums(arrays):
                return arrays
        disk.remove(path)
        return None

    def due(self) -> bool:
        """Whether twenty seconds have passed since something was written."""
        return time.monotonic() - self._last > EVERY

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep these arrays instead of what that name had."""
        with disk.writing("how far it is", self._root):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with disk.aside(self._root / "aside", self.folder.name[:16], ".part") as file:
                write_tensors(file, arrays, _sums(arrays))
                disk.make_private(file)
                disk.sync(file)
                disk.replace(file, self._path(name), self._root)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Forget all of it."""
        disk.remove(self.folder)

    def _path(self, name: str) -> Path:
        return self.folder / f"{re.sub(r'[^a-z0-9.]+', '-', name)}.safetensors"


def _sums(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    from langscape import __version__

    sums = {
        name: f"{zlib.crc32(np.ascontiguousarray(one).reshape(-1).view(np.uint8).data):08x}"
        for name, one in arrays.items()
    }
    return {"langscape": __version__, **sums}
