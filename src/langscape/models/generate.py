"""Continuing a text: greedy, or sampled under a temperature, top k, top p and a seed of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from langscape.errors import SettingsError
from langscape.models.attention_hook import eagerly

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn: logits ÷ temperature, from the `top_k` likeliest, whose chances come to `top_p`.

    A temperature of 0 takes the likeliest each time; a `top_k` of 0 and a `top_p` of 1 leave out none.

    >>> Sampling(0.5, top_k=2).chances(np.log([0.5, 0.25, 0.25])).round(2).tolist()
    [0.8, 0.2, 0.0]
    >>> Sampling(1.0, top_p=0.6).chances(np.log([0.5, 0.3, 0.2])).round(2).tolist()
    [0.62, 0.37, 0.0]
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def chances(self, logits: np.ndarray) -> np.ndarray:
        """The chances (word,) with which a word is drawn, of logits or log chances."""
        scores = np.asarray(logits, np.float64)
        order = np.argsort(-scores, kind="stable")
        if self.temperature == 0:
            return (np.arange(len(scores)) == order[0]).astype(np.float64)
        ranked = scores[order] / self.temperature
        shares = np.exp(ranked - ranked[0])
        if self.top_k:
            shares[self.top_k :] = 0
        shares /= shares.sum()
        # the word with which the sum reaches p is the last that stays
        shares[np.cumsum(shares) - shares >= self.top_p] = 0
        found = np.zeros_like(shares)
        found[order] = shares / shares.sum()
        return found

    def chooser(self) -> Callable[[np.ndarray], int]:
        """Draws one word of logits after another, from the seed on."""
        chance = np.random.default_rng(self.seed)

        def choose(logits: np.ndarray) -> int:
            shares = self.chances(logits)
            return int(np.searchsorted(np.cumsum(shares), chance.random() * shares.sum(), side="right"))

        return choose


@dataclass(frozen=True)
class Written:
    """What was written behind a prompt: texts and chances of tokens, and log chances of the first (word,)."""

    logp: np.ndarray
    texts: list[str] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)


def write(model: Any, prompt: str, count: int, sampling: Sampling, edits: Sequence[Any] = ()) -> Written:
    """Continue a prompt by up to `count` tokens; fewer when a transformer ends its text.

    With edits, parts of a transformer are replaced in every run that gives a token.
    """
    choose = sampling.chooser()
    first: list[np.ndarray] = []
    chances: list[float] = []

    def draw(logits: np.ndarray) -> int:
        logp = _log_softmax(logits)
        first.append(logp if not first else np.empty(0))
        chosen = choose(logp)
        chances.append(float(np.exp(logp[chosen])))
        return chosen

    if model.kind == "lstm":
        if edits:
            raise SettingsError(f"{model.name} is an LSTM and has no heads; edits are of transformers")
        new = _again(model, prompt, count, draw)
        texts = [f" {model.words[one]}" for one in new]
    else:
        from langscape.models.tokens import split

        ids = split(model, prompt, room=max(count, 1))[0].ids
        if edits:
            new = _again(model, prompt, count, draw, edits)
        else:
            with model.running():
                new = continuation(model.network, ids, max(count, 1), draw)[:count]
        texts = [model.tokenizer.decode([one], clean_up_tokenization_spaces=False) for one in new]
    return Written(first[0], texts, chances[: len(texts)])


def _again(
    model: Any, prompt: str, count: int, draw: Callable[[np.ndarray], int], edits: Sequence[Any] = ()
) -> list[int]:
    """The whole text is read again for every token: by an LSTM, which is small, and under edits, which are of
    the whole run."""
    from langscape.models.transformer import capture

    more: dict[str, Any] = {"edits": edits} if edits else {}
    ids = [int(one) for one in capture(model, prompt, "logits", **more).tokens.require_ids()]
    ends = _ends(model.network) if edits else set()
    new: list[int] = []
    while len(new) < max(count, 1) and not (new and new[-1] in ends):
        new.append(draw(capture(model, [*ids, *new], "logits", **more)["logits"][-1]))
    return new[:count]


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    scores = np.asarray(logits, np.float64)
    scores = scores - scores.max()
    return scores - np.log(np.exp(scores).sum())


def seeded(seed: int | None) -> Callable[[np.ndarray], int]:
    """Takes the likeliest token each time; with a seed, draws as the model's probabilities have it."""
    if seed is None:
        return lambda logits: int(np.argmax(logits))
    chance = torch.Generator(device="cpu").manual_seed(seed)
    return lambda logits: int(
        torch.multinomial(torch.softmax(torch.from_numpy(logits), dim=-1), 1, generator=chance)
    )


def continuation(
    network: PreTrainedModel,
    ids: Sequence[int],
    count: int,
    choose: Callable[[np.ndarray], int],
    source: Sequence[int] | None = None,
) -> list[int]:
    """Up to `count` token ids that follow `ids`; fewer when the model ends its text.

    `choose` is given the logits (word,) of each next token. For an encoder–decoder `ids` are the target
    so far and `source` its input.
    """
    ends = _ends(network)
    new_ids: list[int] = []
    given: dict[str, Any] = {}
    fresh: list[int] = list(ids)
    cache: Any = None
    body: Any = network
    with eagerly(network), torch.no_grad():
        if source is not None:
            mask = torch.ones(1, len(source), dtype=torch.long, device=network.device)
            encoder: Any = network.get_encoder()
            row = torch.tensor([list(source)], device=network.device)
            encoded = encoder(input_ids=row, attention_mask=mask, return_dict=True)
            given = {"encoder_outputs": encoded, "attention_mask": mask}
        while len(new_ids) < count:
            row = torch.tensor([fresh], device=network.device)
            if source is None:
                total = len(ids) + len(new_ids)
                mask = torch.ones(1, total, dtype=torch.long, device=network.device)
                step = {"input_ids": row, "attention_mask": mask}
            else:
                step = {"decoder_input_ids": row, **given}
            output = body(**step, past_key_values=cache, use_cache=True, return_dict=True)
            cache = getattr(output, "past_key_values", None)
            chosen = choose(output.logits[0, -1].float().cpu().numpy())
            new_ids.append(chosen)
            if chosen in ends:
                break
            fresh = [chosen] if cache is not None else [*ids, *new_ids]
    return new_ids


def _ends(network: PreTrainedModel) -> set[int]:
    ends: set[int] = set()
    for config in (network.config, getattr(network, "generation_config", None)):
        end = getattr(config, "eos_token_id", None)
        ends |= set(end) if isinstance(end, (list, tuple)) else {end} if end is not None else set()
    return ends
