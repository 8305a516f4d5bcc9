"""The package as a whole: what importing costs, who may import whom, what the registries promise."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import langscape

SOURCE = Path(langscape.__file__).parent
ROOT = SOURCE.parent.parent

# Lower ranks know nothing of higher ones; siblings of a rank do not import each other.
RANKS = [
    {"faces", "paths"},
    {"errors"},
    {"memory_limits", "data"},
    {"io"},
    {"kernels"},
    {"metrics", "sources", "models"},
    {"affinity"},
    {"engine"},
    {"estimators", "views"},
    {"store", "notebook"},
    {"execution"},
    {"declarations"},
    {"analyses"},
    {"looking"},
    {"studio"},
    {"cli"},
]
RANK = {name: i for i, names in enumerate(RANKS) for name in names}
ONLY_IN = {
    "torch": "models",
    "transformers": "models",
    "matplotlib": "views",
    "fastapi": "studio",
    "distributed": "execution",
}


def modules():
    return sorted(p for p in SOURCE.rglob("*.py") if "static" not in p.parts)


def part_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path):
    """(imported module, is it at the top of the module) of every import statement."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, id(node) in top
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module, id(node) in top
            if node.module == "langscape":
                for name in node.names:
                    yield f"langscape.{name.name}", id(node) in top


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_parts_import_only_what_lies_below_them(path):
    part = part_of(path)
    if part == "__init__":
        return
    for name, _ in imports(path):
        words = name.split(".")
        if words[0] == "langscape" and len(words) > 1 and words[1] in RANK and words[1] != part:
            other = words[1]
            if part == "data" and other in ("io", "views", "notebook"):  # doors to the file and the screen
                continue
            assert RANK[other] < RANK[part], f"{part} imports {other}"
        if words[0] in ONLY_IN:
            assert part == ONLY_IN[words[0]], f"{words[0]} belongs in {ONLY_IN[words[0]]}"


LAID_OUT_WITH = {"langscape.metrics.scores", "langscape.models.display_names"}
"""What views take from parts that compute: what scores and models are called, and how numbers are written."""


def only_types(path: Path) -> set[str | None]:
    """The modules that are imported for annotations alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [one for one in ast.walk(tree) if isinstance(one, ast.If)]
    blocks = [one for one in blocks if ast.unparse(one.test) == "TYPE_CHECKING"]
    return {one.module for block in blocks for one in ast.walk(block) if isinstance(one, ast.ImportFrom)}


@pytest.mark.parametrize("path", sorted((SOURCE / "views").glob("*.py")), ids=lambda p: p.name)
def test_views_lay_out_and_compute_nothing(path):
    computing = tuple(f"langscape.{part}" for part in ("models", "metrics", "affinity", "engine", "kernels"))
    taken = {name for name, _ in imports(path)} - only_types(path) - LAID_OUT_WITH
    assert [name for name in sorted(taken) if name.startswith(computing)] == []


def test_every_part_has_a_rank():
    parts = {part_of(path) for path in modules()} - {"__init__"}
    assert parts == set(RANK) & parts


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("name", ["langscape", "langscape.cli"])
def test_importing_loads_nothing_heavy(name):
    heavy = "('torch', 'transformers', 'sklearn', 'matplotlib', 'numba', 'scipy', 'duckdb', 'faiss')"
    assert run(f"import sys, {name}; print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_every_public_name_resolves_and_is_listed_once():
    assert len(langscape.__all__) == len(set(langscape.__all__))
    for name in langscape.__all__:
        assert getattr(langscape, name) is not None
    assert set(langscape.__all__) <= set(dir(langscape))
    with pytest.raises(AttributeError, match="nonsense"):
        langscape.nonsense  # noqa: B018


def test_no_module_uses_pickle():
    for path in modules():
        for name, _ in imports(path):
            assert name.split(".")[0] not in ("pickle", "dill", "cloudpickle", "shelve"), path


def test_every_affinity_is_documented_and_tested():
    from langscape.affinity import KINDS

    documented = (ROOT / "docs" / "affinities.md").read_text(encoding="utf-8")
    for name in KINDS:
        assert f"## `affinity.{name}`" in documented
        assert (ROOT / "tests" / "affinity" / f"test_{name}.py").exists()


def test_the_command_line_says_what_is_wrong_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "langscape.cli", "view", "nowhere.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "nowhere.parquet" in done.stderr
    assert "Traceback" not in done.stderr
