"""Regular files only: everything else is refused at once, by every reader and every command."""

import os
import socket
from pathlib import Path

import pytest

from langscape.errors import FileError
from langscape.io.regular_file import check_regular, open_regular


@pytest.fixture
def others(tmp_path: Path):
    """What is not a file, by kind, and the words that say so."""
    os.mkfifo(tmp_path / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket"))
    yield {
        tmp_path / "pipe": "is a named pipe",
        tmp_path / "socket": "is a socket",
        Path("/dev/zero"): "is a device",
        tmp_path: "is a folder",
        tmp_path / "nothing": "does not exist",
        Path("a\0b"): "is not the name of a file",
    }
    listening.close()


@pytest.mark.parametrize("check", [check_regular, open_regular])
def test_what_is_no_file_is_named_without_waiting(check, others):
    for path, said in others.items():
        with pytest.raises(FileError, match=said):
            check(path)


def test_a_file_is_opened_for_its_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert check_regular(tmp_path / "a").st_size == 3
    with open_regular(str(tmp_path / "a")) as file:
        assert file.read() == b"abc"


def test_a_link_to_a_pipe_is_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with pytest.raises(FileError, match="is a named pipe"):
        open_regular(tmp_path / "link")
