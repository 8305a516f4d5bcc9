"""How much more KL varies when tokens of a text are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from langscape.analyses._captures import Heads, text_capture
from langscape.analyses._experiments import (
    FORMATS,
    Experiment,
    boxes_picture,
    robustness_summary,
    run_all,
    save,
)
from langscape.analyses._kl_runs import RunLayers, RunSchedule, kl_runs
from langscape.data import Progress
from langscape.declarations import Setting, analysis
from langscape.declarations.settings import (
    Cluster,
    Cut,
    FirstTokens,
    Generate,
    Model,
    Perplexity,
    Sinks,
    Special,
    Steps,
    Text,
    Workers,
)
from langscape.errors import SettingsError
from langscape.models.display_names import model_title

Repeats = Annotated[
    int,
    Setting(
        "Repeats",
        "Disturbed texts, and undisturbed runs beside them.",
        ge=2,
        le=100_000,
        document="000",
    ),
]
ReplacedShare = Annotated[
    float,
    Setting(
        "Share",
        "Share of the tokens replaced, each by another token of the text; above 0, 0.05 for 5 %.",
        ge=0,
        le=1,
        document="000",
    ),
]
COLUMNS = (
    "layer", "method", "repeats", "mean", "sd", "mean_disturbed", "sd_disturbed", "ratio", "median_ratio"
)  # fmt: skip


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"KL with {100 * settings['share']:g} % of the tokens replaced, {model_title(settings['model'])}"


def _check(settings: Mapping[str, Any], given: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    if not settings["share"]:
        raise SettingsError("share 0 is not possible; it is above 0 and at most 1, 0.05 for 5 %")


def lines(found: Experiment) -> list[str]:
    """The summary, a line per layer and method; single heads stand in the table."""
    return found.lines(COLUMNS)


@analysis(
    version=2,
    title="Robustness to replaced tokens",
    room="atlas",
    pictures=(boxes_picture,),
    uses=(text_capture, kl_runs),
    describe=_title,
    check=_check,
    lines=lines,
    save=save,
    formats=FORMATS,
    folder=True,
    group="measure",
    examples=(
        "langscape robustness default --text letter.txt --repeats 100 --out robust.html",
        "langscape robustness default --text letter.txt --share 0.1 --layers 0-2 --out robust.csv",
    ),
)
def robustness(
    model: Model = "default",
    text: Text = None,
    *,
    repeats: Repeats = 1000,
    share: ReplacedShare = 0.05,
    layers: RunLayers = None,
    heads: Heads = None,
    special: Special = "keep",
    sinks: Sinks = "keep",
    perplexity: Perplexity = 20.0,
    steps: Steps = 1000,
    schedule: RunSchedule = "ours",
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Experiment:
    """Replace a share of the tokens again and again: how much more does the KL of both methods vary?

    The ratio of the disturbed to the undisturbed standard deviation says how much of the variation is due to
    the text rather than to where a run began.

    >>> text = "The cat sat on the mat, and the dog sat by the cat."
    >>> few = {"layers": [1], "heads": [0], "perplexity": 4, "steps": 50, "workers": 0}
    >>> found = robustness("default", text, repeats=2, share=0.2, **few)
    >>> found.summary["method"].tolist(), len(found.runs)
    (['hidden', 'heads', 'head'], 8)
    """
    how = {
        "layers": layers, "heads": heads, "special": special, "sinks": sinks, "perplexity": perplexity,
        "steps": steps, "schedule": schedule, "cut": cut, "first_tokens": first_tokens, "generate": generate,
    }  # fmt: skip
    texts: Any = [text]
    table = run_all(
        model, texts, repeats, how, share=share, title="runs", workers=workers, cluster=cluster,
        progress=progress,
    )  # fmt: skip
    name = model if isinstance(model, str) else getattr(model, "name", "a model")
    title = _title({"model": name, "share": share}, {})
    return Experiment("robustness", title, table, robustness_summary(table))
