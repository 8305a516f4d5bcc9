"""The notebook widget's module in a page of its own: drawn from bytes, its selection kept on both sides."""

import base64
import json

import pytest
from playwright.sync_api import expect

from langscape.notebook import packed
from langscape.views import scatter
from langscape.views.page import STATIC
from langscape.views.plain import plain

# What anywidget does in a notebook: traits in a model, an element to draw in, bytes as a DataView that
# begins anywhere in its buffer.
HOST = """async ([source, traits, data]) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0))
  const buffer = new ArrayBuffer(bytes.length + 3)
  new Uint8Array(buffer).set(bytes, 3)
  const values = { ...traits, data: new DataView(buffer, 3) }
  const heard = {}
  window.model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; (heard[`change:${name}`] ?? []).forEach((tell) => tell()) },
    save_changes: () => {},
    on: (event, tell) => (heard[event] ??= []).push(tell),
    off: (event, tell) => (heard[event] = heard[event].filter((other) => other !== tell)),
  }
  const module = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })))
  window.end = module.default.render({ model: window.model, el: document.getElementById('cell') })
}"""


@pytest.fixture
def cell(browser, nine):
    """A widget of nine words, as a notebook shows it."""
    context = browser.new_context(viewport={"width": 1100, "height": 700})
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content("<h1 style='color: red'>A notebook</h1><div id='cell'></div>")
    view = scatter(nine, title="Nine words")
    layout, data = packed(view)
    traits = {
        "kind": view.kind, "properties": json.dumps(plain(view.properties)), "selection": [],
        "layout_of_arrays": json.dumps(layout), "height": 500,
    }  # fmt: skip
    source = (STATIC / "widget.js").read_text(encoding="utf-8")
    page.evaluate(HOST, [source, traits, base64.b64encode(data).decode()])
    page.wait_for_selector("[data-renderer]")
    yield page
    assert errors == []
    context.close()


def test_a_search_in_the_widget_selects_rows_for_python(cell, nine):
    cell.get_by_label("Search labels").fill("rome")
    cell.keyboard.press("Enter")
    cell.wait_for_function("() => window.model.get('selection').length === 1")
    assert cell.evaluate("() => window.model.get('selection')") == [nine.labels.index("rome")]


def test_what_python_selects_is_lit_in_the_widget(cell, nine):
    cell.evaluate("(rows) => window.model.set('selection', rows)", [nine.labels.index("cat")])
    expect(cell.get_by_label("Selection", exact=True)).to_contain_text("cat")
    cell.keyboard.press("Escape")
    cell.wait_for_function("() => window.model.get('selection').length === 0")


def test_the_widget_leaves_the_notebook_s_own_look_alone(cell):
    assert cell.evaluate("() => getComputedStyle(document.querySelector('h1')).margin") != "0px"
    assert cell.evaluate("() => document.querySelectorAll('head style').length") == 0
    cell.evaluate("() => window.end()")
    assert cell.locator("[data-renderer]").count() == 0
