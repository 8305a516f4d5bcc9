"""The five lessons, made from the models and words of the package, gone through with the keyboard alone."""

import json
import re

import pytest
from scripts import lessons

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("lessons")
    lessons.main(made, [])
    return made


@pytest.mark.parametrize("name", lessons.LESSONS)
def test_a_lesson_is_gone_through_with_the_keyboard_and_asks_for_nothing(name, folder, browser):
    path = folder / f"{name}.html"
    assert path.stat().st_size < 5e6
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="langscape-data">(.*?)</script>', text, re.S)[1])
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    asked, wrong = [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("pageerror", lambda one: wrong.append(str(one)))
    page.goto(path.as_uri())
    steps = data["lesson"]["steps"]
    assert len(steps) >= 5
    for number, step in enumerate(steps):
        page.wait_for_selector(f"h1:has-text('Step {number + 1} of {len(steps)}')")
        assert page.locator("[role=status] .answer").count() == 0  # nothing is told before it is predicted
        assert page.locator(".covered").count() == (0 if step["shown"] else 1)
        assert (
            page.get_by_text(re.compile(r"^Local \d")).count() == 0
        )  # a picture says nothing of itself before it either
        page.keyboard.press("Tab")  # from the heading to the prediction
        if step["options"]:
            page.keyboard.press("Space")
            for _ in range(step["options"].index(step["answer"])):
                page.keyboard.press("ArrowDown")
        else:
            page.keyboard.type("1" if number % 2 else str(step["answer"]))
        page.keyboard.press("Enter")
        page.wait_for_selector("button:has-text('Show the true')")
        assert page.locator(".covered").count() == 0
        page.keyboard.press("Enter")
        page.wait_for_selector(".answer")
        assert str(step["answer"]) in page.inner_text(".answer strong")
        page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('You predicted')")
    right = int(re.search(r"predicted (\d+)", page.inner_text("h1"))[1])
    assert right >= len([one for at, one in enumerate(steps) if one["options"] or at % 2 == 0])
    assert [one for one in asked if not one.startswith(("file:", "data:", "blob:"))] == []
    assert wrong == []
    page.close()
