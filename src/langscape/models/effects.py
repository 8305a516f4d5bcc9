"""What heads, MLPs and layers do to what a model gives: exactly, by taking each away.

A part is replaced by its own mean over the tokens but the first. The effect on a decoder is the mean KL
divergence of the next token from the unedited run, in nats; on an encoder how far its last hidden states
move, as a share of their length. Runs begin at the layer that is edited, and heads of one layer run side by
side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.errors import DataError, SettingsError
from langscape.models.forward import forward
from langscape.models.model import Model
from langscape.models.unedited import Unedited, batches, mean_but_first

_WORDS = 1024
"""Words whose logits are summed at once."""


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


class Effect(NamedTuple):
    """Of each run: the effect, and by how much the loss on the text rises (NaN for encoders)."""

    effect: np.ndarray
    loss_change: np.ndarray


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


class Measure:
    """How far an edited run is from the unedited one.

    `floor` is what rounding alone makes of runs side by side: effects below it are none that were found.
    """

    def __init__(self, run: Unedited) -> None:
        self.run = run
        network: Any = run.model.network
        self.decoder = run.model.kind == "decoder" and run.model.layout.vocabulary > 0
        self.bent = False
        if self.decoder:
            self.words = network.get_output_embeddings().weight.detach()
            bias = getattr(network.get_output_embeddings(), "bias", None)
            self.bias = None if bias is None else bias.detach()
            with run.model.running():
                self.logits = forward(network, run.inputs, logits=True).logits[0].float()
            plain = self.logits_of(run.final[0])
            self.bent = not torch.allclose(plain, self.logits, atol=1e-3, rtol=1e-3)
            self._logp = (self.logits if self.bent else plain).log_softmax(-1)
            self._logsumexp = self.logsumexp_of(run.final[0])
            self._expected = self._logp.exp() @ self.words.float()
        self.floor = self._floor()

    def __call__(self, outputs: torch.Tensor) -> Effect:
        """Of final states, or where `bent` of logits, (run, token, …)."""
        sums = [None] * len(outputs)
        if self.decoder and not self.bent:
            sums = self.logsumexp_of(outputs.flatten(0, 1)).reshape(outputs.shape[:2])
        found = [self._one(output, each) for output, each in zip(outputs, sums, strict=True)]
        return Effect(np.array([one[0] for one in found]), np.array([one[1] for one in found]))

    def per_token(self, output: torch.Tensor) -> torch.Tensor:
        """The effect of one run at every token."""
        return self._both(output)[0]

    def _both(
        self, output: torch.Tensor, sums: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The effect at every token, and by how much the loss on each next token rises."""
        if not self.decoder:
            clean = self.run.final[0].float()
            return (output.float() - clean).norm(dim=-1) / clean.norm(dim=-1), None
        following = self.run.ids[1:]
        if self.bent:
            logp, edited = self._logp, output.float().log_softmax(-1)
            rises = (logp - edited)[:-1].gather(1, following[:, None])[:, 0]
            return (logp.exp() * (logp - edited)).sum(-1), rises
        # KL = logsumexp' − logsumexp − (p W)·Δh: no second distribution over all words is made
        moved = (output - self.run.final[0]).float()
        wider = (self.logsumexp_of(output) if sums is None else sums) - self._logsumexp
        rises = wider[:-1] - (self.words[following].float() * moved[:-1]).sum(-1)
        return wider - (self._expected * moved).sum(-1), rises

    def _one(self, output: torch.Tensor, sums: torch.Tensor | None) -> tuple[float, float]:
        each, rises = self._both(output, sums)
        if rises is None:
            return float(each.mean()), float("nan")
        return float(each[1:].clamp_min(0).mean()), float(rises.mean())

    def logsumexp_of(self, states: torch.Tensor) -> torch.Tensor:
        """The logarithm of the sum over all words of exp(logit), of states (row, dim).

        Some words at a time: their logits stay in the processor's cache, which halves the time.
        """
        found = []
        for first in range(0, len(self.words), _WORDS):
            some = slice(first, first + _WORDS)
            logits = (states @ self.words[some].T).float()
            found.append((logits if self.bias is None else logits + self.bias[some]).logsumexp(-1))
        return torch.stack(found).logsumexp(0)

    def logits_of(self, states: torch.Tensor) -> torch.Tensor:
        """The logits of final states, before a model bends them."""
        logits = (states @ self.words.T).float()
        return logits if self.bias is None else logits + self.bias

    def _floor(self) -> float:
        runs = min(self.run.side_by_side, self.run.heads[0].shape[2])
        outputs = self.run.final_states(runs=runs, logits=self.bent)
        off = max(float(self.per_token(one).abs().mean()) for one in outputs)
        return max(10 * off, 1e-6)


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
