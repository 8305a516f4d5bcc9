from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MODULES = ("matching", "samples", "vectors", "wordlist")


@pytest.mark.parametrize("page", ["vectors.md", "models.md"])
def test_the_page_says_what_happens(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"langscape.sources.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
