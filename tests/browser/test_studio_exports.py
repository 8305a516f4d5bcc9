"""A file shows what was on screen, in every room; and `langscape measure` reads its numbers."""

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect
from tests.commands import run

pytestmark = pytest.mark.slow

ROOMS = ["atlas", "head", "queries", "words", "distributions", "flow", "compare"]


@pytest.fixture
def room(open_studio, request):
    page = open_studio(request.param).page
    expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="Export", exact=True).click()
    return request.param, page


def saved(page, name):
    if not page.get_by_role("group", name="Export").is_visible():
        page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as file:
        page.get_by_role("button", name=name, exact=True).first.click()
    return file.value.path().read_bytes()


def words(drawing):
    """All text of an SVG, in one line."""
    root = ElementTree.fromstring(drawing)
    return " ".join(" ".join(text.split()) for one in root.iter() if (text := one.text or "").strip())


@pytest.mark.parametrize("room", ROOMS, indirect=True)
def test_figures_and_tables_hold_what_is_on_screen(room, tmp_path):
    name, page = room
    button = page.get_by_role("button", name=re.compile("^Export .* as SVG$")).first
    label = button.get_attribute("aria-label")
    frame = page.locator(f".frame[data-label='{label.removeprefix('Export ').removesuffix(' as SVG')}']")
    drawing = saved(page, label)
    said = words(drawing)
    heading = frame.locator("h1").inner_text()
    assert " ".join(heading.split()) in said
    shown = frame.get_by_role("list", name="Marks").locator("li").all_inner_texts()
    assert all(word in said for one in shown for word in one.split())
    root = ElementTree.fromstring(drawing)
    picture = Image.open(io.BytesIO(saved(page, label.replace("SVG", "PNG"))))
    assert picture.width == 2 * round(float(root.get("width")))
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 20  # it is not blank
    path = tmp_path / "picture.parquet"
    path.write_bytes(saved(page, label.replace("SVG", "Parquet")))
    measured = run("measure", path).stdout
    assert heading in measured
    for score in frame.locator("header p b").all_inner_texts():
        value = re.match(r"[-−]?[\d.]+", score)
        assert value is None or value[0] in measured, (name, score, measured)


@pytest.mark.parametrize("room", ["queries"], indirect=True)
def test_the_query_on_screen_and_its_lines_are_in_the_figure(room):
    _, page = room
    expect(page.locator("[data-line]").first).to_be_attached()  # a query shows its lines from the first
    ends = page.locator("[data-line]").count()
    query = page.locator("aside h3").first.inner_text()
    label = page.get_by_role("button", name=re.compile("^Export .* as SVG$")).first.get_attribute(
        "aria-label"
    )
    drawing = saved(page, label)
    assert " ".join(query.split()) in words(drawing)
    assert drawing.decode().count("data-line=") == ends


@pytest.mark.parametrize("room", ["compare"], indirect=True)
def test_compare_is_one_figure(room):
    _, page = room
    expect(page.locator(".frame[aria-busy=false]")).to_have_count(2)
    said = words(saved(page, "Export all as one SVG"))
    for heading in page.locator(".frame h1").all_inner_texts():
        assert heading in said
