"""How docstrings become Markdown: examples and aligned lists are set as code, as they stand in the source.

mkdocs.yml names this file; it is imported by mkdocstrings and needs nothing of langscape.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ALIGNED = re.compile(r"^\S.*?\S?  +\S|^  +\S")


def markdown(docstring: str) -> str:
    """A docstring with its examples and aligned lists fenced.

    >>> print(markdown("One line.\\n\\n>>> 1 + 1\\n2"))
    One line.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    made = []
    for part in re.split(r"\n\s*\n", docstring):
        lines = part.split("\n")
        if any(line.lstrip().startswith(">>> ") for line in lines):
            at = next(number for number, line in enumerate(lines) if line.lstrip().startswith(">>> "))
            made += ["\n".join(lines[:at])] if at else []
            made.append("\n".join(["```pycon", *lines[at:], "```"]))
        elif len(lines) > 1 and all(ALIGNED.match(line) for line in lines):
            made.append("\n".join(["```text", *lines, "```"]))
        else:
            made.append(part)
    return "\n\n".join(made)


class Docstrings(griffe.Extension):
    """Fences what is to be read as it stands."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for every object that is described."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
