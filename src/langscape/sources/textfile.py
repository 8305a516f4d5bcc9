"""Telling text from files that only hold some: what a word processor wrote is not read as text."""

from __future__ import annotations

from pathlib import Path

from langscape.errors import FileError
from langscape.io.regular_file import open_regular

_SEEN = 4096
_KINDS = {
    b"PK\x03\x04": "a packed file (.docx, .odt, .epub, .zip); open it in its program and save it as text",
    b"%PDF": "a PDF; save its text from a viewer, or turn it into text with pdftotext",
    b"{\\rtf": "an RTF document; open it in a word processor and save it as text",
    b"\xd0\xcf\x11\xe0": "an old Office document; open it in its program and save it as text",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}


def check_text_file(path: str | Path) -> None:
    """Refuse a file that is no plain text, whatever its name, and say what to do with it."""
    with open_regular(path) as file:
        begin = file.read(_SEEN)
    for mark, kind in _KINDS.items():
        if begin.startswith(mark):
            raise FileError(f"{path} is {kind}")
    if b"\x00" in begin:
        raise FileError(f"{path} holds zero bytes and is no text; give a text file")


def read_text(path: str | Path) -> str:
    """A text file as UTF-8."""
    try:
        check_text_file(path)
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}; give a text file") from None
