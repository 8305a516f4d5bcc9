"""Which links of the site's pages lead nowhere, and what a built site would fetch from elsewhere."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2", re.M | re.S)
LINK = re.compile(r"\]\(<?([^)>\s]+)>?\)")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +\{ *#([\w.-]+) *\})? *$", re.M)


def broken_links(pages: Mapping[str, str], files: Collection[str]) -> list[str]:
    """Links of Markdown pages to pages, headings and files that are not there.

    >>> broken_links({"a.md": "[x](b.md#two) [y](c.md)", "b.md": "# One"}, [])
    ['a.md: b.md has no heading #two', 'a.md: c.md is not there']
    """
    anchors = {place: headings(text) for place, text in pages.items()}
    wrong = []
    for place, text in pages.items():
        for target in LINK.findall(FENCE.sub("", text)):
            path, _, anchor = target.partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            file = os.path.normpath(os.path.join(os.path.dirname(place), path)) if path else place
            if file not in pages and file not in files:
                wrong.append(f"{place}: {file} is not there")
            elif anchor and file in pages and anchor not in anchors[file]:
                wrong.append(f"{place}: {file} has no heading #{anchor}")
    return wrong


def headings(text: str) -> set[str]:
    """The anchors of a page, as MkDocs and GitHub make them.

    >>> sorted(headings("# One `two`\\n\\n## A, b?\\n\\n## A b { #c }"))
    ['a-b', 'c', 'one-two']
    """
    found: set[str] = set()
    for title, given in HEADING.findall(FENCE.sub("", text)):
        name = given or slug(title)
        number = 1
        unique = name
        while unique in found:
            unique, number = f"{name}_{number}", number + 1
        found.add(unique)
    return found | set(re.findall(r"^::: ([\w.]+)$", text, re.M))


def slug(title: str) -> str:
    """What a heading's anchor is made of: its letters, digits, hyphens and underscores."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


class _Page(HTMLParser):
    """The links, anchors and fetched addresses of a built page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and "href" in given and given.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(given["href"])
        elif "src" in given:
            self.fetched.append(given["src"])


def check_site(folder: Path) -> list[str]:
    """What is wrong with a built site: links that lead nowhere, and what it fetches from elsewhere."""
    read = {}
    for file in folder.rglob("*.html"):
        page = _Page()
        page.feed(file.read_text("utf-8"))
        read[file.resolve()] = page
    wrong = []
    for file, page in read.items():
        name = file.relative_to(folder.resolve()).as_posix()
        wrong += [
            f"{name} fetches {one}" for one in page.fetched if urlsplit(one).scheme in ("http", "https", "ws")
        ]
        if (file.parent.name in ("gallery", "lessons") and file.name != "index.html") or name == "404.html":
            continue  # pages that hold everything themselves; the error page, whose links begin at the root
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                wrong.append(f"{name}: {link} is not there")
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].anchors:
                wrong.append(f"{name}: {link} has no such place")
    return wrong


if __name__ == "__main__":
    found = check_site(Path(sys.argv[1]))
    if found:
        sys.exit("\n".join(found))
    count = len(list(Path(sys.argv[1]).rglob("*.html")))
    print(f"{count} pages, every link leads somewhere, nothing is fetched")
