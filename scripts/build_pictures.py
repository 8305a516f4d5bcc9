"""Make the pictures of the README and the docs again: `python scripts/build_pictures.py [NAME …]`.

The studio's rooms are photographed in the system's Chromium, over the user's own store: what is not
computed yet is computed first.
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from langscape import affinity, embed, insert, sources, views
from langscape.cli.demo import INSERTED, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from PIL.Image import Image
    from playwright.sync_api import Page

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
ROOMS = {
    "atlas": ("atlas", ""),
    "head": ("atlas", "layer=1&head=8&sel=*8:harbour"),
    "queries": ("query_key", "sel=*8:harbour"),
    "words": ("words", "insert=money,music&sel=*:money"),
    "distributions": ("ellipses", "sel=*:bank"),
    "flow": ("flow", ""),
    "test": ("effects", ""),
    "compare": ("compare", "left.moves=1&right.moves=1"),
    "jobs": ("", ""),
}
"""Room: the analysis whose example it shows, and what else its address says."""

WINDOWS = {"wide": (1440, 900), "narrow": (390, 844)}
THEMES = ("light", "dark")
HEIGHT = 560
"""Pixels that a window is high on a sheet of all four."""


def words() -> None:
    """The map of the README: the sample words of `langscape demo`, and the words it inserts."""
    listed = sources.samples.words(groups_only=True)
    more = sources.samples.words().take(INSERTED)
    mapped = embed(affinity.local(listed.matrix, 25, items=listed.items()))
    grown = insert(mapped, more.matrix, more.words)
    views.write(views.scatter(grown, color="group", title=TITLE), PICTURES / "words.png")


@contextmanager
def studio_page() -> Iterator[tuple[Page, str]]:
    """A page of a studio over the user's own store, and its address."""
    from playwright.sync_api import sync_playwright

    from langscape.store import Store
    from langscape.studio.access import Access
    from langscape.studio.app import studio as application
    from langscape.studio.serve import Server, bind, config

    bound = bind("127.0.0.1", 0, 1)
    access = Access("127.0.0.1", bound.getsockname()[1])
    app = application(Store(), access, examples=False)
    server = Server(config(app), app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
            )
            context = chromium.new_context(viewport={"width": 1280, "height": 800})
            # no offer of a tour over the picture
            context.add_init_script("localStorage.setItem('langscape-tour', '1')")
            page = context.new_page()
            while not server.started:
                time.sleep(0.05)
            page.goto(access.new_address())
            page.wait_for_selector("nav[aria-label=Rooms]")
            yield page, f"http://127.0.0.1:{access.port}/"
            chromium.close()
    finally:
        server.should_exit = True
        thread.join()


def studio() -> None:
    """Every room of the studio, in a wide and a narrow window, light and dark."""
    with studio_page() as (page, address):
        places = {room: f"{address}#{room}?{example(page, one)}{more}" for room, (one, more) in ROOMS.items()}
        for room, place in places.items():
            looks = [(size, theme) for theme in THEMES for size in WINDOWS.values()]
            sheet([photograph(page, place, *look) for look in looks], room)
        keep(photograph(page, f"{places['atlas']}&grid.head=1.8", (1280, 800), "light"))


def induction() -> None:
    """Head 18.6 before and after head 16.0 is taken away, as three clicks show it."""
    edits = {"model": "decoder", "edits": ["head 16.0 mean"]}
    shown = "picture=attention&attention.with.layer=18&attention.with.head=6"
    with studio_page() as (page, address):
        job = asked(page, "edit", edits, {"text": "sample-pattern"})
        seen = photograph(page, f"{address}#test?{job}{shown}", (1440, 660), "light")
        seen.save(PICTURES / "induction.webp", quality=82, method=6)


def example(page: Page, analysis: str) -> str:
    """What the address says of the example of an analysis, once it is computed; nothing for no analysis."""
    from langscape.studio.examples import examples

    if not analysis:
        return ""
    return asked(page, analysis, *examples()[analysis])


def asked(page: Page, analysis: str, settings: Mapping[str, object], inputs: Mapping[str, str]) -> str:
    """What the address says of a job, once it is computed."""
    body = {"analysis": analysis, "settings": settings, "inputs": inputs}
    tell = "(body) => fetch('/api/jobs', {method: 'POST', headers: {'content-type': 'application/json', 'langscape-key': localStorage.getItem('langscape-key')}, body: JSON.stringify(body)}).then((a) => a.json())"  # noqa: E501
    while (job := page.evaluate(tell, body)).get("state") in ("queued", "running"):
        time.sleep(0.5)
    if job.get("state") != "done":
        raise SystemExit(f"{analysis}: {job}")
    return f"job={job['id']}&"


def photograph(page: Page, place: str, size: tuple[int, int], theme: str) -> Image:
    """The window at an address, once everything there is drawn."""
    from PIL import Image

    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto("about:blank")
    page.goto(place)
    page.wait_for_selector("main h1")
    page.wait_for_timeout(1500)
    page.wait_for_function("() => !document.querySelector('.frame[aria-busy=true]')", timeout=180_000)
    page.wait_for_timeout(1500)
    if page.get_by_text("the picture comes here").count():
        raise SystemExit(f"{place} shows a form and no picture")
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def keep(seen: Image) -> None:
    """The picture of the first page of the documentation."""
    seen.save(PICTURES / "studio-atlas.png", optimize=True)


def sheet(windows: Sequence[Image], room: str) -> None:
    """A room in a wide and a narrow window, light above dark, as one small picture."""
    from PIL import Image

    small = [
        one.resize((round(one.width * HEIGHT / one.height), HEIGHT), Image.Resampling.LANCZOS)
        for one in windows
    ]
    gap = 12
    wide = small[0].width + gap + small[1].width
    whole = Image.new("RGB", (wide, 2 * HEIGHT + gap), "#8a8f98")
    for at, one in enumerate(small):
        whole.paste(one, ((at % 2) * (small[0].width + gap), (at // 2) * (HEIGHT + gap)))
    whole.save(PICTURES / f"room-{room}.webp", quality=82, method=6)


if __name__ == "__main__":
    made = {"words": words, "studio": studio, "induction": induction}
    for name in sys.argv[1:] or made:
        made[name]()
