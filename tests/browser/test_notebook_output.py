"""What a notebook without a kernel shows: a page within a frame, drawn in a real browser."""

import html

import numpy as np
import pytest
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


# The policy that VS Code puts around outputs; Colab shows each output in a frame of its own.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src https: http: data:; font-src https:; connect-src https:; child-src https: data:"
)


@pytest.mark.parametrize("place", ["colab", "vs code"])
def test_an_output_is_drawn_where_colab_and_vs_code_put_it(browser, tmp_path, monkeypatch, place):
    monkeypatch.setattr(notebook, "_shell", lambda: None)
    found = Map(np.random.default_rng(0).normal(size=(3, 2)), Items(DRINKS))
    output = found._repr_mimebundle_()["text/html"]
    if place == "colab":
        allowed = "allow-scripts allow-downloads allow-forms allow-popups allow-modals"
        text = f'<iframe sandbox="{allowed}" width=1000 height=600 srcdoc="{html.escape(output)}"></iframe>'
    else:
        text = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><div>{output}</div>'
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8>{text}", encoding="utf-8")
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto((tmp_path / "cell.html").as_uri())
    frame = page.frame_locator("iframe")
    drawn = frame.frame_locator("iframe") if place == "colab" else frame
    expect(drawn.locator(".stage canvas").first).to_be_visible()
    assert errors == []
    page.close()
