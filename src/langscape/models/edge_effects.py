"""What single edges of a head do: what one query takes from one key is cut, and the rest of the row stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.models.effect_estimates import with_gradients
from langscape.models.effect_measures import Measure
from langscape.models.unedited import Unedited, batches, check_head


@dataclass(frozen=True, eq=False)
class CutEdges:
    """Edges cut one at a time.

    effect, loss_change   of each edge, as of a head
    moved                 the token whose next word (or last state) changes most
    before, after         the likeliest next word there in both runs, as token ids; -1 for encoders
    before_chance, after_chance   how likely
    """

    effect: np.ndarray
    loss_change: np.ndarray
    moved: np.ndarray
    before: np.ndarray
    before_chance: np.ndarray
    after: np.ndarray
    after_chance: np.ndarray


def estimated_edges(
    run: Unedited, heads: Sequence[tuple[int, int]], measure: Measure, *, draws: int = 8, seed: int = 0
) -> list[np.ndarray]:
    """An estimate of every edge's effect, (query, key) for each (layer, head).

    One forward, and a backward pass for each draw, however many heads there are.
    """
    for layer, head in heads:
        check_head(run, layer, head)
    kept, final, logits = with_gradients(run, measure)
    random = torch.Generator().manual_seed(seed)
    layers = sorted({layer for layer, _ in heads})
    totals = [torch.zeros(run.weights[layer].shape[2:], dtype=torch.float64) for layer, _ in heads]
    for draw in range(draws):
        objective = measure.objective(final, logits, random)
        given = [kept["head", layer] for layer in layers]
        grads = torch.autograd.grad(objective, given, retain_graph=draw < draws - 1)
        for total, (layer, head) in zip(totals, heads, strict=True):
            grad = grads[layers.index(layer)][0, :, head]
            products = run.weights[layer][0, head] * (grad @ run.values[layer][0, head].T)
            total += products.double().cpu().pow(2) / draws
    return [measure.estimate(total.numpy()) for total in totals]


class Cut(NamedTuple):
    """Edges of one head, and how much of each one's weight is taken away."""

    layer: int
    head: int
    queries: Sequence[int] | np.ndarray
    keys: Sequence[int] | np.ndarray
    weights: Sequence[float] | np.ndarray


def runs_with_cuts(
    run: Unedited,
    cuts: Sequence[Cut],
    logits: bool = False,
    hear: Callable[[int, torch.Tensor], None] | None = None,
) -> Iterator[tuple[Sequence[int], torch.Tensor]]:
    """Some cuts' places in the list, and final states (or logits) of runs with each of them, batch by batch.

    The head's output loses what each query takes from each key, by the weight that is taken away; the rest
    of the row is not raised.
    """
    for layer in sorted({one.layer for one in cuts}):
        mine = [at for at, one in enumerate(cuts) if one.layer == layer]
        for some in batches(mine, run.side_by_side):
            changed = _edges_cut(run, layer, [cuts[at] for at in some])
            yield some, run.final_states(layer, runs=len(some), heads=changed, hear=hear, logits=logits)


def _edges_cut(run: Unedited, layer: int, cuts: Sequence[Cut]) -> Callable[[int, torch.Tensor], torch.Tensor]:
    values = run.values[layer][0]

    def changed(at: int, output: torch.Tensor) -> torch.Tensor:
        if at != layer:
            return output
        output = output.clone()
        for row, one in enumerate(cuts):
            queries, keys = (torch.as_tensor(ends, device=output.device) for ends in (one.queries, one.keys))
            weights = torch.as_tensor(one.weights, dtype=output.dtype, device=output.device)
            taken = weights[:, None] * values[one.head, keys]
            output[row, :, one.head] = output[row, :, one.head].index_add(0, queries, -taken)
        return output

    return changed


def cut_edges(
    run: Unedited,
    layer: int,
    head: int,
    edges: Sequence[tuple[int, int]],
    measure: Measure,
    *,
    progress: Progress | None = None,
) -> CutEdges:
    """The effect of cutting each edge (query, key), one at a time, in their order."""
    check_head(run, layer, head)
    weights = run.weights[layer][0, head]
    cuts = [Cut(layer, head, [query], [key], [float(weights[query, key])]) for query, key in edges]
    found: list[tuple[float, ...]] = []
    for _, outputs in runs_with_cuts(run, cuts, measure.bent):
        effects = measure(outputs)
        for row, output in enumerate(outputs):
            found.append((effects.effect[row], effects.loss_change[row], *_moved(measure, output)))
        if progress is not None:
            progress(Step(len(found), len(edges), "edges cut"))
    columns = np.array(found, float).reshape(len(found), 7).T
    return CutEdges(
        columns[0], columns[1], columns[2].astype(int), columns[3].astype(int), columns[4],
        columns[5].astype(int), columns[6],
    )  # fmt: skip


def _moved(measure: Measure, output: torch.Tensor) -> tuple[float, ...]:
    """Where one run differs most, and the likeliest next word there before and after."""
    token = int(measure.per_token(output).argmax())
    if not measure.decoder:
        return token, -1, float("nan"), -1, float("nan")
    before = measure.logits[token].softmax(-1)
    logits = output[token].float() if measure.bent else measure.logits_of(output[token])
    after = logits.softmax(-1)
    one, other = before.max(-1), after.max(-1)
    return token, int(one.indices), float(one.values), int(other.indices), float(other.values)
