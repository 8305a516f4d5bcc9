"""The notebooks of the documentation: stored without outputs, each run whole, soon done and small."""

import json
import os
import re
import resource
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from langscape.paths import home_folder

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NAMES = ["distributions", "flow", "heads", "queries_and_keys", "words"]


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", 4)


def test_there_is_one_for_each_document():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_is_stored_without_outputs_and_its_links_lead_somewhere(name):
    made = read(name)
    nbformat.validate(made)
    cells = [cell for cell in made.cells if cell.cell_type == "code"]
    assert cells
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    links = re.findall(r"\]\(([^)#]+)", "".join(cell.source for cell in made.cells))
    assert links
    assert [link for link in links if not (FOLDER / link).is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_within_a_minute_and_two_megabytes_and_every_picture_is_explained(name, tmp_path):
    made = read(name)
    kept = {key: value for key, value in os.environ.items() if key != "JPY_SESSION_NAME"}
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    client = NotebookClient(made, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env={**kept, "IPYTHONDIR": str(tmp_path), "LANGSCAPE_HOME": str(home(tmp_path))})
    done = resource.getrusage(resource.RUSAGE_CHILDREN)
    # CPU seconds, which do not grow where the machine is busy
    assert done.ru_utime + done.ru_stime - begun.ru_utime - begun.ru_stime < 60
    assert len(json.dumps(made).encode()) < 2e6
    shown = [at for at, cell in enumerate(made.cells) if is_picture(cell)]
    assert shown
    assert all("**What to see.**" in made.cells[at + 1].source for at in shown)


def home(folder: Path) -> Path:
    """Models and compiled kernels as they are, but no results: everything is computed."""
    made = folder / "home"
    made.mkdir()
    for one in home_folder().iterdir():
        if one.name != "store":
            (made / one.name).symlink_to(one)
    return made


def is_picture(cell: nbformat.NotebookNode) -> bool:
    data = [one.get("data", {}) for one in cell.get("outputs", ())]
    return any("<iframe" in one.get("text/html", "") or "image/png" in one for one in data)
