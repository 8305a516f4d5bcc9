from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from langscape.models import Model

PAGE = Path(__file__).parents[2] / "docs" / "capture.md"


@pytest.mark.slow
def test_the_page_says_what_happens(minilm: Model, smollm: Model) -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["open", "transformer", "memory"])
def test_docstring_examples_are_true(name: str, minilm: Model) -> None:
    result = doctest.testmod(importlib.import_module(f"langscape.models.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_example_of_words_is_true() -> None:
    result = doctest.testmod(importlib.import_module("langscape.models.words"))
    assert result.attempted > 0
    assert result.failed == 0
