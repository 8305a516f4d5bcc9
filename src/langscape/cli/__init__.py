"""The `langscape` command: thin; options become calls of the library."""

from __future__ import annotations

import sys

from langscape.cli.app import app
from langscape.cli.terminal import say_error
from langscape.errors import LangscapeError


def main() -> None:
    """Run the command line; an error of ours is one clear message and exit code 1."""
    try:
        app()
    except LangscapeError as error:
        say_error(error)
        sys.exit(1)
