"""A file shows what was on screen, in every room; and `langscape measure` reads its numbers."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from tests.commands import run

pytestmark = pytest.mark.slow

ROOMS = ["atlas", "head", "queries", "words", "distributions", "flow", "compare", "test"]


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


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("room", ["compare"], indirect=True)
def test_lines_to_the_nearest_are_in_the_figure_of_a_map_without_true_neighbours(room):
    _, page = room
    page.keyboard.press("Escape")
    page.get_by_label("What changed most").locator("ol button").first.click()
    near = page.locator(".frame[data-label=First]").get_by_text("Nearest on the map, by distance")
    expect(near).to_be_visible()
    root = ElementTree.fromstring(saved(page, "Export First as SVG"))
    assert sum(one.get("class") == "near" for one in root.iter(f"{SVG}path")) == 10
    if not page.get_by_role("group", name="Export").is_visible():
        page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as file:
        page.get_by_role("button", name="Export First as CSV", exact=True).click()
    assert (
        file.value.suggested_filename == "first-minilm-l6-harbour-1.csv"
    )  # and no vectors, which it has none of


@pytest.mark.parametrize("room", ["distributions"], indirect=True)
def test_the_ellipse_of_what_is_chosen_is_marked_in_the_figure(room):
    _, page = room
    page.keyboard.press("Escape")
    page.get_by_label("Follow a token or word in every room").fill("bridge")
    page.keyboard.press("Enter")
    expect(page.locator(".focus .name")).to_have_text("bridge")
    root = ElementTree.fromstring(saved(page, "Export Ellipses as SVG"))
    (chosen,) = [one for one in root.iter(f"{SVG}ellipse") if one.get("class") == "focus"]
    (dot,) = [one for one in root.iter(f"{SVG}circle") if one.get("class") == "focus"]
    assert [chosen.get(name) for name in ("cx", "cy", "stroke")] == [
        dot.get(name) for name in ("cx", "cy", "stroke")
    ]


@pytest.mark.parametrize("room", ["flow"], indirect=True)
def test_names_that_have_a_rim_are_not_hidden_by_it_in_the_figure(room):
    _, page = room
    root = ElementTree.fromstring(saved(page, "Export Flow as SVG"))
    names = [one for one in root.iter(f"{SVG}text") if (one.get("paint-order") or "").startswith("stroke")]
    rimmed = {" ".join("".join(one.itertext()).split()) for one in names}
    # a sign stands before a name, a little apart
    assert {"fforget gate", "ct−1cell", "hhidden", "tanh of the cell"} <= rimmed


@pytest.mark.parametrize(
    ("room", "kept", "left"),
    [
        ("queries", "aside h3", "How far to trust it"),
        ("flow", "aside section:first-of-type h2", "Units that stand out"),
    ],
    indirect=["room"],
)
def test_a_panel_beside_a_picture_goes_no_further_than_that_in_the_figure(room, kept, left):
    _, page = room
    beside = page.locator("aside").first
    expect(beside).to_contain_text(left)
    assert beside.evaluate("one => one.scrollHeight > one.clientHeight + 50")
    title = page.locator(kept).first.inner_text()
    beside.evaluate("one => (one.scrollTop = 40)")
    before = page.locator(".frame").bounding_box()
    label = page.get_by_role("button", name=re.compile("^Export .* as SVG$")).first.get_attribute(
        "aria-label"
    )
    drawing = saved(page, label)
    root = ElementTree.fromstring(drawing)
    assert float(root.get("height")) <= before["height"] + 1
    said = words(drawing)
    assert " ".join(title.split()) in said  # from its first line on, though it is scrolled
    assert left not in said
    assert cut_lines(drawing) == []  # and no line is cut through
    # the page is as it was
    assert page.locator(".frame").bounding_box() == before
    assert beside.evaluate("one => one.scrollTop") == 40
    assert page.locator(".frame [style*=visibility]").count() == 0


def test_the_short_list_of_the_chosen_query_is_in_the_figure_whole(open_studio, studio):
    studio.example("query_key")
    page = open_studio("queries").page
    listed = page.locator("aside ol li b")
    expect(listed.first).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="Export", exact=True).click()
    drawing = saved(page, "Export Map as SVG")
    assert "Query “" in words(drawing)
    assert listed.count() == 5
    assert all(name in words(drawing) for name in listed.all_inner_texts())


def test_the_zoom_of_queries_and_keys_is_in_the_link_and_in_the_page_that_is_saved(
    open_studio, studio, browser, tmp_path
):
    studio.example("query_key")
    page = open_studio("queries").page
    line = page.locator("[data-line]").first
    expect(line).to_be_attached()

    def ends(one):
        one.wait_for_timeout(300)
        return [float(one.locator("[data-line]").first.get_attribute(name)) for name in ("x1", "x2")]

    whole = ends(page)
    box = page.locator(".stage").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -300)
    page.wait_for_url(re.compile(r"map\.at="))
    zoomed = ends(page)
    assert zoomed != pytest.approx(whole, abs=2)
    page.get_by_role("button", name="Export", exact=True).click()
    path = tmp_path / "map.html"
    path.write_bytes(saved(page, "Export Map as HTML"))
    page.reload()
    expect(line).to_be_attached()
    assert ends(page) == pytest.approx(zoomed, abs=1)
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        alone = context.new_page()
        alone.goto(path.as_uri())
        expect(alone.locator("[data-line]").first).to_be_attached()
        shown = ends(alone)
        alone.locator(".stage").focus()
        alone.keyboard.press("0")
        fitted = ends(alone)
        assert abs(shown[1] - shown[0]) > 1.2 * abs(fitted[1] - fitted[0])
    # another head is shown as a whole
    page.get_by_role("combobox", name="Head", exact=True).select_option("4")
    page.wait_for_url(lambda url: "map.at" not in url)


def cut_lines(drawing):
    """Lines of text that lie above or below the clip that they are drawn in."""
    root = ElementTree.fromstring(drawing)
    clips = {one.get("id"): one.find(f"{SVG}rect") for one in root.iter(f"{SVG}clipPath")}
    found = []

    def walk(element, low, high):
        for child in element:
            if child.tag == f"{SVG}svg":
                continue  # a drawing has places of its own
            top, bottom = low, high
            clip = clips.get((child.get("clip-path") or "")[5:-1])
            if clip is not None and float(clip.get("height")) > 1:  # else it is for readers of screens alone
                y, tall = float(clip.get("y")), float(clip.get("height"))
                top, bottom = max(low, y), min(high, y + tall)
            if child.tag == f"{SVG}text" and child.get("y") and not top <= float(child.get("y")) <= bottom:
                found.append("".join(child.itertext()))
            walk(child, top, bottom)

    walk(root, 0, float(root.get("height")))
    return found


@pytest.mark.parametrize(
    ("room", "last"),
    [
        ("test", "Effects belong to these texts"),
        ("head?layer=1&head=8", "Rows attend"),
    ],
    indirect=["room"],
)
def test_what_is_scrolled_on_screen_is_in_the_figure_from_its_first_line_to_its_last(room, last):
    is_whole(room[1], last)


def test_every_pattern_is_in_the_figure_and_each_picture_has_a_file_name_of_its_own(open_studio, studio):
    studio.example("query_key")
    page = open_studio("queries?analysis=query_key.search").page
    page.get_by_role("button", name="Search all heads").click()
    expect(page.locator(".frame[aria-busy=false] table").first).to_be_visible(timeout=120_000)
    titles = page.locator(".frame figcaption b").all_inner_texts()
    assert len(titles) > 3
    page.get_by_role("button", name="Export", exact=True).click()
    is_whole(page, titles[-1])
    names = set()
    for analysis, verb in (
        ("query_key", None),
        ("query_key.constants", "Map under six constants"),
        ("query_key.beside", "Map both ways"),
    ):
        page = open_studio(f"queries?analysis={analysis}&layer=1&head=3").page
        if verb:
            page.get_by_role("button", name=verb).or_(
                page.locator(".frame[aria-busy=false]")
            ).first.wait_for()
            if page.get_by_role("button", name=verb).is_visible():
                page.get_by_role("button", name=verb).click()
        expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
        page.get_by_role("button", name="Export", exact=True).click()
        with page.expect_download() as file:
            page.get_by_role("button", name=re.compile("^Export .* as SVG$")).first.click()
        names.add(re.sub("-minilm.*", "", file.value.suggested_filename))
    assert names == {"map", "six-values-of-c", "beside-attention"}


def is_whole(page, last):
    """The room's last picture is saved to its last line, however it is scrolled, and stays as it is."""
    button = page.get_by_role("button", name=re.compile("^Export .* as SVG$")).last
    label = button.get_attribute("aria-label")
    frame = page.locator(f".frame[data-label='{label.removeprefix('Export ').removesuffix(' as SVG')}']")
    hidden = "one => one.scrollHeight > one.clientHeight + 20 && getComputedStyle(one).overflowY === 'auto'"
    scrolled = f"all => all.filter({hidden}).map(one => (one.scrollTop = 30, one.scrollTop))"
    assert frame.locator("*").evaluate_all(scrolled), "nothing is scrolled here"
    before = page.locator(".frame *").evaluate_all("all => all.map(one => one.scrollTop + one.clientHeight)")
    drawing = saved(page, label)
    said = words(drawing)
    assert last in said
    assert cut_lines(drawing) == []
    # what is there to be used is no part of a picture
    assert not re.search(r"\bNames\b|Point at a cell", said)
    after = page.locator(".frame *").evaluate_all("all => all.map(one => one.scrollTop + one.clientHeight)")
    assert after == before


@pytest.mark.parametrize("room", ["head"], indirect=True)
def test_map_and_matrix_are_one_figure_with_their_title_and_colours(room):
    _, page = room
    expect(page.locator(".frame[aria-busy=false]")).to_have_count(2)
    drawing = saved(page, "Export all as one SVG").decode()
    said = words(drawing)
    heading = page.locator(".frame h1").first.inner_text()
    assert said.startswith(f"{heading} {heading}")  # its title, as the file's and as text
    assert "Does it matter?" not in said  # which asks, and shows nothing
    assert "Hide special tokens" not in said  # a switch that is off
    subtitle, lines = (
        float(re.search(rf'<text x="[\d.]+" y="([\d.]+)"[^>]*>{text}', drawing)[1])
        for text in ("MiniLM-L6 · attention", "Lines")
    )
    assert lines - subtitle < 90  # what is left out leaves no gap
    used = set(re.findall(r"url\(#([^)]+)\)", drawing))
    assert used <= set(re.findall(r'\sid="([^"]+)"', drawing))
    assert "url(&quot;" not in drawing
    # a title that is longer than the map is wide goes on in a second line
    (first, *_), wide = re.findall(r'<text x="24"[^>]*font-size="17"[^>]*>([^<]*)<', drawing), 9.6
    box = page.locator(".stage").first.bounding_box()
    assert len(first) * wide <= box["width"]


def test_selection_zoom_colours_and_lines_of_a_map_are_in_the_figure(open_studio, studio):
    studio.example("words")
    page = open_studio("words?sel=*:oslo").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_label("Colour", exact=True).last.select_option("local")
    stage = page.locator(".stage")
    box = stage.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -300)
    page.wait_for_url(re.compile(r"map\.at=.*map\.colour=local"))
    page.mouse.move(3, 3)
    page.get_by_role("button", name="Export", exact=True).click()
    page.keyboard.press("Escape")  # closes the menu, and lets nothing go
    expect(page.locator(".focus .name")).to_have_text("oslo")
    root = ElementTree.fromstring(saved(page, "Export Map of words as SVG"))
    (focus,) = [one for one in root.iter(f"{SVG}circle") if one.get("class") == "focus"]
    words_map = studio.example("words")
    assert int(focus.get("data-row")) == words_map.labels.index("oslo")
    named = {one.text: one for one in root.iter(f"{SVG}text") if one.get("dy")}
    assert named["oslo"].get("fill") == focus.get("stroke")  # the accent
    assert sum(one.get("fill-opacity") is not None for one in named.values()) > 10
    # every line to a neighbour that is told of is drawn, and no other
    told = page.get_by_text(re.compile(r"\d+ kept, \d+ false, \d+ missing")).first.inner_text()
    lines = [
        sum((one.get("class") or "").split(" ")[0] == fate for one in root.iter(f"{SVG}path"))
        for fate in ("kept", "false", "missing")
    ]
    assert lines == [int(number) for number in re.findall(r"\d+", told)]
    # zoomed: points lie where the stage has them, and those outside are left out
    points = [one for one in root.iter(f"{SVG}circle") if one.get("fill-opacity") is not None]
    assert len(points) < len(words_map)
    screen = Image.open(io.BytesIO(stage.screenshot())).convert("RGB")
    figure = Image.open(io.BytesIO(saved(page, "Export Map of words as PNG"))).convert("RGB")
    (group,) = [one for one in root.iter(f"{SVG}g") if one.get("clip-path") == "url(#stage)"]
    top = int(re.search(r"translate\(0 (\d+)\)", group.get("transform"))[1])
    wide, high = screen.size
    drawn = figure.crop((0, 2 * top, 2 * wide, 2 * (top + high))).resize(screen.size)
    # the same places are in colour: what is chosen and its neighbours, where the zoom put them
    coloured = [np.ptp(np.asarray(one, dtype=int), axis=2) > 40 for one in (screen, drawn)]
    both, either = (coloured[0] & coloured[1]).sum(), (coloured[0] | coloured[1]).sum()
    assert 100 < coloured[0].sum() < wide * high / 20
    assert both > 0.6 * either


def test_the_chosen_token_its_row_and_its_lines_are_in_the_figure_of_attention(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=1&head=8").page
    page.wait_for_selector("[data-renderer]")
    page.locator("[data-side=from]").filter(has_text="bank").nth(1).click()
    page.wait_for_url(re.compile("sel="))
    frame = page.locator(".frame[data-label=Attention]")
    lines = frame.locator("path").count()
    assert lines
    page.mouse.move(3, 3)
    page.get_by_role("button", name="Export", exact=True).click()
    root = ElementTree.fromstring(saved(page, "Export Attention as SVG"))
    assert [one.get("class") for one in root.iter(f"{SVG}rect")].count("chosen") == 1
    said = words(ElementTree.tostring(root))
    for shown in ("Layer 1, head 8", "queries ↓", "bank attends most to"):
        assert shown in said


def test_pictures_stand_in_the_figure_as_on_screen_whichever_came_first(open_studio, studio):
    studio.example("atlas")
    page = open_studio("jobs").page
    held = []
    page.route(re.compile("/views/head"), lambda route: held.append(route))
    page.goto(page.url.partition("#")[0] + "#head?layer=1&head=8")
    expect(page.locator(".frame[data-label=Attention][aria-busy=false]")).to_be_visible()
    assert held  # the map is still on its way
    page.unroute_all()
    expect(page.locator(".frame[aria-busy=false]")).to_have_count(2)
    drawing = saved(page, "Export all as one SVG").decode()
    left = [page.locator(".frame").nth(at).bounding_box()["x"] for at in range(2)]
    assert left[0] < left[1]
    assert drawing.index('id="p0-stage"') < drawing.index("queries")  # the map, then the matrix


def test_the_head_to_begin_with_the_opened_head_and_the_map_of_heads_are_in_the_figure_of_an_atlas(
    open_studio, studio
):
    studio.example("atlas")
    page = open_studio("atlas").page
    story = page.locator("section.story")
    expect(story.locator("path").first).to_be_visible()
    begun = story.get_by_role("heading").inner_text().split("\n")[0]
    lines = [one.get_attribute("d") for one in story.locator("path").all()]
    figure = saved(page, "Export Atlas of heads as SVG")
    assert begun in words(figure)
    drawn = {one.get("d") for one in ElementTree.fromstring(figure).iter(f"{SVG}path")}
    assert lines
    assert set(lines) <= drawn
    page.locator("[data-head='0.2']").click()
    expect(page.get_by_role("heading", name="Layer 0, head 2")).to_be_visible()
    page.wait_for_timeout(500)
    drawing = saved(page, "Export Atlas of heads as SVG")
    opened = words(drawing)
    assert "Layer 0, head 2" in opened
    assert "5.11" in opened  # and every head beside it
    # what reads the head is no higher than these, and what its scores mean is left out
    heads, beside = (
        float(one) for one in re.findall(r"<svg[^>]* height=\"([\d.]+)\"", drawing.decode())[1:3]
    )
    panel = page.locator(".panel")
    assert panel.evaluate("one => one.scrollHeight > one.clientHeight + 200")
    assert "First token" in opened
    assert "Weight on the first token, averaged over" not in opened
    assert beside <= max(heads, panel.bounding_box()["height"]) + 1
    assert cut_lines(drawing) == []
    page.get_by_role("button", name="Map of heads").click()
    expect(page.get_by_text("One dot is one head")).to_be_visible()
    mapped = words(saved(page, "Export Atlas of heads as SVG"))
    assert "One dot is one head" in mapped
    assert "Layer 0, head 2" in mapped
