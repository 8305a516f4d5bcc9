"""Put the pages of the documentation together: `python -m scripts.site.assemble FOLDER`.

Pages of docs/ are taken as they are. Commands, scores, Python names and the HTTP interface are written from
the declarations, the registry, the public names and the OpenAPI document; a few files of the repository
become pages too. Links between files of the repository become links between pages.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from scripts import gallery
from scripts.site import commands, http, python_names, scores

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

TAKEN = {
    "bench/results.md": "benchmarks.md",
    "papers/README.md": "papers.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "README.md": "index.md",
}
"""Files of the repository that are pages, by the page's place."""

LINK = re.compile(r"(?<!!)\[([^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\(([^)\s]+)\)")


def assemble(folder: Path) -> None:
    """Write every page of the site into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for source in sorted(DOCS.rglob("*")):
        if source.is_file() and source.suffix != ".md":
            _copy(source, folder / source.relative_to(DOCS))
    for place, text in pages().items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The text of every page, by its place in the site."""
    found = {}
    for source in sorted(DOCS.rglob("*.md")):
        found[source.relative_to(DOCS).as_posix()] = (
            source.relative_to(ROOT).as_posix(),
            source.read_text("utf-8"),
        )
    for name, place in TAKEN.items():
        if place not in found:
            found[place] = (name, (ROOT / name).read_text("utf-8"))
    written = {place: relinked(text, name, place) for place, (name, text) in found.items()}
    written["gallery/index.md"] = gallery.overview()
    for part in (commands, http, python_names, scores):
        written |= {f"reference/{place}": text for place, text in part.pages().items()}
    return written


def relinked(text: str, name: str, place: str) -> str:
    """A page's text with links from the file `name` turned into links from the page `place`.

    >>> relinked("[a](../README.md#x) [b](words.md)", "docs/heads.md", "heads.md")
    '[a](index.md#x) [b](words.md)'
    """

    def replace(match: re.Match[str]) -> str:
        target, mark, anchor = match[2].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        file = os.path.normpath(os.path.join(os.path.dirname(name), target))
        page = TAKEN.get(file)
        if page is None and file.startswith("docs/"):
            page = file.removeprefix("docs/")
        if page is None:  # a file that is no page: its name is all that can be given
            return f"{match[1]} (`{file}` in the repository)"
        return f"[{match[1]}]({os.path.relpath(page, os.path.dirname(place) or '.')}{mark}{anchor})"

    parts = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else _shown(LINK.sub(replace, part)) for part in parts)


def _shown(text: str) -> str:
    """Text in which special tokens such as <s> are no elements of HTML."""
    parts = re.split(r"(`[^`\n]*`)", text)
    token = re.compile(r"<(/?(?:s|unk|pad|mask|eos|bos))>")
    return "".join(part if part.startswith("`") else token.sub(r"&lt;\1&gt;", part) for part in parts)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
