"""What is no text is refused by what it is, not by its name."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from langscape.errors import FileError
from langscape.sources import corpus
from langscape.sources.textfile import read_text


def test_a_word_document_is_refused_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("word/document.xml", "<w:t>Dear reader</w:t>")
    for read in (read_text, lambda one: list(corpus(one).documents())):
        with pytest.raises(FileError, match=r"letter\.txt is a packed file \(\.docx.*save it as text"):
            read(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "is a PDF; save its text"),
        (b"\x7fELF\x02\x01\x01\x00", "holds zero bytes and is no text"),
        ("Hello".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
    ],
)
def test_other_files_that_are_no_text_are_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "given.md"
    path.write_bytes(data)
    with pytest.raises(FileError, match=said):
        read_text(path)


def test_plain_text_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "letter.docx"
    path.write_text("Dear reader", encoding="utf-8-sig")
    assert read_text(path) == "Dear reader"
