"""KL of many single runs: hidden states and heads of a layer, on a text as it is or with tokens replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Affinities, Capture, Progress, Step
from langscape.errors import SettingsError, not_there
from langscape.run.captures import model_and_text, read_capture
from langscape.run.heads import captured, revision
from langscape.run.registry import step
from langscape.run.results import Table

HIDDEN = -1
"""Stands for the hidden states where others have the number of a head."""

_RUNS = {
    "layers": None,
    "heads": None,
    "special": "keep",
    "perplexity": 20.0,
    "steps": 1000,
    "schedule": "ours",
    "first": 0,
    "count": 10,
}


@step("heads.runs", version=1, defaults=_RUNS)
def heads_runs(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    """Input `capture`: the KL of `count` runs for every head and hidden state of `layers`.

    Run r begins at random places of seed r. Columns: layer, head (-1 for hidden states), run, kl.
    """
    problems = layer_problems(read_capture(inputs["capture"]), settings)
    return _rows(
        problems, settings, range(settings["first"], settings["first"] + settings["count"]), progress
    )


@step(
    "heads.disturbed",
    version=1,
    defaults={**_RUNS, "model": "default", "text": None, "cut": False, "share": 0.05},
    revision=revision,
)
def heads_disturbed(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    """The same, each run on a text of its own, with `share` of its tokens replaced.

    Run r replaces tokens by seed r, and begins at the places of the undisturbed run r.
    """
    model, text = model_and_text(settings, inputs)
    plain = captured(model, text, ("hidden",), [0], cut=settings["cut"])
    parts = []
    for at in range(settings["count"]):
        run = settings["first"] + at
        ids = disturb(plain.made["ids"], plain.made["special"], settings["share"], run)
        seen = _again(model, ids)
        parts.append(_rows(layer_problems(seen, settings), settings, [run], lambda told: None))
        progress(Step(at + 1, settings["count"], "disturbed texts"))
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns})


def disturb(ids: Sequence[int], special: Sequence[bool], share: float, seed: int) -> list[int]:
    """The tokens with `share` of those that are text, one at least, drawn anew from the text's own set.

    Each replacement is drawn uniformly from the different tokens of the text, so it may be the one
    that was there.

    >>> disturb([1, 7, 7, 7, 2], [True, False, False, False, True], 1.0, seed=0)
    [1, 7, 7, 7, 2]
    """
    if not 0 < share <= 1:
        raise SettingsError(f"share {share:g} is not possible; it is above 0 and at most 1, 0.05 for 5 %")
    told = np.asarray(ids)
    places = np.flatnonzero(~np.asarray(special, bool))
    if not len(places):
        raise SettingsError("the text has special tokens alone; none can be replaced")
    rng = np.random.default_rng(seed)
    count = max(1, round(share * len(places)))
    chosen = rng.choice(places, size=count, replace=False)
    made = told.copy()
    made[chosen] = rng.choice(np.unique(told[places]), size=count)
    return made.tolist()


def layer_problems(capture: Capture, settings: Mapping[str, Any]) -> dict[tuple[int, int], Affinities]:
    """(layer, head) → affinities, hidden states under head -1, for the layers and heads asked for.

    An encoder–decoder is taken by its encoder. The last hidden layer has no heads of its own.
    """
    from langscape.affinity import attention, hidden

    side = "" if "hidden" in capture.arrays else "encoder_"
    told = capture.made
    states = list(told["layers"][f"{side}hidden"])
    attending = list(told["layers"][f"{side}attention"])
    heads = list(told["heads"][f"{side}attention"])
    layers = _chosen("layer", settings["layers"], states)
    special, perplexity = settings["special"], settings["perplexity"]
    made: dict[tuple[int, int], Affinities] = {}
    for layer in layers:
        made[layer, HIDDEN] = hidden(capture, layer, perplexity, special, of=f"{side}hidden")
        for head in _chosen("head", settings["heads"], heads) if layer in attending else ():
            made[layer, head] = attention(capture, layer, head, special, of=f"{side}attention")
    return made


def run_schedules(name: str, n: int, steps: int) -> list[Any]:
    """The schedules that runs take in turn: those of `head_schedules`, or the document's single one."""
    from langscape.analyses.atlas import head_schedules
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
    settings: Mapping[str, Any],
    runs: Sequence[int],
    progress: Progress,
) -> Table:
    from langscape.engine import embed_many

    sizes = {len(one) for one in problems.values()}
    kls = {key: np.full(len(runs), np.nan) for key in problems}
    done, total = 0, len(sizes) * len(runs)
    for size in sorted(sizes):
        keys = [key for key, one in problems.items() if len(one) == size]
        schedules = run_schedules(settings["schedule"], size, settings["steps"])
        for at, run in enumerate(runs):
            schedule = schedules[run % len(schedules)]
            alike = [problems[key] for key in keys]
            maps = embed_many(alike, 2, "random", schedule, quality=False, seed=run)
            for key, made in zip(keys, maps, strict=True):
                kls[key][at] = made.kl
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


def _chosen(noun: str, wanted: Sequence[int] | None, held: Sequence[int]) -> list[int]:
    if wanted is None:
        return list(held)
    absent = [number for number in wanted if number not in held]
    if absent:
        raise not_there(noun, absent[0], held)
    return list(wanted)


def _again(model: Any, ids: list[int]) -> Capture:
    from langscape.models import capture

    return capture(model, ids, ("attention", "hidden"))
