"""The finished examples that the page opens on: computed once, then always there."""

from __future__ import annotations

from typing import Any

from langscape.data import Progress
from langscape.errors import LangscapeError
from langscape.run import Store
from langscape.studio.asks import find_ask
from langscape.studio.inputs import Inputs, samples
from langscape.studio.jobs import Jobs, do_now
from langscape.studio.trouble import Trouble

EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "atlas": ({}, {"text": "sample-harbour"}),
    "words": ({"perplexity": 25.0}, {"vectors": "sample-words", "list": "sample-groups"}),
    "flow": ({}, {}),
    "query_key": ({"layer": 2, "head": 1}, {"text": "sample-harbour"}),
    "ellipses": ({"contexts": 20, "perplexity": 10.0}, {"corpus": "sample-corpus"}),
    "compare": ({"what": "hidden", "layer": 1, "other_layer": 6}, {"text": "sample-harbour"}),
    "hidden": ({"layer": 3}, {"text": "sample-harbour"}),
    "head": ({"layer": 2, "head": 1}, {"text": "sample-harbour"}),
    "query_key.scale": ({"tokens": 200}, {"text": "sample-harbour"}),
    "query_key.grid": ({"tokens": 150, "steps": 300}, {"text": "sample-harbour"}),
}
"""Ask: settings and inputs of its example."""


def begin_examples(jobs: Jobs, inputs: Inputs) -> dict[str, str]:
    """The job of each example; those that are not in the store are computed when nobody waits."""
    found = {}
    for name, (settings, wanted) in EXAMPLES.items():
        try:
            given = {key: inputs.get(id, samples()[id].kind) for key, id in wanted.items()}
            found[name] = jobs.ask(name, settings, given, first=False)[0]["id"]
        except (LangscapeError, Trouble):
            continue  # a part that is not installed has no example
    return found


def prepare(store: Store, progress: Progress) -> None:
    """Compute every example now, so that the first page opens on a finished one."""
    for name, (settings, wanted) in EXAMPLES.items():
        given = {key: samples()[id] for key, id in wanted.items()}
        do_now(store, find_ask(name), settings, given, progress)
