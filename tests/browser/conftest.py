"""Opens exported pages in the system's Chromium. Any console error or foreign request fails the test."""

import os
import shutil
import sys
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

# scatter_hands must be importable by name
sys.path.insert(0, os.path.dirname(__file__))

from langscape.data import Items, Map
from langscape.store import Store
from langscape.studio import examples
from langscape.studio.access import Access
from langscape.studio.app import studio as studio_app
from langscape.studio.serve import Server, bind, config
from langscape.views import scatter, write

MARGIN = 44
# what is expected on screen may be computed first, and the machine may be busy
expect.set_options(timeout=60_000)
DRINKS, CAPITALS, ANIMALS = ["tea", "coffee", "milk"], ["oslo", "rome", "paris"], ["cat", "dog", "hen"]


def chromium() -> str | None:
    """The Chromium that CHROMIUM names, or else the system's."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def pytest_collection_modifyitems(items):
    named = os.environ.get("CHROMIUM")
    why = f"CHROMIUM={named} is no program" if named else "none is on the PATH"
    missing = pytest.mark.skip(
        f"needs Chromium, and {why}: install your system's package `chromium`, or set CHROMIUM to its path"
    )
    here = chromium() is not None
    for item in items:
        if item.path.is_relative_to(os.path.dirname(__file__)):
            item.add_marker(pytest.mark.browser)
            if not here:
                item.add_marker(missing)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        arguments = ["--enable-unsafe-swiftshader", "--no-sandbox", "--force-color-profile=srgb"]
        opened = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield opened
        opened.close()


@dataclass
class Opened:
    """A page of one map, and where its items are on screen."""

    page: Page
    map: Map
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def stage(self):
        return self.page.locator(".stage")

    def at(self, label):
        """The item's place in the window before anything was moved: the whole map, within its margin."""
        box = self.stage.bounding_box()
        low, high = self.map.xy.min(axis=0), self.map.xy.max(axis=0)
        margin = min(MARGIN, box["width"] / 12)
        scale = min(
            (box["width"] - 2 * margin) / (high[0] - low[0]),
            (box["height"] - 2 * margin) / (high[1] - low[1]),
        )
        x, y = (self.map.xy[self.map.labels.index(label)] - (low + high) / 2) * scale
        return box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y

    def hover(self, label):
        self.page.mouse.move(*self.at(label))

    def click(self, label, **modifiers):
        self.stage.click(position=self.inside(label), **modifiers)

    def inside(self, label):
        box = self.stage.bounding_box()
        x, y = self.at(label)
        return {"x": x - box["x"], "y": y - box["y"]}

    @property
    def tip(self):
        return self.page.locator(".tip")

    def pixel(self, label):
        """The colour at the item's middle, as (red, green, blue)."""
        return self.colour(*self.at(label))

    def colour(self, x, y):
        import io

        from PIL import Image

        clip = {"x": round(x) - 1, "y": round(y) - 1, "width": 3, "height": 3}
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        return Image.open(io.BytesIO(self.page.screenshot(clip=clip))).convert("RGB").getpixel((1, 1))


@pytest.fixture
def open_page(browser: Browser, tmp_path):
    """Opens views (or a map, as a scatter) from file://, in a fresh context."""
    opened = []

    def open_views(given, *, width=1280, height=800, wait=True, init=None, context=None, **options):
        views = scatter(given, title="Nine words") if isinstance(given, Map) else given
        path = write(views, tmp_path / f"page{len(opened)}.html")
        made = context or browser.new_context(viewport={"width": width, "height": height}, **options)
        page = made.new_page()
        if init:
            page.add_init_script(init)
        one = Opened(page, given if isinstance(given, Map) else None)
        page.on("request", lambda request: one.requests.append(request.url))
        page.on("pageerror", lambda error: one.errors.append(str(error)))
        page.on("console", lambda said: one.errors.append(said.text) if is_trouble(said) else None)
        page.on("dialog", lambda dialog: (one.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        if wait:
            page.wait_for_selector("[data-renderer]")
        opened.append((one, path.as_uri()))
        return one

    yield open_views
    for one, address in opened:
        foreign = [url for url in one.requests if url != address and not url.startswith(("blob:", "data:"))]
        assert foreign == []
        assert one.errors == []
        one.page.context.close()


class Studio:
    """A studio in a thread of this process, over a store of its own, with small examples."""

    def __init__(self, folder):
        self.store = Store(folder)
        self._bound = bind("127.0.0.1", 0, 1)
        self.access = Access("127.0.0.1", self._bound.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.access.port}/"
        self.app = studio_app(self.store, self.access, workers=1, warm="default")
        self._server = Server(config(self.app), self.app)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._bound]})
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)

    @property
    def jobs(self):
        return self.app.parts["jobs"]

    def example(self, ask):
        """The finished example of an ask, as the library reads it from the store."""
        id = self.app.parts["examples"][ask]
        until = time.monotonic() + 120
        while (record := self.jobs.get(id))["state"] != "done":
            assert record["state"] in ("queued", "running"), record
            assert time.monotonic() < until, record
            time.sleep(0.05)
        return self.app.parts["pictures"].finished(id).result

    def cancel_leftovers(self):
        """End what a test asked for and did not wait for: the next would wait behind it for the worker."""
        kept = set(self.app.parts["examples"].values())
        for record in self.jobs.all():
            if record["state"] in ("queued", "running") and record["id"] not in kept:
                self.jobs.cancel(record["id"])

    def stop(self):
        self._server.should_exit = True
        self._thread.join()
        self._bound.close()


SMALL = {
    "atlas": ({"restarts": 3, "steps": 120}, {"text": "sample-harbour"}),
    "words": ({"steps": 300}, {"vectors": "sample-words", "words": "sample-groups"}),
    "flow": ({"prompt": "cats that chase birds sing"}, {}),
    "query_key": ({"layer": 1, "head": 3, "tokens": 60, "steps": 100}, {"text": "sample-harbour"}),
    "compare": ({"layer": 1, "other_layer": 4, "restarts": 2, "steps": 100}, {"text": "sample-harbour"}),
    "effects": ({"verify": 4, "draws": 1, "first_tokens": 24}, {"text": "sample-harbour"}),
    "ellipses": ({"most": 14, "contexts": 8, "perplexity": 4.0}, {"corpus": "sample-corpus"}),
}


@pytest.fixture(scope="session")
def studio(tmp_path_factory):
    """One studio for all browser tests; its examples are made small, so that they are there soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examples, "examples", lambda: SMALL)
        one = Studio(tmp_path_factory.mktemp("studio") / "store")
    yield one
    one.stop()


@pytest.fixture
def open_studio(browser: Browser, studio):
    """Opens the studio at a place (what stands after the #), in a fresh context."""
    opened = []

    def open_at(place="", *, width=1440, height=900, refusals=False, tour=False, **options):
        made = browser.new_context(viewport={"width": width, "height": height}, **options)
        # the offer of a tour is for first visits, and would lie over what is clicked
        made.add_init_script("localStorage.setItem('langscape-tour', '1')" if not tour else "")
        page = made.new_page()
        one = Opened(page, None)
        page.on("request", lambda request: one.requests.append(request.url))
        page.on("pageerror", lambda error: one.errors.append(str(error)))
        # What the server refuses, the browser logs as an error of its own.
        refused = "Failed to load resource" if refusals else None
        page.on(
            "console",
            lambda said: (
                one.errors.append(said.text)
                if is_trouble(said) and not (refused and said.text.startswith(refused))
                else None
            ),
        )
        page.goto(f"{studio.access.new_address()}#{place}")
        page.wait_for_selector("nav[aria-label=Rooms]")
        opened.append(one)
        return one

    yield open_at
    for one in opened:
        own = (studio.address, "blob:", "data:")
        assert [url for url in one.requests if not url.startswith(own)] == []
        assert one.errors == []
        one.page.context.close()
    studio.cancel_leftovers()


def is_trouble(said):
    # A screenshot of software WebGL reads pixels back, of which the driver warns; so does a test of a canvas.
    own = ("GPU stall due to ReadPixels", "willReadFrequently")
    return said.type == "error" or (said.type == "warning" and not any(one in said.text for one in own))


@pytest.fixture
def nine():
    """Nine words in three groups, far enough apart to be hit one by one."""
    return nine_words()


def nine_words(**fields):
    xy = np.array(
        [[0, 0], [2, 0], [0, 2], [10, 0], [12, 0], [10, 2.5], [0, 10], [2.2, 10], [0, 12]], dtype=float
    )
    groups = ["drinks"] * 3 + ["capitals"] * 3 + ["animals"] * 3
    count = np.array([5.0, 9, 1, 20, 40, 35, 8, 7, np.nan])
    items = Items(DRINKS + CAPITALS + ANIMALS, {"group": groups, "count": count})
    quality = {"local": 0.53, "local_sd": 0.1, "global": 0.41, "k": 2.0, "rows": 9.0}
    made = {"kl": 0.694, "kls": np.array([0.694, 0.71, 0.75]), "settings": {"perplexity": 2.0, "seed": 0}}
    return Map(xy, items, **{"quality": quality, **made, **fields})


@pytest.fixture(scope="session")
def axe(pytestconfig):
    path = pytestconfig.rootpath / "web/node_modules/axe-core/axe.min.js"
    if not path.is_file():
        pytest.fail(f"{path} is missing: run `npm ci` in web/", pytrace=False)
    return path.read_text(encoding="utf-8")
