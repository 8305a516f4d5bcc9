"""Markup and formulas as labels, names and texts: in every room, every exported file, and the widget.

They are letters wherever they appear. Nothing of them runs, no element is made of them, nothing is fetched.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import html.parser
import json
import re
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack.budget import Budget
from tests.attack.report import Row

from langscape.data import Context, Gaussians, Items, Map
from langscape.sources import Vectors, write_vectors
from langscape.views import scatter, write

RAN = "window.__ran = (window.__ran || 0) + 1"
PAYLOADS: tuple[str, ...] = (
    f'<img src=x onerror="{RAN}">', f"<script>{RAN}</script>", f"</script><script>{RAN}</script>",
    f'"><script>{RAN}</script>', f"'><svg onload='{RAN}'>", f"<svg><script>{RAN}</script></svg>",
    f'<iframe srcdoc="<script>parent.{RAN}</script>"></iframe>', f'<a href="javascript:{RAN}">a link</a>',
    f"javascript:{RAN}", f'<details open ontoggle="{RAN}">x</details>', f'<body onload="{RAN}">',
    f'<input autofocus onfocus="{RAN}">', f'<math><mi xlink:href="javascript:{RAN}">x</mi></math>',
    f"</title><script>{RAN}</script>", f"</textarea><script>{RAN}</script>",
    f"</style><script>{RAN}</script>",
    f"--><script>{RAN}</script>", f"]]><script>{RAN}</script>", f"{{{{constructor.constructor('{RAN}')()}}}}",
    f"${{{RAN}}}", f"`-({RAN})-`", f'<object data="data:text/html,<script>{RAN}</script>"></object>',
    '<link rel=stylesheet href="http://evil.example/a.css">', '<base href="http://evil.example/">',
    '<meta http-equiv=refresh content="0;url=http://evil.example/">', '<form action="http://evil.example/">',
    '<style>@import "http://evil.example/a.css";</style>', "\u2028\u2029&lt;b&gt;", "&#60;img src=x&#62;",
    "__proto__", "constructor",
)  # fmt: skip
FORMULAS = (
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1+1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://evil.example")',
)
LABELS = (*PAYLOADS, *FORMULAS)

DRAWN = "[data-renderer], [data-head], canvas, svg[role], table"
"""What a page has once its view is drawn, whatever its kind."""

ELEMENTS = """() => {
  const found = []
  const bad = 'iframe, object, embed, base, math, form[action], meta[http-equiv=refresh], ' +
    'link[href*=evil], img[src=x], a[href^="javascript:" i], ' +
    '[onerror], [onload], [ontoggle], [onfocus], [onclick]'
  const look = (root) => {
    for (const one of root.querySelectorAll(bad)) found.push(one.outerHTML.slice(0, 120))
    for (const one of root.querySelectorAll('*')) if (one.shadowRoot) look(one.shadowRoot)
  }
  look(document)
  return [window.__ran || 0, found, location.href]
}"""
"""What ran, which elements are there that no page of ours has, and where the page is now."""


def run(budget: Budget) -> Iterator[Row]:
    """Files first; with the full budget rooms, pages and widgets in Chromium."""
    with tempfile.TemporaryDirectory() as place:
        yield files(Path(place), PAYLOADS if budget.every else PAYLOADS[:3])
    if budget.every:
        with tempfile.TemporaryDirectory() as place, Rooms(Path(place)) as rooms:
            yield rooms.walk()
            yield rooms.open_exports()
            yield rooms.show_widgets()


def a_map() -> Map:
    """A map whose every text is a payload."""
    n = len(LABELS)
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    columns = {
        PAYLOADS[0]: list(LABELS),
        "group": [LABELS[(i * 7) % n] for i in range(n)],
        "=1+1": np.arange(n),
    }
    return Map(
        np.column_stack([np.cos(angles), np.sin(angles)]), Items(LABELS, columns), kl=0.5,
        settings={PAYLOADS[1]: PAYLOADS[2]}, quality={"local": 0.5}, notes=PAYLOADS[:5],
        vectors=np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32),
    )  # fmt: skip


def files(place: Path, titles: Sequence[str]) -> Row:
    """A scatter of payloads as every kind of file, looked at as text."""
    findings, formats = [], ("html", "svg", "csv", "pdf", "png", "parquet")
    for title in titles:
        view = scatter(a_map(), title=title)
        for format in formats if title == titles[0] else ("html",) if len(titles) < 9 else ("html", "svg"):
            path = write(view, place / f"view.{format}")
            findings += [f"{format} with the title {title!r}: {said}" for said in wrong_in(path)]
    return Row(
        "scripts",
        "In an exported file a label is text: no element, no script, no formula is made of it",
        f"{len(LABELS)} payloads as labels, columns, settings, notes and titles, in {len(formats)} formats",
        f"{len(findings)} elements or formulas",
        findings,
    )


def wrong_in(path: Path) -> list[str]:
    """What in an exported file is more than text."""
    if path.suffix == ".html":
        found = _Elements()
        found.feed(path.read_text(encoding="utf-8"))
        return found.wrong
    if path.suffix == ".svg":
        tree = xml.etree.ElementTree.fromstring(path.read_text(encoding="utf-8"))
        tags = [one.tag.rpartition("}")[2].lower() for one in tree.iter()]
        said = [f"an element {tag}" for tag in tags if tag in ("script", "foreignobject", "iframe", "image")]
        named = [(name.lower(), value) for one in tree.iter() for name, value in one.attrib.items()]
        said += [f"an attribute {name}" for name, value in named if name.startswith("on")]
        return said + [
            f"a link {value}" for name, value in named if "javascript:" in value and "href" in name
        ]
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
        cells = [cell for row in rows for cell in row]
        return [
            f"the formula {cell!r}"
            for cell in cells
            if cell[:1] in tuple("=+-@\t\r") and not _is_number(cell)
        ][:5]
    return []


class _Elements(html.parser.HTMLParser):
    """Elements and attributes that no page of ours has; what is within a script or a style is skipped."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("iframe", "object", "embed", "base", "form", "math", "img", "input", "details", "a"):
            self.wrong.append(f"an element {tag}")
        self.wrong += [f"an attribute {name}" for name, _ in attributes if name.startswith("on")]
        if tag == "meta" and ("http-equiv", "refresh") in attributes:
            self.wrong.append("a refresh")

    def handle_data(self, data: str) -> None:
        if data.strip().startswith("window.__ran"):
            self.wrong.append("a script of a label")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


class Rooms:
    """A studio whose every input and name is a payload, a job of every ask, and a browser to look at it."""

    ASKS: tuple[tuple[str, str, dict[str, Any], dict[str, str]], ...] = (
        ("atlas", "atlas", {"restarts": 1, "steps": 60, "cut": True}, {"text": "text"}),
        ("head", "head", {"layer": 1, "head": 3, "restarts": 1, "steps": 60, "cut": True}, {"text": "text"}),
        ("hidden", "head", {"layer": 1, "restarts": 1, "steps": 60, "cut": True}, {"text": "text"}),
        ("query_key", "queries", {"layer": 1, "head": 3, "tokens": 60, "steps": 60}, {"text": "text"}),
        ("query_key.grid", "queries", {"tokens": 16, "steps": 50}, {"text": "text"}),
        ("query_key.scale", "queries", {"tokens": 60}, {"text": "text"}),
        ("flow", "flow", {"model": "default", "prompt": PAYLOADS[0]}, {}),
        ("words", "words", {"steps": 60, "perplexity": 5.0}, {"vectors": "vectors", "words": "words"}),
        ("ellipses", "distributions", {"perplexity": 4.0}, {"gaussians": "gaussians"}),
        ("ellipses", "distributions", {"perplexity": 2.0, "by": PAYLOADS[0]}, {"table": "table"}),
        (
            "compare",
            "compare",
            {"what": "words", "perplexity": 5.0, "steps": 60},
            {"vectors": "vectors", "other_vectors": "other"},
        ),
    )
    """Ask, room, settings, and the inputs by kind."""

    def __init__(self, folder: Path) -> None:
        from playwright.sync_api import sync_playwright
        from tests.browser.conftest import Studio

        from langscape.studio import examples

        kept, examples.examples = examples.examples, dict
        try:
            self.studio = Studio(folder / "store")
        finally:
            examples.examples = kept
        self.folder = folder
        self.failed: list[str] = []
        self._ends = contextlib.ExitStack()
        self._ends.callback(self.studio.stop)
        try:
            playwright = self._ends.enter_context(sync_playwright())
            self.browser = playwright.chromium.launch(
                executable_path=chromium(), args=["--enable-unsafe-swiftshader", "--no-sandbox"]
            )
            self._ends.callback(self.browser.close)
            self.pictures = self.studio.app.parts["pictures"]
            self.jobs = self._begun()
        except BaseException:
            self._ends.close()
            raise

    def __enter__(self) -> Rooms:
        return self

    def __exit__(self, *raised: object) -> None:
        self._ends.close()

    def walk(self) -> Row:
        """Every room, with every job it can show; a job that markup makes fail is a finding too."""
        findings = list(self.failed)
        context = self.browser.new_context(viewport={"width": 1400, "height": 900})
        page, heard = self._page(context)
        page.goto(self.studio.access.new_address())
        page.wait_for_selector("nav[aria-label=Rooms]")
        visits = [(room, f"{room}?job={id}") for _, room, id in self.jobs] + [("jobs", "jobs")]
        visits += [("head", f"head?job={id}&layer=1&head=2") for ask, _, id in self.jobs if ask == "atlas"]
        visits += [
            ("words", f"words?job={id}&sel=*:{PAYLOADS[0]}") for ask, _, id in self.jobs if ask == "words"
        ]
        for room, place in visits:
            page.goto(f"{self.studio.address}#{place}")
            page.reload()
            page.wait_for_selector("nav[aria-label=Rooms]")
            with contextlib.suppress(Exception):  # the room of jobs draws nothing
                page.wait_for_selector(DRAWN, timeout=20_000)
            self._touch(page)
            findings += [
                f"room {room} at {place[:60]}: {said}"
                for said in self._seen(page, heard, self.studio.address)
            ]
        context.close()
        rooms = len({room for room, _ in visits})
        return Row(
            "scripts",
            "In every room of the studio labels, names and texts are text",
            f"{len(visits)} pages of {rooms} rooms, {len(PAYLOADS)} payloads, in Chromium",
            f"{len(findings) - len(self.failed)} ran, became elements or fetched; "
            f"{len(self.failed)} jobs failed",
            findings,
        )

    def open_exports(self) -> Row:
        """Every view of every job as a page and as a picture, opened from the disk."""
        findings: list[str] = []
        context = self.browser.new_context()
        opened = 0
        for ask, name, id in self._views():
            for format in ("html", "svg", "csv"):
                path = self.pictures.export(id, name, format, self._query(ask, name), self.folder)
                findings += [f"{ask} {name}: {said}" for said in (wrong_in(path) if format == "csv" else ())]
                if format == "csv":
                    continue
                page, heard = self._page(context)
                page.goto(path.as_uri())
                if format == "html":
                    page.wait_for_selector(DRAWN, timeout=60_000)
                    self._touch(page)
                opened += 1
                findings += [
                    f"{format} of {ask} {name}: {said}" for said in self._seen(page, heard, path.as_uri())
                ]
                page.close()
        context.close()
        return Row(
            "scripts",
            "In every exported page and picture labels are text, and nothing is fetched",
            f"{opened} files of {len(self._views())} views, in Chromium",
            f"{len(findings)} ran, became elements or fetched",
            findings,
        )

    def show_widgets(self) -> Row:
        """Every view in the widget of notebooks, which has no policy of ours around it."""
        from tests.browser.test_widget_page import HOST

        from langscape.views.page import STATIC

        findings: list[str] = []
        source = (STATIC / "widget.js").read_text(encoding="utf-8")
        context = self.browser.new_context(viewport={"width": 1100, "height": 700})
        for ask, name, id in self._views():
            told = self.pictures.view(id, name, self._query(ask, name))
            layout, data = {}, b""
            for key, one in told["arrays"].items():
                raw = self.pictures.array(id, name, key, self._query(ask, name))
                layout[key] = {
                    "dtype": one["dtype"],
                    "shape": one["shape"],
                    "at": len(data),
                    "bytes": len(raw),
                }
                data += raw + b"\0" * (-len(raw) % 8)
            picture = {"kind": told["kind"], "properties": told["properties"], "arrays": layout}
            traits = {"pictures": json.dumps([picture]), "picture": 0, "rows": [], "height": 500}
            page, heard = self._page(context)
            page.set_content("<div id='cell'></div>")
            page.evaluate(HOST, [source, traits, base64.b64encode(data).decode()])
            page.wait_for_selector(DRAWN, timeout=60_000)
            self._touch(page)
            findings += [f"widget of {ask} {name}: {said}" for said in self._seen(page, heard, "about:blank")]
            page.close()
        context.close()
        return Row(
            "scripts",
            "In the widget of notebooks labels are text, and nothing is fetched",
            f"{len(self._views())} views, {len(PAYLOADS)} payloads, in Chromium",
            f"{len(findings)} ran, became elements or fetched",
            findings,
        )

    def _begun(self) -> list[tuple[str, str, str]]:
        """(ask, room, job) of every ask, done."""
        given = {key: self._given(*one) for key, one in inputs().items()}
        jobs = self.studio.app.parts["jobs"]
        begun = []
        for ask, room, settings, wanted in self.ASKS:
            record, _ = jobs.request(ask, settings, {name: given[kind] for name, kind in wanted.items()})
            begun.append((ask, room, record["id"]))
        until = time.monotonic() + 600
        for ask, room, id in list(begun):
            while (record := jobs.get(id))["state"] in ("queued", "running"):
                if time.monotonic() > until:
                    raise AssertionError(f"{ask} is not done after ten minutes")
                time.sleep(0.1)
            if record["state"] != "done":
                self.failed.append(f"{ask} with payloads ended as {record['state']}: {record['error']}")
                begun.remove((ask, room, id))
        return begun

    def _given(self, kind: str, name: str, data: bytes) -> Any:
        held = self.studio.app.parts["inputs"]
        with self.studio.store.receiving() as file:
            file.write_bytes(data)
            return held.get(held.add(kind, name, file)["id"], kind)

    def _views(self) -> list[tuple[str, str, str]]:
        """(ask, view, job) of every view of every job."""
        from langscape.studio.forms import offered

        return [(ask, one.name, id) for ask, _, id in self.jobs for one in offered(ask).pictures]

    def _query(self, ask: str, view: str) -> dict[str, str]:
        return (
            {"layer": "1", "head": "2"} if (ask, view) in (("atlas", "head"), ("atlas", "attention")) else {}
        )

    def _page(self, context: Any) -> tuple[Any, list[str]]:
        page, heard = context.new_page(), []
        page.on("request", lambda request: heard.append(f"fetched {request.url}"))
        page.on("dialog", lambda dialog: (heard.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("popup", lambda other: heard.append(f"opened {other.url}"))
        page.on("console", lambda said: heard.append(f"said {said.text}") if "Refused" in said.text else None)
        return page, heard

    def _touch(self, page: Any) -> None:
        """Hover over everything, and walk through it by the keyboard, so that tips and notes open."""
        box = page.locator(".stage, [data-renderer]").first
        with contextlib.suppress(Exception):
            place = box.bounding_box(timeout=2_000)
            for row in range(1, 6):
                for column in range(1, 8):
                    page.mouse.move(
                        place["x"] + place["width"] * column / 8, place["y"] + place["height"] * row / 6
                    )
        with contextlib.suppress(Exception):
            page.get_by_label(re.compile("Search")).first.fill("<img", timeout=1_000)
            page.keyboard.press("Enter")
        for _ in range(10):
            page.keyboard.press("Tab")

    def _seen(self, page: Any, heard: list[str], address: str) -> list[str]:
        """What is wrong on the page, and what was heard of it; both are then forgotten."""
        ran, elements, where = page.evaluate(ELEMENTS)
        own = (f"fetched {address}", "fetched blob:", "fetched data:", "fetched about:")
        said = [one for one in heard if not one.startswith(own)]
        said += [f"{ran} scripts ran"] * bool(ran) + [f"an element {one}" for one in elements]
        said += [f"the page went to {where}"] * ("evil" in where)
        heard.clear()
        return said


def inputs() -> dict[str, tuple[str, str, bytes]]:
    """What is given to the studio: kind, name and bytes, payloads in all of them."""
    name = PAYLOADS[0].replace("/", "")
    words = list(dict.fromkeys(label.replace("\t", " ").strip() for label in LABELS))
    rng = np.random.default_rng(0)
    n = len(words)
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "v.npz"
        write_vectors(vectors, Vectors(words, rng.normal(size=(n, 4))))
        other = Path(folder) / "o.npz"
        write_vectors(other, Vectors(words, rng.normal(size=(n, 4))))
        contexts = [[Context(f"before {word} after", 7, 7 + len(word))] * 2 for word in words]
        gaussians = Path(folder) / "g.safetensors"
        Gaussians(
            rng.normal(size=(n, 4)), rng.random((n, 4)), Items(words, {PAYLOADS[2]: words}), [2] * n,
            contexts=contexts, samples=rng.normal(size=(2 * n, 4)),
            metadata={"model": PAYLOADS[1]}, notes=PAYLOADS[:3],
        ).save(gaussians)  # fmt: skip
        listed = "".join(
            f'"{word.replace(chr(34), chr(34) * 2)}","{_quoted(words[-1 - at])}"\n'
            for at, word in enumerate(words)
        )
        rows = "".join(f'"{_quoted(words[i % 12])}",{i / 7:.3f},{i * i}\n' for i in range(48))
        return {
            "vectors": ("vectors", f"{name}.npz", vectors.read_bytes()),
            "other": ("vectors", f"other {name}.npz", other.read_bytes()),
            "gaussians": ("gaussians", f"{name}.safetensors", gaussians.read_bytes()),
            "words": ("words", f"{name}.csv", f"word,group\n{listed}".encode()),
            "table": (
                "table",
                f"{name}.csv",
                f'"{_quoted(PAYLOADS[0])}","{_quoted(PAYLOADS[1])}",b\n{rows}'.encode(),
            ),
            "text": ("text", f"{name}.txt", b"The cat sat on the mat. " + " ".join(PAYLOADS[:6]).encode()),
        }


def _quoted(cell: str) -> str:
    return cell.replace('"', '""')


def chromium() -> str:
    """The system's Chromium."""
    import os
    import shutil

    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise AssertionError("the campaign `scripts` needs Chromium: install it, or set CHROMIUM to its path")
    return found
