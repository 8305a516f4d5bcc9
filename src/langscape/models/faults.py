"""Errors of other libraries: which are theirs, and what they say in one line."""

from __future__ import annotations

from langscape.errors import LangscapeError


def is_fault(error: BaseException) -> bool:
    """Whether an error is one of a library: a panic in Rust, as of tokenizers, is no Exception in Python."""
    if isinstance(error, LangscapeError):
        return False
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def first_line(error: BaseException) -> str:
    """What an error says first, 200 letters at most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(".")
