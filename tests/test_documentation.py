"""Everything the documentation shows is run: Python blocks, commands, and the examples in docstrings."""

import doctest
import importlib
import pkgutil
import re
import shlex
import textwrap
from pathlib import Path

import pytest
from tests.commands import run

import langscape
from langscape.sources import samples, write_vectors

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDES = [page for page in PAGES if page.parent.name in ("start", "howto")]
BLOCK = re.compile(r"^( *)```(python|pycon|sh)\n(.*?)^\1```", re.M | re.S)
MODULES = sorted(
    m.name for m in pkgutil.walk_packages(langscape.__path__, "langscape.") if not m.name.endswith("__main__")
)


def name_of(page):
    return page.relative_to(ROOT).with_suffix("").as_posix()


def prepare(folder):
    """The files that the guides speak of, as a reader of the tutorials has them."""
    (folder / "letter.txt").write_text(samples.text("harbour")[:400])
    (folder / "my_sentences.txt").write_text("\n".join(samples.text("orchard").split(". ")[:8]))
    write_vectors(folder / "glove.txt", samples.words())
    listed = samples.groups()
    rows = [f"{word},{group}" for word, group in zip(listed.words, listed.groups, strict=True)]
    (folder / "my_words.csv").write_text("\n".join(["word,group", *rows]))
    (folder / "letters").mkdir()
    tutorial = (ROOT / "docs/start/heads.md").read_text(encoding="utf-8")
    for name, text in {
        "one": samples.text("harbour"),
        "two": samples.text("orchard"),
        "three": tutorial,
    }.items():
        (folder / "letters" / f"{name}.txt").write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page in GUIDES:
        prepare(tmp_path)
    names: dict[str, object] = {}
    for number, (_, kind, indented) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
        block = textwrap.dedent(indented)
        if kind == "sh":
            for line in block.splitlines() if page in GUIDES else ():
                words = shlex.split(line, comments=True)
                assert words[0] == "langscape", line
                run(*(word for word in words[1:] if word != "--open"))
        elif ">>>" in block:
            test = doctest.DocTestParser().get_doctest(
                block, names, f"{page.name} block {number}", str(page), 0
            )
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, f"{page.name} block {number}", "exec"), names)


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("[CS]*.md")], ids=name_of)
def test_a_page_holds_no_mark_of_a_merge(page):
    assert re.findall(r"^(?:<{7}|>{7}) .*$", page.read_text(encoding="utf-8"), re.M) == []


def explained():
    """The pages under *Explained* in the site's navigation."""
    listed = (ROOT / "mkdocs.yml").read_text("utf-8").split("- Explained:")[1].split("- Gallery:")[0]
    return [ROOT / "docs" / name for name in re.findall(r"[\w/]+\.md", listed)]


@pytest.mark.parametrize("page", [*GUIDES, *explained()], ids=name_of)
def test_a_guide_says_what_it_cannot_tell(page):
    said = r"^\*\*What it cannot tell you\.\*\*|^## What (it cannot tell you|you cannot conclude)$"
    if page.stem not in ("index", "coming_from"):
        assert re.search(said, page.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("page", [ROOT / "README.md", *ROOT.glob("[CS]*.md")], ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page):
    """Those of docs/ are followed by tests/site, with the pages that are written from declarations."""
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0
