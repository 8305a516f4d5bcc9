"""How fast a page of 100,000 points answers: from a click, or a move of the pointer, to the drawn answer.

    python -m bench.true_neighbours
    python -m bench.true_neighbours --points 20000 --tries 20

A map of made-up clusters with its true neighbours is written as a page and opened in Chromium without a
graphics card. A click chooses a point: its neighbours are found, named and drawn as lines. A move with the
switch "Colour by true distance" on recolours all points. What is said is the time from the event to the end
of the frame in which the answer is drawn, and the processor time of the page's own thread, which does not
grow where the machine is busy.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Items, Map
from langscape.metrics.true_neighbours import with_true_neighbours

_WATCH = """(kind) => {
  window.answered = new Promise((done) => {
    document.querySelector('.stage').addEventListener(kind, (event) => {
      const begun = event.timeStamp
      requestAnimationFrame(() => {
        const channel = new MessageChannel()
        channel.port1.onmessage = () => done(performance.now() - begun)
        channel.port2.postMessage(0)
      })
    }, { once: true, capture: true })
  })
}"""


def clusters(count: int, seed: int = 0) -> Map:
    """Points of a thousand clusters, laid out with some noise, and their true neighbours."""
    rng = np.random.default_rng(seed)
    X = (10 * rng.normal(size=(1000, 16))[rng.integers(0, 1000, count)]).astype(np.float32)
    X += rng.normal(size=X.shape).astype(np.float32)
    xy = X[:, :2] + 3 * rng.normal(size=(count, 2)).astype(np.float32)
    return with_true_neighbours(Map(xy, Items.numbered(count), quality={"k": 10.0}, vectors=X))


def times(page: Any, tries: int, seed: int = 0) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of every click and move: until the answer is drawn, and of the page's thread."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    rng = np.random.default_rng(seed)
    stage = page.locator(".stage")
    box = stage.bounding_box()
    across, up = rng.uniform(0.3, 0.7, (2, tries))
    places = box["x"] + box["width"] * across, box["y"] + box["height"] * up
    found: dict[str, list[tuple[float, float]]] = {"click": [], "move": []}
    for what, kind in (("click", "pointerup"), ("move", "pointermove")):
        if what == "move":
            page.get_by_role("switch", name="Colour by true distance").check()
        for x, y in zip(*places, strict=True):
            page.mouse.move(box["x"] + 4, box["y"] + 4)
            if what == "click":
                page.mouse.move(x, y)
            page.wait_for_timeout(150)
            page.evaluate(_WATCH, kind)
            before = busy()
            page.mouse.click(x, y) if what == "click" else page.mouse.move(x, y)
            took = float(page.evaluate("window.answered"))
            found[what].append((took, busy() - before))
    return found


def main() -> None:
    """Print the middle and the worst of all tries."""
    from playwright.sync_api import sync_playwright

    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--points", type=int, default=100_000)
    options.add_argument("--tries", type=int, default=15)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = clusters(asked.points).but(vectors=None).save(Path(folder) / "map.html")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(60_000)
        page.goto(path.as_uri())
        page.wait_for_selector(".stage canvas")
        page.wait_for_timeout(3000)
        for what, took in times(page, asked.tries).items():
            (drawn, busy), (worst, most) = np.median(took, axis=0), np.max(took, axis=0)
            print(
                f"{what}: {drawn:.0f} ms in the middle, {worst:.0f} ms at most; "
                f"busy for {busy:.0f} ms, {most:.0f} ms at most"
            )
        browser.close()


if __name__ == "__main__":
    main()
