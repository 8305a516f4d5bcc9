"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from langscape.errors import FileError


@contextlib.contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`; it becomes `path` when the block ends, and is gone if it fails."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileError(f"{path} cannot be written: the folder {path.parent} does not exist; make it first")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    # There is no way to read the mask without setting it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
