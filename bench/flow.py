"""The flow page: how long a prompt takes to become one, how large it is, and how soon it answers a click.

`python -m bench.flow` prints the tables of docs/flow.md. Models are open before the clock starts; all cores
work. An interaction is timed in Chromium from the event to the frame after which what was asked for is drawn,
each of them at several tokens, layers and values: the first visit of a layer, which unpacks its heads, is
among them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BAR = 100.0
"""Milliseconds that an interaction may take."""

PROMPTS = {
    "lstm-tiny": ("the small dog that chases a bird barks .", "the cats near a bird sleep ."),
    "lstm": (
        "the people of the united states have the power to make peace with all nations .",
        "we must make our nation strong and free and the congress will do its part .",
    ),
    "decoder": (
        "The capital of France is Paris, and the old capital of Italy is called",
        "When the rain had stopped, the children ran out to the garden and found",
    ),
    "default": ("Rain fell on the harbour while the boats came in.", "A cold wind blew over the hills."),
}
"""Two for each model; those for the decoder are about 16 tokens long."""


@dataclass(frozen=True)
class Act:
    """Something a reader does: an event on an element, and what must be there before it counts as answered.

    at      where in the element it is clicked, from its top (0) to its bottom (1)
    shown   a condition in JavaScript on what is drawn
    """

    selector: str
    shown: str
    at: float = 0.5
    value: str | None = None


MEASURE = """async ({ selector, at, value }) => {
  const element = document.querySelector(selector)
  const box = element.getBoundingClientRect()
  const start = performance.now()
  if (value === null) {
    const place = { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height * at }
    element.dispatchEvent(new MouseEvent('click', place))
  } else {
    element.value = value
    element.dispatchEvent(new Event('change', { bubbles: true }))
  }
  // what runs after a frame's callbacks runs after that frame is laid out and painted
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
  do {
    await painted()
    if (performance.now() - start > 60000) throw new Error(`nothing is shown after ${selector}`)
  } while (!(SHOWN))
  return performance.now() - start
}"""


def timed(page: Any, act: Act) -> float:
    """Milliseconds from the event to the first painted frame that shows what was asked for."""
    # written into the source: the page's own policy lets no text become code later
    given = {"selector": act.selector, "at": act.at, "value": act.value}
    return page.evaluate(MEASURE.replace("SHOWN", act.shown), given)


def lstm_acts(layers: int, steps: int, repeats: int) -> dict[str, list[Act]]:
    """What a reader does on an LSTM's page, each several times."""
    told = "document.querySelector('[aria-label=\"How this value was made\"] [data-value]')"
    zoomed = "document.querySelector('[role=dialog]')"
    acts: dict[str, list[Act]] = {"step": [], "value → contributions": [], "word → its logit": []}
    acts |= {"zoom into an operation": [], "colour the gates": []}
    for i in range(repeats):
        step, layer, at = 1 + i % (steps - 1), i % layers, (i % 9 + 0.5) / 9
        now = f"document.querySelector(\"[data-step='{step}']\").ariaCurrent"
        acts["step"].append(Act(f"[data-step='{step}']", now))
        gate = ("forget gate", "input gate", "candidate", "output gate", "cell", "hidden")[i % 6]
        acts["value → contributions"].append(Act(f"[data-node='{gate} of layer {layer}']", told, at))
        acts["word → its logit"].append(Act(f"[data-word='{i % 5}']", told))
        made = ("forget", "hidden", "cell", "candidate")[i % 4]
        opened = f"{zoomed} && {zoomed}.querySelectorAll('figure').length > 1"
        acts["zoom into an operation"].append(Act(f"[data-operation='l{layer}.{made}']", opened))
        acts["colour the gates"].append(Act("aside input[type=checkbox]", "true"))
    return acts


def stream_acts(nodes: int, tokens: int, heads: int, repeats: int) -> dict[str, list[Act]]:
    """What a reader does on a transformer's page; layers and tokens are gone through far apart."""
    drawn = f"document.querySelectorAll('.heads figure').length >= {heads}"
    named = ["step", "node → logit lens and layer", "value → summands", "back to the embedding"]
    acts: dict[str, list[Act]] = {name: [] for name in (*named, "head → tokens it read", "another word")}
    layers = (nodes - 1) // 2
    for i in range(repeats):
        token, layer, at = (5 * i + 1) % tokens, (7 * i + 2) % layers, (i % 9 + 0.5) / 9
        now = f"document.querySelector(\"[data-step='{token}']\").ariaCurrent && {drawn}"
        acts["step"].append(Act(f"[data-step='{token}']", now))
        node = 2 * layer + 2
        cell = f"button[data-node='{node}'][data-token='{token}']"
        opened = f'document.querySelector("{cell}").classList.contains("chosen") && {drawn}'
        acts["node → logit lens and layer"].append(Act(cell, opened))
        summed = "document.querySelector('.sum [data-total]')"
        acts["value → summands"].append(Act("g[data-node$='after attention']", summed, at))
        back = "document.querySelectorAll('.sum li').length > 1"
        acts["back to the embedding"].append(Act(".sum input[type=checkbox]", back))
        told = "document.querySelector('.detail h3')"
        acts["head → tokens it read"].append(Act(f"[data-part='{layer}.{i % heads}']", told))
        acts["another word"].append(Act("select[aria-label=Word]", "true", value=str(i % 4)))
    return acts


OF_THE_PATH = ("head → tokens it read", "another word")
"""What is clicked beside the path to the word."""


def interactions(page: Any, view: Any, repeats: int) -> dict[str, list[float]]:
    """Milliseconds of every interaction with an open flow page."""
    tokens = len(view.properties["tokens"])
    if view.properties["model"] == "lstm":
        acts = lstm_acts(view.properties["layers"], tokens, repeats)
    else:
        page.get_by_role("tab", name="Layer by layer").click()
        acts = stream_acts(len(view.arrays["lens"]), tokens, view.properties["heads"], repeats)
    times: dict[str, list[float]] = {}
    for name, several in acts.items():
        times[name] = []
        if name in OF_THE_PATH:
            page.get_by_role("tab", name="Path to the word").click()
        for act in several:
            if page.locator(act.selector).count():
                times[name].append(timed(page, act))
                page.keyboard.press("Escape")
    return {name: found for name, found in times.items() if found}


def made(model: Any, prompt: str, file: Path) -> tuple[Any, float]:
    """The flow of a prompt, written as a page, and the seconds that took."""
    from langscape.analyses.flow import flow
    from langscape.views import write

    began = time.perf_counter()
    view = flow(model, prompt).view()
    write(view, file)
    return view, time.perf_counter() - began


def main() -> None:
    """Measure, and print both tables."""
    options = argparse.ArgumentParser(prog="python -m bench.flow", description=__doc__)
    options.add_argument("--repeats", type=int, default=15, help="times each interaction is done")
    options.add_argument("models", nargs="*", default=list(PROMPTS), help="packaged models; all if left out")
    asked = options.parse_args()
    from playwright.sync_api import sync_playwright

    from langscape.models import get_model, open_model

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    rows: list[str] = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        print(f"| model ({os.cpu_count()} cores) | tokens | first page | second prompt | page | opens in |")
        print("|---|---|---|---|---|---|")
        for name in asked.models:
            if name in ("default", "decoder"):
                get_model(name)
            model = open_model(name, device="cpu")
            file = Path(folder) / f"{name}.html"
            _, first = made(model, PROMPTS[name][0], file)
            view, second = made(model, PROMPTS[name][1], file)
            size = file.stat().st_size / 1e6
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            began = time.perf_counter()
            page.goto(file.as_uri())
            page.wait_for_selector("[data-ready]")
            opens = time.perf_counter() - began
            count = len(view.properties["tokens"])
            print(f"| {name} | {count} | {first:.1f} s | {second:.1f} s | {size:.1f} MB | {opens:.1f} s |")
            for act, times in interactions(page, view, asked.repeats).items():
                worst = f"{max(times):.0f}" + (" (above the bar)" if max(times) > BAR else "")
                rows.append(f"| {name} | {act} | {statistics.median(times):.0f} | {worst} |")
            page.close()
        browser.close()
    print(f"\n| model | interaction | median, ms | worst of {asked.repeats}, ms |\n|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
