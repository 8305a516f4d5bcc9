"""The notebook widget's module in a page of its own: drawn from bytes, its selection kept on both sides."""

import base64

import pytest
from playwright.sync_api import expect

from langscape.data import Map
from langscape.notebook import packed
from langscape.views import scatter
from langscape.views.page import STATIC

# What anywidget does in a notebook: traits in a model, an element to draw in, bytes as a DataView that
# begins anywhere in its buffer.
HOST = """async ([source, traits, data, place = 'cell']) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0))
  const buffer = new ArrayBuffer(bytes.length + 3)
  new Uint8Array(buffer).set(bytes, 3)
  const values = { ...traits, data: new DataView(buffer, 3) }
  const heard = {}
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; (heard[`change:${name}`] ?? []).forEach((tell) => tell()) },
    save_changes: () => {},
    on: (event, tell) => (heard[event] ??= []).push(tell),
    off: (event, tell) => (heard[event] = heard[event].filter((other) => other !== tell)),
  }
  window.models = { ...window.models, [place]: model }
  const module = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })))
  window.end = module.default.render({ model, el: document.getElementById(place) })
}"""
ROWS = "(place) => window.models[place].get('rows')"


@pytest.fixture
def notebook(browser):
    """Shows views as widgets in the cells of a page that is taller than the window."""
    context = browser.new_context(viewport={"width": 1100, "height": 700})
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    cells = "<div id='cell'></div><div id='other'></div><p style='height: 2000px'>More</p>"
    page.set_content(f"<h1 style='color: red'>A notebook</h1><input id='outside'>{cells}")
    source = (STATIC / "widget.js").read_text(encoding="utf-8")

    def show(views, place="cell"):
        pictures, data = packed(views)
        traits = {"pictures": pictures, "picture": 0, "rows": [], "height": 500}
        page.evaluate(HOST, [source, traits, base64.b64encode(data).decode(), place])
        page.wait_for_selector(f"#{place} [data-renderer]")
        return page

    yield show
    assert errors == []
    context.close()


@pytest.fixture
def cell(notebook, nine):
    """A widget of nine words."""
    return notebook([scatter(nine, title="Nine words")])


def test_a_search_in_the_widget_selects_rows_for_python(cell, nine):
    cell.get_by_label("Search labels").fill("rome")
    cell.keyboard.press("Enter")
    cell.wait_for_function("() => window.models.cell.get('rows').length === 1")
    assert cell.evaluate(ROWS, "cell") == [nine.labels.index("rome")]


def test_what_python_selects_is_lit_in_the_widget(cell, nine):
    cell.evaluate("(rows) => window.models.cell.set('rows', rows)", [nine.labels.index("cat")])
    expect(cell.get_by_label("Selection", exact=True)).to_contain_text("cat")
    cell.locator(".stage").focus()
    cell.keyboard.press("Escape")
    cell.wait_for_function("() => window.models.cell.get('rows').length === 0")


def test_the_widget_leaves_the_notebook_s_own_look_alone(cell):
    assert cell.evaluate("() => getComputedStyle(document.querySelector('h1')).margin") != "0px"
    assert cell.evaluate("() => document.querySelectorAll('head style').length") == 0
    cell.evaluate("() => window.end()")
    assert cell.locator("[data-renderer]").count() == 0


def test_two_widgets_of_one_notebook_hear_only_their_own_keys(notebook, nine):
    view = scatter(nine, title="Nine words")
    page = notebook([view])
    notebook([view], "other")
    for place, row in (("cell", 1), ("other", 2)):
        page.evaluate("([place, row]) => window.models[place].set('rows', [row])", [place, row])
        expect(page.locator(f"#{place}").get_by_label("Selection", exact=True)).to_contain_text(
            nine.labels[row]
        )
    page.locator("#outside").focus()
    page.keyboard.press("Escape")
    page.locator("#other .stage").focus()
    page.keyboard.press("Escape")
    page.wait_for_function("() => window.models.other.get('rows').length === 0")
    assert page.evaluate(ROWS, "cell") == [1]


def test_the_pictures_of_a_result_are_tabs_and_rows_are_of_the_one_shown(notebook, nine):
    fewer = Map(nine.xy[3:6], nine.items.take([3, 4, 5]))
    page = notebook([scatter(nine, title="All"), scatter(fewer, title="Capitals")])
    page.evaluate("(row) => window.models.cell.set('rows', [row])", nine.labels.index("rome"))
    page.get_by_role("button", name="Capitals", exact=True).click()
    page.wait_for_function("() => window.models.cell.get('picture') === 1")
    assert page.evaluate(ROWS, "cell") == [fewer.labels.index("rome")]


def test_the_wheel_scrolls_the_notebook_and_zooms_with_ctrl_or_after_a_click(cell):
    scrolled = "() => document.scrollingElement.scrollTop"
    box = cell.locator(".stage").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    cell.mouse.move(*middle)
    before = picture(cell)
    cell.mouse.wheel(0, 60)
    expect(cell.locator(".wheel-hint")).to_have_text("Ctrl + wheel zooms; after a click, the wheel alone")
    cell.wait_for_function(f"() => ({scrolled})() === 60")
    cell.evaluate("() => document.scrollingElement.scrollTo(0, 0)")
    expect(cell.locator(".wheel-hint")).to_have_count(0)
    assert picture(cell) == before
    cell.keyboard.down("Control")
    cell.mouse.wheel(0, -120)
    cell.keyboard.up("Control")
    zoomed = picture(cell)
    assert zoomed != before
    cell.mouse.click(*middle)
    cell.mouse.wheel(0, -120)
    assert picture(cell) not in (before, zoomed)
    assert cell.evaluate(scrolled) == 0
    cell.mouse.move(20, 20)
    cell.mouse.move(*middle)
    cell.mouse.wheel(0, 60)
    cell.wait_for_function(f"() => ({scrolled})() === 60")


def picture(page):
    """What the stage shows, once it was drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(".stage").screenshot()
