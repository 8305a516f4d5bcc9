"""The studio in a browser without a graphics card: 100,000 points in Words, 512 tokens in Atlas and Head.

`python -m bench.studio` starts a studio and a Chromium that draws in software, and prints
a table for docs/studio.md: frames while panning, time to a head, bytes that travel for it.
`--only first` measures what a reader waits for: the first picture, the next room, an own text of 120 words.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

FRAMES = """() => {
  window.frames_seen = []
  const see = (now) => { window.frames_seen.push(now); window.frame_asked = requestAnimationFrame(see) }
  window.frame_asked = requestAnimationFrame(see)
}"""
IDLE = """() => document.querySelector('main') && !document.querySelector('[aria-busy=true]')
  && !/Fetching|Opening the studio|Looking for/.test(document.querySelector('main').innerText)"""
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Server:
    """A studio in a process of its own, asked as a program would ask it."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-m", "langscape.cli", "studio", "--no-open", "--port", "8970"]
        self._process = subprocess.Popen(
            [*command, "--store", str(store)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        said = next(line for line in self._process.stdout if line.startswith("http"))
        self.way_in = said.strip()
        self.address = self.way_in.partition("?")[0]
        self._key = (store / "studio" / "8970.key").read_text()

    def ask(self, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(self.address + path, body)
        request.add_header("Authorization", f"Bearer {self._key}")
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def run(self, ask: str, settings: dict[str, Any], **inputs: str) -> str:
        """The id of a job when it is done."""
        body = json.dumps({"analysis": ask, "settings": settings, "inputs": inputs}).encode()
        job = self.ask("api/jobs", body)
        while job["state"] in ("queued", "running"):
            time.sleep(0.3)
            job = self.ask(f"api/jobs/{job['id']}")
        if job["state"] != "done":
            raise SystemExit(f"{ask}: {job['state']}: {job['error']}")
        print(f"{ask} took {job['seconds']:.1f} s", file=sys.stderr)
        return job["id"]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def browser(way_in: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        arguments = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        chromium = playwright.chromium.launch(executable_path=path, args=arguments)
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script("try { localStorage.setItem('langscape-tour', '1') } catch {}")
        page.goto(way_in)
        page.wait_for_selector("nav[aria-label=Rooms]")
        yield page
        chromium.close()


def settled(page: Page) -> None:
    page.wait_for_function(IDLE, timeout=120_000)
    page.evaluate(DRAWN)


def opened(page: Page, address: str) -> tuple[float, int]:
    """Seconds until what is at the address is on screen, and bytes that came."""
    came = Bytes(page)
    page.goto("about:blank")
    start = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("[data-renderer], [data-head]", timeout=120_000)
    settled(page)
    return time.perf_counter() - start, came.stop()


class Bytes:
    """Bytes of the answers to a page, as they travelled."""

    def __init__(self, page: Page) -> None:
        self._page, self._sum = page, 0
        self._line = page.context.new_cdp_session(page)
        self._line.send("Network.enable")
        self._line.on("Network.loadingFinished", self._add)

    def _add(self, event: dict[str, Any]) -> None:
        self._sum += int(event["encodedDataLength"])

    def stop(self) -> int:
        self._page.wait_for_timeout(50)
        self._line.detach()
        return self._sum


def panned(page: Page, seconds: float) -> tuple[float, float]:
    """Frames a second, and the longest of twenty frames in ms, while the map is dragged about."""
    box = page.locator(".stage").first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(FRAMES)
    until, step = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        step += 1
        page.mouse.move(x + 120 * np.cos(step / 9), y + 80 * np.sin(step / 9))
    page.mouse.up()
    seen = np.diff(page.evaluate("() => (cancelAnimationFrame(frame_asked), frames_seen)"))
    return 1000 / statistics.mean(seen), float(np.quantile(seen, 0.95))


ROOMS = ("head", "queries", "words", "distributions", "flow", "compare", "jobs", "atlas")


def first(server: Server, page: Page) -> None:
    """What a reader waits for; the examples are computed before."""
    until = time.monotonic() + 600
    while any(job["state"] in ("queued", "running") for job in server.ask("api/jobs")["jobs"]):
        if time.monotonic() > until:
            raise SystemExit("the examples are not done after ten minutes")
        time.sleep(0.5)
    times = [opened(page, server.address)[0] for _ in range(3)]
    print(f"| the first picture | {statistics.median(times):.2f} s |")
    for turn in ("first", "again"):
        for room in ROOMS:
            start = time.perf_counter()
            page.locator(f"nav[aria-label=Rooms] a[href='#{room}']").click()
            page.wait_for_function("(room) => location.hash.startsWith(`#${room}`)", arg=room)
            page.wait_for_selector("main h1")
            settled(page)
            print(f"| room {room}, {turn} | {1000 * (time.perf_counter() - start):.0f} ms |")
    from langscape.sources import samples

    text = " ".join(samples.text("orchard").split()[:120])
    page.locator("nav[aria-label=Rooms] a[href='#atlas']").click()
    page.get_by_role("button", name="Your text").click()
    page.get_by_label("Text", exact=True).fill(f"{time.time():.0f} {text}")
    start = time.perf_counter()
    page.get_by_role("button", name="Map every head").click()
    page.wait_for_selector("[role=progressbar]")
    page.wait_for_selector("[role=progressbar]", state="detached", timeout=120_000)
    settled(page)
    print(f"| every head of an own text of 120 words | {time.perf_counter() - start:.1f} s |")


def words(server: Server, page: Page, count: int) -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, 12)) * 3
    X = centres[rng.integers(60, size=count)] + rng.normal(size=(count, 12))
    rows = "\n".join(f"w{i} " + " ".join(f"{one:.3f}" for one in x) for i, x in enumerate(X))
    given = server.ask("api/inputs?kind=vectors&name=many.txt", rows.encode())["id"]
    job = server.run("words", {"steps": 60, "neighbours": "perplexity", "perplexity": 10}, vectors=given)
    seconds, came = opened(page, f"{server.address}#words?job={job}")
    renderer = page.locator("[data-renderer]").first.get_attribute("data-renderer")
    frames, slow = panned(page, 6)
    print(f"| {count:,} words, opened | {seconds:.1f} s, {came / 1e6:.1f} MB |")
    print(f"| panned ({renderer}) | {frames:.0f} frames a second, one of twenty above {slow:.0f} ms |")
    box = page.locator(".stage").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.evaluate(FRAMES)
    for turn in range(20):
        page.mouse.wheel(0, -120 if turn < 10 else 120)
        page.wait_for_timeout(20)
    seen = np.diff(page.evaluate("() => (cancelAnimationFrame(frame_asked), frames_seen)"))
    print(f"| zoomed | {1000 / statistics.mean(seen):.0f} frames a second |")


def heads(server: Server, page: Page, tokens: int) -> None:
    from langscape.sources import samples

    text = " ".join(samples.text(name) for name in samples.texts()) * 3
    given = server.ask("api/inputs?kind=text&name=long.txt", text[: tokens * 6].encode())["id"]
    job = server.run("atlas", {"restarts": 1, "steps": 150}, text=given)
    seconds, came = opened(page, f"{server.address}#atlas?job={job}")
    print(f"| atlas of {tokens} tokens, opened | {seconds:.1f} s, {came / 1e6:.2f} MB |")
    counted = Bytes(page)
    start = time.perf_counter()
    page.locator("[data-head]").nth(3).click()
    page.wait_for_selector(".panel canvas")
    settled(page)
    page.wait_for_timeout(1)
    print(f"| a head beside the atlas | {time.perf_counter() - start:.2f} s, {counted.stop() / 1e6:.2f} MB |")
    seconds, came = opened(page, f"{server.address}#head?job={job}&layer=0&head=0")
    print(f"| room of one head, opened | {seconds:.1f} s, {came / 1e6:.2f} MB |")
    times, sizes = [], []
    for _ in range(8):
        counted = Bytes(page)
        before = page.evaluate("() => location.hash")
        start = time.perf_counter()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(before) => location.hash !== before", arg=before)
        settled(page)
        times.append(time.perf_counter() - start)
        sizes.append(counted.stop())
    print(f"| the next head | {statistics.median(times):.2f} s, {statistics.median(sizes) / 1e6:.2f} MB |")
    frames, slow = panned(page, 4)
    print(f"| its map panned | {frames:.0f} frames a second, one of twenty above {slow:.0f} ms |")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.studio", description=__doc__)
    options.add_argument("--points", type=int, default=100_000)
    options.add_argument("--tokens", type=int, default=512)
    options.add_argument("--only", choices=("first", "large"))
    options.add_argument("--store", type=Path, help="a store to keep, so that a second run computes nothing")
    asked = options.parse_args()
    store = asked.store or Path(tempfile.mkdtemp())
    server = Server(store)
    try:
        with browser(server.way_in) as page:
            print("| | |\n| --- | --- |")
            if asked.only in (None, "first"):
                first(server, page)
            if asked.only in (None, "large"):
                words(server, page, asked.points)
                heads(server, page, asked.tokens)
    finally:
        server.stop()
        if asked.store is None:
            shutil.rmtree(store, ignore_errors=True)


if __name__ == "__main__":
    main()
