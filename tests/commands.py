"""Runs the command line in this process: what a user types, and what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from langscape.cli.app import app


def run(*words: Any) -> Result:
    """The finished command, its exit code 0; an error of ours is raised as it is."""
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def at_home_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in the folder, and keep what they make below it."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LANGSCAPE_HOME", str(folder / "home"))
