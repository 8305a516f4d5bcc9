"""The `langscape` command: thin; options become calls of the library."""

from __future__ import annotations

import sys

from langscape.cli.app import app
from langscape.cli.terminal import say, say_error
from langscape.errors import Cancelled, LangscapeError
from langscape.faces import speaking

STOPPED = 130
"""The exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line; an error of ours is one message and exit code 1, Ctrl-C one line and 130."""
    with speaking("command"):
        _run()


def _run() -> None:
    try:
        app()
    except SystemExit as end:
        if end.code == STOPPED:  # what the command tree makes of a Ctrl-C that nobody else took
            say("stopped; what was finished by then is kept, the rest is not")
        raise
    except Cancelled as stopped:
        say(str(stopped))
        sys.exit(STOPPED)
    except LangscapeError as error:
        say_error(error)
        sys.exit(1)
