"""The finished examples that the page opens on: computed once, then always there."""

from __future__ import annotations

from typing import Any

from langscape.data import Progress
from langscape.declarations import Analysis, analyses
from langscape.errors import LangscapeError
from langscape.store import Store
from langscape.studio.inputs import Inputs, samples
from langscape.studio.jobs import Jobs, do_now
from langscape.studio.problem import Problem


def _example(declared: Analysis) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings and inputs of the example that an analysis declares."""
    inputs = {one.name for one in declared.signature.inputs}
    example = declared.example or {}
    settings = {name: value for name, value in example.items() if name not in inputs}
    return settings, {name: value for name, value in example.items() if name in inputs}


EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    **{name: _example(one) for name, one in analyses().items() if one.example is not None},
}
"""Analysis: settings and inputs of its example."""


def begin_examples(jobs: Jobs, inputs: Inputs) -> dict[str, str]:
    """The job of each example; those that are not in the store are computed when nobody waits."""
    found = {}
    for name, (settings, wanted) in EXAMPLES.items():
        try:
            given = {key: inputs.get(id, samples()[id].kind) for key, id in wanted.items()}
            found[name] = jobs.request(name, settings, given, first=False)[0]["id"]
        except (LangscapeError, Problem):
            continue  # a part that is not installed has no example
    return found


def prepare(store: Store, progress: Progress) -> None:
    """Compute every example now, so that the first page opens on a finished one."""
    for name, (settings, wanted) in EXAMPLES.items():
        given = {key: samples()[id] for key, id in wanted.items()}
        do_now(store, analyses()[name], settings, given, progress)
