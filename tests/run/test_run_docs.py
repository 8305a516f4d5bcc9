"""The examples of the pages on store and sweeps are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.slow
@pytest.mark.parametrize("page", ["store.md", "sweeps.md"])
def test_examples_of_the_page_are_true(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 5
    assert result.failed == 0


@pytest.mark.parametrize("name", ["recipe", "store"])
def test_docstring_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"langscape.store.{name}"), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", ["store.md", "sweeps.md", "scale.md"])
def test_commands_named_on_the_page_exist(page: str) -> None:
    import re

    import typer.main

    from langscape.cli.app import app

    root = typer.main.get_command(app)
    for group, command in re.findall(r"langscape (store|sweep) ([a-z]+)", (DOCS / page).read_text()):
        assert command in root.commands[group].commands, f"{page}: langscape {group} {command}"  # type: ignore[attr-defined]
