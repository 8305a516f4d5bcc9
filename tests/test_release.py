"""What a release needs to agree on: one version, its citation, its files for contributors."""

import re
import tomllib
from pathlib import Path

import yaml

import langscape

ROOT = Path(__file__).parents[1]


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/langscape/__init__.py"
    assert re.match(r"## " + re.escape(langscape.__version__) + r"\b", first_heading("CHANGELOG.md"))


def first_heading(name):
    return next(line for line in (ROOT / name).read_text("utf-8").splitlines() if line.startswith("## "))


def test_the_citation_is_of_this_version_and_names_the_works():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == langscape.__version__
    assert cited["license"] == "Apache-2.0"
    works = (ROOT / "docs/works.md").read_text("utf-8")
    assert all(one["title"] in works for one in cited["references"])
    assert len(cited["references"]) == 5


def test_the_workflow_runs_what_a_developer_runs():
    flow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))
    lines = [step["run"] for job in flow["jobs"].values() for step in job["steps"] if "run" in step]
    wanted = {word for line in lines for word in line.split() if line.startswith("make ")} - {"make"}
    assert wanted == {"test", "dist", "docs"}
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert wanted <= set(targets)


def test_issue_templates_have_a_name_and_say_what_for():
    found = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md"))
    assert len(found) >= 3
    for path in found:
        head = yaml.safe_load(path.read_text("utf-8").split("---")[1])
        assert head["name"]
        assert head["about"]
