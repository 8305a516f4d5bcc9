"""Notebooks as people run them: in JupyterLab with a kernel, and as nbconvert writes them."""

import io
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image
from playwright.sync_api import expect

MAKE = """\
import numpy as np
import langscape
words = ["tea", "coffee", "milk", "oslo", "rome", "paris", "bern", "cairo", "quito"]
vectors = np.random.default_rng(0).normal(size=(9, 5))
found = langscape.look(vectors, labels=words, steps=50)
"""
WEIGHTS = "langscape.look(np.full((9, 9), 1 / 9), tokens=words, restarts=1, steps=20)"
pytestmark = pytest.mark.slow


def notebook(*cells: str) -> nbformat.NotebookNode:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    return nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel})


def environment(folder) -> dict[str, str]:
    """Nothing of the user's own settings, and no session of a notebook around the tests."""
    kept = {name: value for name, value in os.environ.items() if name != "JPY_SESSION_NAME"}
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    return kept | {name: str(folder / name.lower()) for name in names}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on loopback: the address of a notebook of the given cells."""
    folder = tmp_path_factory.mktemp("lab")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    home = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--allow-root", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
    command += ["--LabApp.news_url=", "--ServerApp.terminals_enabled=False"]
    with open(folder / "log", "w") as log:
        server = subprocess.Popen(command, env=environment(folder), stdout=log, stderr=log, cwd=folder)
    until = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"{home}/api", timeout=5).read()
            break
        except OSError:
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.2)

    def address(*cells: str) -> str:
        name = f"{secrets.token_hex(4)}.ipynb"
        nbformat.write(notebook(*cells), folder / name)
        return f"{home}/lab/tree/{name}?token={token}"

    yield address
    server.terminate()
    server.wait(30)


@pytest.fixture
def open_lab(browser, lab):
    """Opens a notebook and runs all its cells."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    foreign, errors = [], []
    page.on("request", lambda one: foreign.append(one.url) if "127.0.0.1" not in one.url else None)
    page.on("pageerror", lambda error: errors.append(str(error)))

    def run(*cells: str):
        page.goto(lab(*cells))
        # cells that are run before the kernel is there are not run at all
        expect(page.get_by_role("button", name="| Idle")).to_be_visible()
        page.get_by_role("button", name="Restart the kernel and run all cells").click()
        page.get_by_role("button", name="Confirm Kernel Restart").click()
        return page

    yield run
    assert errors == []
    assert [url for url in foreign if url.startswith("http")] == []
    context.close()


def test_jupyterlab_shows_several_widgets_and_the_kernel_hears_what_is_selected(open_lab, tmp_path):
    page = open_lab(f"{MAKE}found", WEIGHTS, "shown = langscape.widget(found)\nshown", "shown.selection")
    outputs = page.locator(".jp-Cell .jp-OutputArea")
    for at in range(3):
        stage = outputs.nth(at).locator(".stage")
        expect(stage).to_be_attached()
        stage.scroll_into_view_if_needed()
        expect(stage).to_have_attribute("data-renderer", re.compile("."))
        drawn = Image.open(io.BytesIO(stage.screenshot())).convert("RGB")
        assert drawn.getpixel((4, 4)) == (255, 255, 255)
    expect(outputs.nth(1).get_by_role("button", name="Attention", exact=True)).to_be_visible()
    third = outputs.nth(2)
    third.get_by_label("Search labels").fill("rome")
    third.get_by_label("Search labels").press("Enter")
    expect(third.get_by_label("Selection", exact=True)).to_contain_text("rome")
    assert page.locator(".jp-Notebook .jp-Cell").count() == 4  # keys in the widget are none of the notebook's
    page.locator(".jp-Cell .jp-InputArea-editor").nth(3).click()
    page.keyboard.press("Control+Enter")
    expect(outputs.nth(3)).to_contain_text("rome")
    page.screenshot(path=tmp_path / "lab.png")


def executed(tmp_path, *cells: str) -> nbformat.NotebookNode:
    made = notebook(*cells)
    NotebookClient(made, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute(
        env=environment(tmp_path)
    )
    return made


def test_what_nbconvert_writes_shows_pictures_that_fetch_nothing(browser, tmp_path):
    made = executed(tmp_path, f"{MAKE}found", WEIGHTS)
    assert "widgets" not in made.metadata
    page_text, _ = HTMLExporter().from_notebook_node(made)
    (tmp_path / "notebook.html").write_text(page_text, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "notebook.html").as_uri(), wait_until="domcontentloaded")
    for at in range(2):
        frame = page.frame_locator("iframe").nth(at)
        page.locator("iframe").nth(at).scroll_into_view_if_needed()
        expect(frame.locator(".stage canvas").first).to_be_visible()
    page.close()


def test_a_notebook_of_ten_pictures_stays_below_ten_megabytes(tmp_path):
    made = executed(tmp_path, f"{MAKE}found", *[WEIGHTS, "found"] * 4, WEIGHTS)
    pictures = [one for cell in made.cells for one in cell.outputs if "text/html" in one.get("data", {})]
    assert len(pictures) == 10
    assert len(json.dumps(made).encode()) < 10e6
