"""What heads, MLPs and layers do to what a model gives: exactly, by taking each away.

A part is replaced by its own mean over the tokens but the first. The effect on a decoder is the mean KL
divergence of the next token from the unedited run, in nats; on an encoder how far its last hidden states
move, as a share of their length. Runs begin at the layer that is edited, and heads of one layer run side by
side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.errors import DataError, SettingsError
from langscape.models.forward import forward
from langscape.models.model import Model
from langscape.models.unedited import Unedited, batches, mean_but_first


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
            logits = self.logits if self.bent else plain
            self._logp, self._logsumexp = logits.log_softmax(-1), logits.logsumexp(-1)
            self._expected = self._logp.exp() @ self.words.float()
        self.floor = self._floor()

    def __call__(self, outputs: torch.Tensor) -> Effect:
        """Of final states, or where `bent` of logits, (run, token, …)."""
        found = [self._one(output) for output in outputs]  # row by row: logits of all would take gigabytes
        return Effect(np.array([one[0] for one in found]), np.array([one[1] for one in found]))

    def per_token(self, output: torch.Tensor) -> torch.Tensor:
        """The effect of one run at every token."""
        return self._both(output)[0]

    def _both(self, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
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
        wider = self.logits_of(output).logsumexp(-1) - self._logsumexp
        rises = wider[:-1] - (self.words[following].float() * moved[:-1]).sum(-1)
        return wider - (self._expected * moved).sum(-1), rises

    def _one(self, output: torch.Tensor) -> tuple[float, float]:
        each, rises = self._both(output)
        if rises is None:
            return float(each.mean()), float("nan")
        return float(each[1:].clamp_min(0).mean()), float(rises.mean())

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
    for layer in sorted({one.layer for one in parts}):
        mine = [at for at, one in enumerate(parts) if one.layer == layer]
        heads = [at for at in mine if parts[at].kind == "head"]
        groups = batches(heads, run.side_by_side) + [[at] for at in mine if parts[at].kind != "head"]
        for group in groups:
            found = measure(_without(run, layer, [parts[at] for at in group], measure.bent))
            effect[list(group)], loss[list(group)] = found
            done += len(group)
            tell(Step(done, len(parts), "parts taken away"))
    return Effect(effect, loss)


def _without(run: Unedited, layer: int, parts: Sequence[PartName], logits: bool) -> torch.Tensor:
    """Runs side by side, each without one part of a layer."""
    kind = parts[0].kind
    if kind == "head":
        means = mean_but_first(run.heads[layer])[0, 0]

        def changed(at: int, output: torch.Tensor) -> torch.Tensor:
            if at != layer:
                return output
            output = output.clone()
            for place, one in enumerate(parts):
                output[place, 1:, one.head] = means[one.head]
            return output

        return run.final_states(layer, runs=len(parts), heads=changed, logits=logits)
    if kind == "mlp":
        return run.final_states(layer, mlps=_mlps_changed(run, [layer]), logits=logits)
    added = _averaged(run.states[layer + 1] - run.states[layer])
    return run.final_states(layer + 1, run.states[layer] + added, logits=logits)


def group_effect(run: Unedited, parts: Sequence[PartName], measure: Measure | None = None) -> Effect:
    """The effect of taking several heads and MLPs away together."""
    if not parts or any(one.kind == "layer" for one in parts):
        raise SettingsError("a group is of heads and MLPs, and has at least one")
    measure = measure or Measure(run)
    heads: dict[int, list[int]] = {}
    for one in parts:
        if one.kind == "head":
            heads.setdefault(one.layer, []).append(one.head)
    mlps = [one.layer for one in parts if one.kind == "mlp"]

    def changed(at: int, output: torch.Tensor) -> torch.Tensor:
        if at in heads:
            output = output.clone()
            output[:, 1:, heads[at]] = mean_but_first(run.heads[at])[:, :, heads[at]]
        return output

    first = min(one.layer for one in parts)
    outputs = run.final_states(
        first, heads=changed, mlps=_mlps_changed(run, mlps) if mlps else None, logits=measure.bent
    )
    return measure(outputs)


def _averaged(tensor: torch.Tensor) -> torch.Tensor:
    """(1, token, dim) with every token but the first at their mean."""
    return torch.cat([tensor[:, :1], mean_but_first(tensor).expand(-1, tensor.shape[1] - 1, -1)], 1)


def _mlps_changed(run: Unedited, layers: Sequence[int]) -> Callable[[int, torch.Tensor], torch.Tensor]:
    """MLPs at their mean; the first token keeps what it has in the run at hand."""

    def changed(layer: int, output: torch.Tensor) -> torch.Tensor:
        if layer not in layers:
            return output
        shaped = output.reshape(-1, run.tokens, output.shape[-1]).clone()
        shaped[:, 1:] = mean_but_first(run.mlps[layer])
        return shaped.reshape(output.shape)

    return changed
