"""KL of hidden-state t-SNE beside that of every head, layer by layer, over many runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from langscape.analyses._captures import Heads, text_capture
from langscape.analyses._experiments import (
    FORMATS,
    Experiment,
    boxes_picture,
    compare_summary,
    run_all,
    save,
)
from langscape.analyses._kl_runs import RunLayers, RunSchedule, kl_runs
from langscape.data import Progress
from langscape.declarations import Input, Setting, analysis
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
    Workers,
)
from langscape.models.display_names import model_title

SeveralTexts = Annotated[
    str | Path | Sequence[str | Path] | None,
    Input(
        "text",
        "Texts",
        "What the model reads; may be given several times. A sample text if left out.",
        sample="sample-text",
        many=True,
        short="t",
    ),
]
Runs = Annotated[
    int, Setting("Runs", "Runs of each hidden state and each head.", ge=2, le=100_000, document="000")
]
COLUMNS = ("layer", "method", "runs", "mean", "sd", "sd_of_one", "q1", "median", "q3")


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"KL of hidden states and heads, {model_title(settings['model'])}"


def lines(found: Experiment) -> list[str]:
    """The summary, a line per layer and method."""
    return found.lines(COLUMNS)


@analysis(
    version=2,
    title="KL of hidden states and heads",
    room="atlas",
    pictures=(boxes_picture,),
    uses=(text_capture, kl_runs),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    folder=True,
    group="measure",
    examples=(
        "langscape compare-kl default --text letter.txt --runs 20 --out kl.html",
        "langscape compare-kl decoder --text letter.txt --layers 0-3 --out kl.csv",
    ),
)
def compare_kl(
    model: Model = "default",
    text: SeveralTexts = None,
    *,
    runs: Runs = 100,
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
    """Compare KL of hidden-state t-SNE and of attention-head t-SNE, layer by layer, as box plots.

    What was computed before is not computed again: 100 more runs take as long as 100 runs.

    >>> text = "The cat sat on the mat, and the dog sat by the cat."
    >>> found = compare_kl("default", text, runs=2, layers=[1], heads=[0], perplexity=4, steps=50, workers=0)
    >>> found.summary["method"].tolist(), len(found.runs)
    (['hidden', 'heads'], 4)
    """
    texts: Any = [text] if isinstance(text, str | Path) else text
    how = {
        "layers": layers, "heads": heads, "special": special, "sinks": sinks, "perplexity": perplexity,
        "steps": steps, "schedule": schedule, "cut": cut, "first_tokens": first_tokens, "generate": generate,
    }  # fmt: skip
    table = run_all(
        model, texts, runs, how, title="runs", workers=workers, cluster=cluster, progress=progress
    )
    name = model if isinstance(model, str) else getattr(model, "name", "a model")
    return Experiment("compare", _title({"model": name}, {}), table, compare_summary(table))
