"""Analyses made of many tasks: each takes workers and a cluster alike, and gives the same result anywhere."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.models.folders import TEXT, bert_folder

import langscape
from langscape.declarations import analyses
from langscape.declarations.declaration import Analysis
from langscape.declarations.running import using
from langscape.declarations.settings import Cluster, Workers
from langscape.io.codec import differences
from langscape.store import Store

ANALYSES = Path(inspect.getfile(langscape)).parent / "analyses"
PUBLIC = {name: one for name, one in analyses().items() if not one.hidden}
FEW: dict[str, dict[str, Any]] = {
    "atlas": {"restarts": 2, "steps": 50},
    "compare_kl": {"runs": 2, "perplexity": 4.0, "steps": 20, "layers": [1]},
    "robustness": {"repeats": 2, "share": 0.2, "perplexity": 4.0, "steps": 20, "layers": [1]},
    "query_key.grid": {"perplexity": 4.0, "steps": 50},
    "query_key.scale": {"percentile": 20.0},
}


def called() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """By module and function of `analyses/`: the functions it calls, where they are defined.

    Another analysis counts where it is told how many workers to take: else it is one task of several.
    """
    whole = {(one.function.__module__, one.function.__name__) for one in PUBLIC.values()}
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for path in sorted(ANALYSES.glob("*.py")):
        module, tree = f"langscape.analyses.{path.stem}", ast.parse(path.read_text(encoding="utf-8"))
        home = {
            name.asname or name.name: (one.module or "", name.name)
            for one in tree.body
            if isinstance(one, ast.ImportFrom)
            for name in one.names
        }
        for function in tree.body:
            if isinstance(function, ast.FunctionDef):
                # what is handed on with some arguments is called too
                given = {
                    (home.get(name.id, (module, name.id)), any(key.arg == "workers" for key in one.keywords))
                    for one in ast.walk(function)
                    if isinstance(one, ast.Call)
                    for name in [one.func, *one.args[:1]]
                    if isinstance(name, ast.Name)
                }
                found[module, function.name] = {to for to, told in given if told or to not in whole}
    return found


def many() -> dict[str, Analysis]:
    """The analyses that hand tasks to `each`, by themselves or through what they call."""
    graph = called()

    def reaches_each(one: tuple[str, str]) -> bool:
        seen, left = set(), [one]
        while left:
            at = left.pop()
            if at not in seen:
                seen.add(at)
                left += graph.get(at, ())
        return ("langscape.declarations.running", "each") in seen

    return {
        name: one
        for name, one in PUBLIC.items()
        if reaches_each((one.function.__module__, one.function.__name__))
    }


def test_analyses_of_many_tasks_are_those_that_take_workers_and_a_cluster() -> None:
    taking = {
        name
        for name, one in analyses().items()
        if {"workers", "cluster"} & {part.name for part in one.signature.execution}
    }
    assert set(many()) == taking
    assert set(FEW) <= taking


@pytest.mark.parametrize("name", sorted(many()))
def test_workers_and_cluster_are_declared_alike(name: str) -> None:
    declared = many()[name]
    hints = inspect.get_annotations(declared.function, eval_str=True)
    assert (hints["workers"], hints["cluster"]) == (Workers, Cluster)
    assert [one.name for one in declared.signature.execution] == ["workers", "cluster"]
    assert [one.default for one in declared.signature.execution][1] is None


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    model = str(bert_folder(tmp_path_factory.mktemp("models") / "bert"))

    def run(name: str, **how: Any) -> Any:
        with using(Store(tmp_path_factory.mktemp("store"))):
            return getattr(langscape, name.replace(".", "_"))(model, TEXT, **FEW[name], **how)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_worker_processes_give_the_result_of_one_process(name: str, answer: Callable[..., Any]) -> None:
    assert differences(answer(name, workers=0), answer(name, workers=2)) == []


@pytest.mark.parametrize("name", ["atlas", pytest.param("query_key.grid", marks=pytest.mark.slow)])
def test_a_dask_cluster_gives_the_result_of_one_process(name: str, answer: Callable[..., Any]) -> None:
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    assert differences(answer(name, workers=0), answer(name, cluster="local")) == []
