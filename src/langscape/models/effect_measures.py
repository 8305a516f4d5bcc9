"""How far an edited run is from the unedited one: in next words, last states, pooled vector or classes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from langscape.errors import SettingsError
from langscape.models.forward import forward
from langscape.models.model import Model
from langscape.models.pooling import pooled, pooling_of
from langscape.models.unedited import Unedited

Measured = Literal["auto", "words", "states", "pooled", "classes"]
"""What is compared: "auto" takes the next words of a decoder, and the last states of all others."""

_WORDS = 1024
"""Words whose logits are summed at once."""


class Effect(NamedTuple):
    """Of each run: the effect, and by how much the loss on the text rises (NaN but for next words)."""

    effect: np.ndarray
    loss_change: np.ndarray


def has_classes(model: Model) -> bool:
    """Whether a model ends in a classifier of whole texts."""
    return type(model.network).__name__.endswith("ForSequenceClassification")


def measured_of(model: Model, measured: Measured = "auto") -> str:
    """What is compared of this model; what it does not have is refused by name."""
    speaks = model.kind == "decoder" and model.layout.vocabulary > 0
    if measured == "auto":
        return "words" if speaks else "states"
    if measured == "words" and not speaks:
        raise SettingsError(f"{model.name} writes no next words; measure states or pooled")
    if measured == "classes" and not (has_classes(model) and model.kind == "encoder"):
        raise SettingsError(
            f"{model.name} is no encoder with a classifier of texts; measure states or pooled, or open a "
            "model that was saved as ForSequenceClassification"
        )
    return measured


class Measure:
    """How far an edited run is from the unedited one.

    words    mean KL divergence of the next token from the unedited run over all tokens but the first, in nats
    states   how far the last hidden states move, as a share of their length, mean over tokens
    pooled   how far the text's vector moves, pooled as the model itself does, as a share of its length
    classes  KL divergence of the classes, in nats: summed over classes where a text may have several; of a
             classifier of one number how far that moves

    `floor` is what rounding alone makes of runs side by side: effects below it are none that were found.
    `bent` says that runs must give the model's own logits: words that a model bends, and classes.
    """

    def __init__(self, run: Unedited, measured: Measured = "auto") -> None:
        self.run = run
        network: Any = run.model.network
        self.measured = measured_of(run.model, measured)
        self.decoder = self.measured == "words"
        self.bent = self.measured == "classes"
        if self.measured in ("words", "classes"):
            with run.model.running():
                self.logits = forward(network, run.inputs, logits=True).logits[0].float()
        if self.decoder:
            self.words = network.get_output_embeddings().weight.detach()
            bias = getattr(network.get_output_embeddings(), "bias", None)
            self.bias = None if bias is None else bias.detach()
            plain = self.logits_of(run.final[0])
            self.bent = not torch.allclose(plain, self.logits, atol=1e-3, rtol=1e-3)
            self._logp = (self.logits if self.bent else plain).log_softmax(-1)
            self._logsumexp = self.logsumexp_of(run.final[0])
            self._expected = self._logp.exp() @ self.words.float()
        elif self.measured == "classes":
            # as transformers reads a configuration: one output is a number, several are one choice
            told = getattr(network.config, "problem_type", None)
            self.classes = told or (
                "regression" if self.logits.numel() == 1 else "single_label_classification"
            )
        elif self.measured == "pooled":
            self.pooling = pooling_of(run.model, "auto")
            self._vector = self.vector_of(run.final[0])
        self.floor = self._floor()

    @property
    def whole(self) -> bool:
        """Whether there is one value for the text, not one for every token."""
        return self.measured in ("pooled", "classes")

    @property
    def said(self) -> str:
        """What is compared, in words."""
        if self.measured == "pooled":
            return f"how far the text’s vector moves (pooling: {self.pooling.said}), as a share of its length"
        if self.measured == "classes":
            if self.classes == "regression":
                return "how far the classifier’s output moves"
            summed = " summed over classes," if self.classes == "multi_label_classification" else ""
            return f"KL divergence of the classes from the unedited run,{summed} in nats"
        return {
            "words": "mean KL divergence of the next token from the unedited run, in nats",
            "states": "how far the last hidden states move, as a share of their length, mean over all tokens",
        }[self.measured]

    def __call__(self, outputs: torch.Tensor) -> Effect:
        """Of final states, or where `bent` of logits, (run, token, …)."""
        sums = [None] * len(outputs)
        if self.decoder and not self.bent:
            sums = self.logsumexp_of(outputs.flatten(0, 1)).reshape(outputs.shape[:2])
        found = [self._one(output, each) for output, each in zip(outputs, sums, strict=True)]
        return Effect(np.array([one[0] for one in found]), np.array([one[1] for one in found]))

    def per_token(self, output: torch.Tensor) -> torch.Tensor:
        """The effect of one run at every token; one value where the whole text has one."""
        return self._both(output)[0]

    def _both(
        self, output: torch.Tensor, sums: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The effect at every token, and by how much the loss on each next token rises."""
        if not self.decoder:
            return self._moved(output), None
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

    def _moved(self, output: torch.Tensor) -> torch.Tensor:
        """The effect of one run where no next words are compared."""
        if self.measured == "states":
            clean = self.run.final[0].float()
            return (output.float() - clean).norm(dim=-1) / clean.norm(dim=-1)
        if self.measured == "pooled":
            return (self.vector_of(output) - self._vector).norm() / self._vector.norm()
        edited = output.double()
        clean = self.logits.double()
        if self.classes == "regression":
            return (edited - clean).abs().mean()
        if self.classes == "multi_label_classification":
            # of every class yes against no: two choices with logits x and 0
            clean, edited = (torch.stack([one, torch.zeros_like(one)], -1) for one in (clean, edited))
        logp, logq = clean.log_softmax(-1), edited.log_softmax(-1)
        return (logp.exp() * (logp - logq)).sum()

    def _one(self, output: torch.Tensor, sums: torch.Tensor | None) -> tuple[float, float]:
        each, rises = self._both(output, sums)
        if rises is None:
            return max(float(each.mean()), 0.0), float("nan")
        return float(each[1:].clamp_min(0).mean()), float(rises.mean())

    def vector_of(self, states: torch.Tensor) -> torch.Tensor:
        """The text's vector from its final states, (token, dim) → (dim,), as the model pools them."""
        plain = torch.tensor([not special for special in self.run.row.source.special], device=states.device)
        counted = plain if not self.pooling.special and plain.any() else torch.ones_like(plain)
        vector = pooled(states[None].float(), torch.ones_like(counted)[None], counted[None], self.pooling)[0]
        return vector / vector.norm().clamp_min(1e-12) if self.pooling.unit else vector

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

    # ---- what an estimate differentiates ----

    def objective(
        self, final: torch.Tensor, logits: torch.Tensor | None, random: torch.Generator
    ) -> torch.Tensor:
        """What is differentiated for one draw: the loss on labels that the model itself would give, or a
        random direction of states or of the pooled vector."""
        with torch.enable_grad():
            if logits is None:
                if self.measured == "pooled":
                    moved = self.vector_of(final[0]) / self._vector.norm()
                else:
                    moved = final / self.run.final.norm(dim=-1, keepdim=True)
                direction = torch.randn(moved.shape, generator=random).to(moved.device, moved.dtype)
                return (moved * direction).sum()
            chances = logits.detach().cpu()
            if self.decoder:
                labels = torch.multinomial(chances.softmax(-1), 1, generator=random)[:, 0]
                return functional.cross_entropy(logits, labels.to(logits.device), reduction="sum")
            if self.classes == "regression":
                return (logits * torch.randn(logits.shape, generator=random).to(logits)).sum()
            if self.classes == "multi_label_classification":
                answers = torch.bernoulli(chances.sigmoid(), generator=random).to(logits)
                return functional.binary_cross_entropy_with_logits(logits, answers, reduction="sum")
            label = torch.multinomial(chances.softmax(-1), 1, generator=random).to(logits.device)
            return functional.cross_entropy(logits[None], label)

    def squared(self, products: torch.Tensor) -> torch.Tensor:
        """Products of gradient and change, (token, …) → what one draw adds to the estimate.

        Squares of single tokens, whose errors do not add up in step; where the whole text has one value,
        what tokens do to it adds up before it is squared.
        """
        return products.sum(0).pow(2) if self.whole else products.pow(2).sum(0)

    def estimate(self, squares: Any) -> Any:
        """The mean over draws of `squared` as an effect."""
        count = self.run.tokens
        if self.decoder:
            return squares / 2 / (count - 1)
        if self.measured == "classes" and self.classes != "regression":
            return squares / 2
        return (squares if self.whole else squares / count) ** 0.5
