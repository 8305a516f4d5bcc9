"""KL of many single runs: hidden states and heads of a layer, on a text as it is or with tokens replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import Heads, HiddenLayers, captured, text_capture
from langscape.analyses._restarts import head_schedules
from langscape.data import Affinities, Capture, Progress, Step
from langscape.declarations import Setting, analysis
from langscape.declarations.running import opened
from langscape.declarations.settings import (
    Cut,
    FirstTokens,
    Generate,
    Model,
    Perplexity,
    Sinks,
    Special,
    Steps,
    Text,
)
from langscape.errors import SettingsError, not_there
from langscape.store.results import Table

HIDDEN = -1
"""Stands for the hidden states where others have the number of a head."""

RunLayers = Annotated[
    list[int] | None,
    Setting(
        "Layers",
        "Only these hidden layers, from 0, as 0-3 or 0,5,11; all if left out.",
        ge=0,
        names="hidden layer",
    ),
]
RunSchedule = Annotated[
    Literal["ours", "document"],
    Setting("Schedule", "Ours, or Müller’s: learning rate 5, no gains, no exaggeration.", document="000"),
]
Share = Annotated[float, Setting("Share", "Share of the tokens replaced; 0 for none.", ge=0, le=1)]
First = Annotated[int, Setting("First", "The number of the first run.", ge=0)]
Count = Annotated[int, Setting("Count", "How many runs.", ge=1)]


@analysis(version=2, name="kl.runs", hidden=True, uses=(text_capture,))
def kl_runs(
    model: Model = "default",
    text: Text = None,
    *,
    layers: HiddenLayers = None,
    heads: Heads = None,
    special: Special = "keep",
    sinks: Sinks = "keep",
    perplexity: Perplexity = 20.0,
    steps: Steps = 1000,
    schedule: RunSchedule = "ours",
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    share: Share = 0.0,
    first: First = 0,
    count: Count = 10,
    progress: Progress | None = None,
) -> Table:
    """The KL of `count` runs for every head and hidden state of `layers`.

    Run r begins at random places of seed r. With `share`, each run is on a text of its own, with so many
    of its tokens replaced by seed r. Columns: layer, head (-1 for hidden states), run, kl.
    """
    tell = progress or (lambda step: None)
    how: dict[str, Any] = {"layers": layers, "heads": heads, "special": special, "sinks": sinks}
    how["perplexity"] = perplexity
    reading: dict[str, Any] = {"cut": cut, "first_tokens": first_tokens, "generate": generate}
    runs = range(first, first + count)
    if not share:
        seen = text_capture(model, text, **reading)
        return _rows(layer_problems(seen, **how), schedule, steps, runs, tell)
    reader = opened(model)
    plain = captured(reader, text, ("hidden",), [0], **reading)  # type: ignore[arg-type]
    parts = []
    for at, run in enumerate(runs):
        ids = disturb(plain.tokens.require_ids(), plain.tokens.special, share, run)
        seen = _again(reader, ids)
        parts.append(_rows(layer_problems(seen, **how), schedule, steps, [run], lambda step: None))
        tell(Step(at + 1, count, "disturbed texts"))
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns})


def disturb(
    ids: Sequence[int] | np.ndarray, special: Sequence[bool] | np.ndarray, share: float, seed: int
) -> list[int]:
    """The tokens with `share` of those that are text, one at least, drawn anew from the text's own set.

    Each replacement is drawn uniformly from the different tokens of the text, so it may be the one
    that was there.

    >>> disturb([1, 7, 7, 7, 2], [True, False, False, False, True], 1.0, seed=0)
    [1, 7, 7, 7, 2]
    """
    if not 0 < share <= 1:
        raise SettingsError(f"share {share:g} is not possible; it is above 0 and at most 1, 0.05 for 5 %")
    before = np.asarray(ids)
    places = np.flatnonzero(~np.asarray(special, bool))
    if not len(places):
        raise SettingsError("the text has special tokens alone; none can be replaced")
    rng = np.random.default_rng(seed)
    count = max(1, round(share * len(places)))
    chosen = rng.choice(places, size=count, replace=False)
    after = before.copy()
    after[chosen] = rng.choice(np.unique(before[places]), size=count)
    return after.tolist()


def layer_problems(
    capture: Capture,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    *,
    special: Literal["keep", "drop"] = "keep",
    sinks: Literal["keep", "drop"] = "keep",
    perplexity: float = 20.0,
) -> dict[tuple[int, int], Affinities]:
    """(layer, head) → affinities, hidden states under head -1, for the layers and heads asked for.

    An encoder–decoder is taken by its encoder. The last hidden layer has no heads of its own. Sinks are each
    head's own, so that with sinks="drop" heads may differ in their number of tokens.
    """
    from langscape.affinity import attention, hidden

    states, seen = capture.layers_of(capture.name_of("hidden")), capture.attention()
    problems: dict[tuple[int, int], Affinities] = {}
    for layer in _chosen("hidden layer", layers, states):
        problems[layer, HIDDEN] = hidden(capture, layer, perplexity, special)
        for head in _chosen("head", heads, seen.heads) if layer in seen.layers else ():
            problems[layer, head] = attention(capture, layer, head, special, sinks)
    return problems


def run_schedules(name: str, n: int, steps: int) -> list[Any]:
    """The schedules that runs take in turn: those of `head_schedules`, or Müller's single one."""
    from langscape.engine import Schedule

    if name == "ours":
        return head_schedules(n, steps)
    if name == "document":
        return [
            Schedule(
                steps=steps, learning_rate=5.0, early_exaggeration=1.0, early_steps=0, switch=steps // 4,
                gains=False, largest_step=0.0,
            )
        ]  # fmt: skip
    raise SettingsError(f"schedule {name!r} is not known; use ours or document")


def _rows(
    problems: Mapping[tuple[int, int], Affinities],
    schedule: str,
    steps: int,
    runs: Sequence[int],
    progress: Progress,
) -> Table:
    from langscape.engine import embed_many

    sizes = {len(one) for one in problems.values()}
    kls = {key: np.full(len(runs), np.nan) for key in problems}
    done, total = 0, len(sizes) * len(runs)
    for size in sorted(sizes):
        keys = [key for key, one in problems.items() if len(one) == size]
        schedules = run_schedules(schedule, size, steps)
        for at, run in enumerate(runs):
            taken = schedules[run % len(schedules)]
            alike = [problems[key] for key in keys]
            maps = embed_many(alike, 2, "random", taken, quality=False, seed=run)
            for key, mapped in zip(keys, maps, strict=True):
                kls[key][at] = mapped.kl
            done += 1
            progress(Step(done, total, "runs"))
    rows = [(*key, run, kls[key][at]) for key in problems for at, run in enumerate(runs)]
    names = ("layer", "head", "run", "kl")
    kinds = (np.int32, np.int32, np.int32, np.float64)
    return Table(
        {
            name: np.array([row[i] for row in rows], kind)
            for i, (name, kind) in enumerate(zip(names, kinds, strict=True))
        }
    )


def _chosen(noun: str, wanted: Sequence[int] | None, known: Sequence[int]) -> list[int]:
    if wanted is None:
        return list(known)
    absent = [number for number in wanted if number not in known]
    if absent:
        raise not_there(noun, absent[0], known)
    return list(wanted)


def _again(model: Any, ids: list[int]) -> Capture:
    from langscape.models import capture

    return capture(model, ids, ("attention", "hidden"))
