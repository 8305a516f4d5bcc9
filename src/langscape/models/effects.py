"""What heads, MLPs and layers do to what a model gives: exactly, by taking each away.

A part is replaced by its own mean over the tokens but the first; `effect_measures` says what is compared.
Runs begin at the layer that is edited, and heads of one layer run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.errors import DataError, SettingsError
from langscape.models.effect_measures import Effect, Measure
from langscape.models.model import Model
from langscape.models.unedited import Unedited, batches, mean_but_first

Instead = Literal["mean", "zero"]
"""What stands instead of a part that is taken away."""


class PartName(NamedTuple):
    """A head, an MLP or a whole layer; head is -1 for the others."""

    kind: str
    layer: int
    head: int = -1

    def __str__(self) -> str:
        if self.kind == "head":
            return f"{self.layer}.{self.head}"
        return f"MLP {self.layer}" if self.kind == "mlp" else f"layer {self.layer}"


def parts_of(model: Model, kinds: Iterable[str] = ("head",)) -> list[PartName]:
    """All heads, MLPs or layers of a model."""
    found: list[PartName] = []
    for kind in kinds:
        if kind == "head":
            sites = enumerate(model.layout.sites)
            found += [PartName("head", layer, head) for layer, site in sites for head in range(site.heads)]
        elif kind == "mlp":
            if not model.parts.mlps:
                raise DataError(f"MLPs of {model.name} cannot be edited: {model.parts.no_mlps}")
            found += [PartName("mlp", layer) for layer in range(len(model.parts.mlps))]
        elif kind == "layer":
            if not model.parts.separate:
                raise DataError(f"{model.name} shares its layers; one cannot be taken away alone")
            found += [PartName("layer", layer) for layer in range(len(model.parts.blocks))]
        else:
            raise SettingsError(f"part {kind!r} is not known; choose from head, mlp, layer")
    return found


def exact_effects(
    run: Unedited,
    parts: Sequence[PartName],
    measure: Measure | None = None,
    *,
    progress: Progress | None = None,
) -> Effect:
    """The effect of taking each part away, one at a time, in their order."""
    measure = measure or Measure(run)
    effect, loss = np.full(len(parts), np.nan), np.full(len(parts), np.nan)
    tell = progress or (lambda step: None)
    done = 0
    for group, outputs in runs_without(run, parts, measure.bent):
        effect[list(group)], loss[list(group)] = measure(outputs)
        done += len(group)
        tell(Step(done, len(parts), "parts taken away"))
    return Effect(effect, loss)


def runs_without(
    run: Unedited, parts: Sequence[PartName], logits: bool = False, to: Instead = "mean"
) -> Iterator[tuple[Sequence[int], torch.Tensor]]:
    """Some parts' places in the list, and final states (or logits) of runs without each, batch by batch.

    A part is replaced by its own mean or by nothing, at every token but the first.
    """
    for layer in sorted({one.layer for one in parts}):
        mine = [at for at, one in enumerate(parts) if one.layer == layer]
        heads = [at for at in mine if parts[at].kind == "head"]
        for group in batches(heads, run.side_by_side) + [[at] for at in mine if parts[at].kind != "head"]:
            yield group, _without(run, layer, [parts[at] for at in group], logits, to)


def runs_without_groups(
    run: Unedited,
    groups: Sequence[Sequence[PartName]],
    logits: bool = False,
    hear: Callable[[int, torch.Tensor], None] | None = None,
) -> Iterator[tuple[Sequence[int], torch.Tensor]]:
    """Some groups' places, and final states (or logits) of runs without all heads and MLPs of each group.

    Groups that begin at the same layer run side by side; those with MLPs run alone.
    """
    for group in groups:
        if not group or any(one.kind == "layer" for one in group):
            raise SettingsError("a group is of heads and MLPs, and has at least one")
    firsts = [min(one.layer for one in group) for group in groups]
    plain = [all(one.kind == "head" for one in group) for group in groups]
    for first in sorted(set(firsts)):
        mine = [at for at, layer in enumerate(firsts) if layer == first]
        together = batches([at for at in mine if plain[at]], run.side_by_side)
        for some in together + [[at] for at in mine if not plain[at]]:
            chosen = [groups[at] for at in some]
            mlps = [one.layer for one in chosen[0] if one.kind == "mlp"]
            yield some, run.final_states(
                first, runs=len(chosen), heads=_heads_changed(run, chosen),
                mlps=_mlps_changed(run, mlps) if mlps else None, hear=hear, logits=logits,
            )  # fmt: skip


def _heads_changed(
    run: Unedited, groups: Sequence[Sequence[PartName]], share: float = 1.0
) -> Callable[[int, torch.Tensor], torch.Tensor]:
    """The heads of each run's group at so much of their mean."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for row, group in enumerate(groups):
        for one in group:
            if one.kind == "head":
                rows.setdefault(one.layer, []).append((row, one.head))

    def changed(layer: int, output: torch.Tensor) -> torch.Tensor:
        if layer not in rows:
            return output
        output, means = output.clone(), share * mean_but_first(run.heads[layer])[0, 0]
        for row, head in rows[layer]:
            output[row, 1:, head] = means[head]
        return output

    return changed


def _without(run: Unedited, layer: int, parts: Sequence[PartName], logits: bool, to: Instead) -> torch.Tensor:
    """Runs side by side, each without one part of a layer."""
    kind = parts[0].kind
    share = 1.0 if to == "mean" else 0.0
    if kind == "head":
        changed = _heads_changed(run, [[one] for one in parts], share)
        return run.final_states(layer, runs=len(parts), heads=changed, logits=logits)
    if kind == "mlp":
        return run.final_states(layer, mlps=_mlps_changed(run, [layer], share), logits=logits)
    added = share * _averaged(run.states[layer + 1] - run.states[layer])
    return run.final_states(layer + 1, run.states[layer] + added, logits=logits)


def group_effect(run: Unedited, parts: Sequence[PartName], measure: Measure | None = None) -> Effect:
    """The effect of taking several heads and MLPs away together."""
    measure = measure or Measure(run)
    _, outputs = next(iter(runs_without_groups(run, [parts], measure.bent)))
    return measure(outputs)


def _averaged(tensor: torch.Tensor) -> torch.Tensor:
    """(1, token, dim) with every token but the first at their mean."""
    return torch.cat([tensor[:, :1], mean_but_first(tensor).expand(-1, tensor.shape[1] - 1, -1)], 1)


def _mlps_changed(
    run: Unedited, layers: Sequence[int], share: float = 1.0
) -> Callable[[int, torch.Tensor], torch.Tensor]:
    """MLPs at their mean, or a share of it; the first token keeps what it has in the run at hand."""

    def changed(layer: int, output: torch.Tensor) -> torch.Tensor:
        if layer not in layers:
            return output
        shaped = output.reshape(-1, run.tokens, output.shape[-1]).clone()
        shaped[:, 1:] = share * mean_but_first(run.mlps[layer])
        return shaped.reshape(output.shape)

    return changed
