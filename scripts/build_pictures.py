"""Make the pictures of the README and the docs again: `python scripts/build_pictures.py [words] [studio]`.

The studio's rooms are photographed in the system's Chromium, over the user's own store: what is not
computed yet is computed first.
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from langscape import affinity, embed, insert, sources, views
from langscape.cli.demo import INSERTED, TITLE

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
ROOMS = {
    "atlas": ("atlas", "grid.head=1.8&sel=*8:harbour"),
    "head": ("head", "head.ghosts=1&sel=*8:harbour"),
    "queries": ("query_key", "sel=*8:harbour"),
    "words": ("words", "insert=money,music&sel=*:money"),
    "distributions": ("ellipses", "sel=*:bank"),
    "flow": ("flow", "flow.step=4"),
    "compare": ("compare", ""),
}
"""Room: the ask whose example it shows, and what else its address says."""


def words() -> None:
    """The map of the README: the sample words of `langscape demo`, and the words it inserts."""
    listed = sources.samples.words(groups_only=True)
    more = sources.samples.words().take(INSERTED)
    mapped = embed(affinity.local(listed.matrix, 25, items=listed.items()))
    grown = insert(mapped, more.matrix, more.words)
    views.write(views.scatter(grown, color="group", title=TITLE), PICTURES / "words.png")


def studio() -> None:
    """Every room of the studio, as it is after a few clicks."""
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
            page = chromium.new_page(viewport={"width": 1280, "height": 800})
            page.add_init_script("localStorage.setItem('langscape-tour', '1')")  # no offer over the picture
            while not server.started:
                time.sleep(0.05)
            address = f"http://127.0.0.1:{access.port}/"
            page.goto(access.new_address())
            page.wait_for_selector("nav[aria-label=Rooms]")
            for room, (ask, more) in ROOMS.items():
                photograph(page, address, room, ask, more)
            page.goto(f"{address}#jobs")
            page.wait_for_timeout(1500)
            keep(page, "jobs")
            chromium.close()
    finally:
        server.should_exit = True
        thread.join()


def photograph(page: Page, address: str, room: str, ask: str, more: str) -> None:
    """The room with the example of its ask, once it is there and drawn."""
    from langscape.studio.examples import examples

    settings, inputs = examples()[ask]
    body = {"analysis": ask, "settings": settings, "inputs": inputs}
    tell = "(body) => fetch('/api/jobs', {method: 'POST', headers: {'content-type': 'application/json', 'langscape-key': localStorage.getItem('langscape-key')}, body: JSON.stringify(body)}).then((a) => a.json())"  # noqa: E501
    while (job := page.evaluate(tell, body)).get("state") in ("queued", "running"):
        time.sleep(0.5)
    if job.get("state") != "done":
        raise SystemExit(f"{room}: {job}")
    page.goto(f"{address}#{room}?job={job['id']}&{more}")
    page.reload()
    page.wait_for_selector(".frame[aria-busy=false]")
    page.wait_for_timeout(2500)
    keep(page, room)


def keep(page: Page, room: str) -> None:
    """The window as a PNG; fewer colours would tint the ground or take them from small marks."""
    from PIL import Image

    seen = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    seen.save(PICTURES / f"studio-{room}.png", optimize=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["words", "studio"]:
        {"words": words, "studio": studio}[name]()
