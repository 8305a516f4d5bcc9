"""What a notebook without a kernel shows: a page within a frame, drawn in a real browser."""

import numpy as np
from playwright.sync_api import expect

from conftest import ANIMALS, CAPITALS, DRINKS
from langscape import Items, Map, notebook


def test_two_outputs_of_one_page_draw_themselves_in_their_frames(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    words = DRINKS + CAPITALS + ANIMALS
    found = Map(np.random.default_rng(0).normal(size=(9, 2)), Items(words), kl=0.5)
    output = found._repr_mimebundle_()["text/html"]
    cells = "".join(f"<div class=cell>{output}</div>" for _ in range(2))
    (tmp_path / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8>{cells}", encoding="utf-8")
    page = browser.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "notebook.html").as_uri())
    for at in range(2):
        frame = page.frame_locator("iframe").nth(at)
        expect(frame.locator("canvas").first).to_be_visible()
    page.frame_locator("iframe").first.locator(".stage").hover()
    page.mouse.wheel(0, 60)
    expect(page.frame_locator("iframe").first.locator(".wheel-hint")).to_be_visible()
    page.wait_for_function("() => document.scrollingElement.scrollTop === 60")
    page.screenshot(path=tmp_path / "notebook.png")
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "about:", "data:", "blob:"))] == []
    page.close()
