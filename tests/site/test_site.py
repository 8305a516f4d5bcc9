"""The documentation as a site: every page is in its navigation, every link leads to a page and a heading."""

from pathlib import Path

import pytest
import yaml
from scripts.gallery import ENTRIES
from scripts.lessons import LESSONS
from scripts.site.assemble import DOCS, ROOT, TAKEN, pages
from scripts.site.links import broken_links, check_site

from langscape.declarations import analyses
from langscape.metrics import SCORES


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose one Python object is the function that makes anchors."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
CONFIG = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loader)
FILES = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.is_file()}
FILES |= {f"gallery/{name}" for one in ENTRIES for name in one.files} | {
    f"lessons/{name}.html" for name in LESSONS
}


@pytest.fixture(scope="module")
def made():
    return pages()


def targets(nav):
    for one in nav:
        for value in [one] if isinstance(one, str) else one.values():
            yield from [value] if isinstance(value, str) else targets(value)


@pytest.mark.slow
def test_every_link_leads_to_a_page_and_a_heading(made):
    assert broken_links(made, FILES) == []


@pytest.mark.slow
def test_a_link_that_leads_nowhere_is_found(made):
    place = "start/heads.md"
    wrong = made | {place: made[place] + "\n[a](no.md) [b](words.md#no) [c](../pictures/no.png)\n"}
    assert broken_links(wrong, FILES) == [
        f"{place}: start/no.md is not there",
        f"{place}: start/words.md has no heading #no",
        f"{place}: pictures/no.png is not there",
    ]


@pytest.mark.slow
def test_the_navigation_has_every_page_once(made):
    listed = list(targets(CONFIG["nav"]))
    assert sorted(listed) == sorted(set(made))


@pytest.mark.slow
def test_every_analysis_command_and_score_is_in_the_reference(made):
    python, scores = made["reference/python/analyses.md"], made["reference/scores.md"]
    for one in analyses().values():
        if not one.hidden:
            command = one.name.replace("_", "-").replace(".", "-")
            assert f"## `langscape {command}`" in made[f"reference/commands/{one.group}.md"]
            assert f"::: {one.module}.{one.function.__name__}\n" in python
            for setting in one.signature.settings:
                assert f"| `{setting.name}` |" in python
    assert all(f"{{ #{name} }}" in scores for name in SCORES)


def test_a_built_page_that_fetches_from_elsewhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="x">A</h1><a href="#y">y</a><script src="https://b.c/d.js"></script>'
    )
    assert check_site(tmp_path) == ["a.html fetches https://b.c/d.js", "a.html: #y has no such place"]
    (tmp_path / "a.html").write_text(
        '<h1 id="x">A</h1><a href="a.html#x">x</a> <a href="https://b.c">elsewhere</a>'
    )
    assert check_site(tmp_path) == []


def test_files_that_become_pages_are_there():
    assert [name for name in TAKEN if not Path(ROOT, name).is_file()] == []
