"""The finished examples that the page opens on: computed once, then always there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langscape.data import Progress
from langscape.declarations import Analysis, analyses
from langscape.declarations.validation import check_settings
from langscape.errors import LangscapeError
from langscape.store import Store
from langscape.studio.forms import title_of
from langscape.studio.inputs import Inputs, samples
from langscape.studio.jobs import Jobs, do_now
from langscape.studio.problem import Problem


def _example(declared: Analysis) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings and inputs of the example that an analysis declares.

    Where its model has not been fetched, the analysis is asked with its own defaults instead.
    """
    inputs = {one.name for one in declared.signature.inputs}
    example = declared.example or {}
    settings = {name: value for name, value in example.items() if name not in inputs}
    if settings.get("model") in _absent_models():
        settings = {}
    return settings, {name: value for name, value in example.items() if name in inputs}


def _absent_models() -> set[str]:
    from langscape.models.packaged import packaged_models

    return {one.model.name for one in packaged_models() if not one.here}


def examples() -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Of every analysis that has an example, its settings and inputs; none whose model is not here."""
    found = {name: _example(one) for name, one in analyses().items() if one.example is not None}
    return {name: asked for name, asked in found.items() if _model_of(name, asked[0]) not in _absent_models()}


def _model_of(name: str, settings: Mapping[str, Any]) -> Any:
    """The model that an example asks for: its own, or the analysis's default."""
    default = analyses()[name].signature.setting("model")
    return settings.get("model", default.default if default else None)


def begin_examples(jobs: Jobs, inputs: Inputs) -> dict[str, str]:
    """The job of each example; those that are not in the store are computed when nobody waits."""
    found = {}
    for name, (settings, wanted) in examples().items():
        try:
            given = {key: inputs.get(id, samples()[id].kind) for key, id in wanted.items()}
            found[name] = jobs.request(name, settings, given, first=False)[0]["id"]
        except (LangscapeError, Problem):
            continue  # a part that is not installed has no example
    return found


def prepare(store: Store, progress: Progress, tell: Callable[[str], None] = lambda line: None) -> None:
    """Compute every example now, so that the first page opens on a finished one.

    tell is given a line before and after each, and for every model that would have to be fetched first.
    """
    from langscape.models.packaged import packaged_models

    for one in packaged_models():
        if not one.here:
            fetch = "a room that needs it fetches it by a click"
            tell(f"no examples of {one.model.title} are computed: it is not here yet; {fetch}")
    wanted = examples()
    for at, (name, (settings, ids)) in enumerate(wanted.items(), 1):
        given = {key: samples()[id] for key, id in ids.items()}
        declared = analyses()[name]
        complete = check_settings(declared.signature.settings, settings, name)
        tell(f"example {at} of {len(wanted)}, {name}: {title_of(declared, complete, given)}")
        seconds = do_now(store, declared, settings, given, progress)
        tell("  it was in the store" if seconds is None else f"  computed in {seconds:.1f} s")
