"""Continuing a text: greedy, or sampled with a seed that touches no global state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from langscape.models.attention_hook import eagerly

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def continuation(
    network: PreTrainedModel,
    ids: Sequence[int],
    count: int,
    seed: int | None,
    source: Sequence[int] | None = None,
) -> list[int]:
    """Up to `count` token ids that follow `ids`; fewer when the model ends its text.

    Without a seed the likeliest token is taken each time; with one, tokens are drawn as the model's
    probabilities have it. For an encoder–decoder `ids` are the target so far and `source` its input.
    """
    chance = None if seed is None else torch.Generator(device="cpu").manual_seed(seed)
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
            chosen = _chosen(output.logits[0, -1], chance)
            new_ids.append(chosen)
            if chosen in ends:
                break
            fresh = [chosen] if cache is not None else [*ids, *new_ids]
    return new_ids


def _chosen(logits: torch.Tensor, chance: torch.Generator | None) -> int:
    if chance is None:
        return int(logits.argmax())
    shares = torch.softmax(logits.float().cpu(), dim=-1)
    return int(torch.multinomial(shares, 1, generator=chance))


def _ends(network: PreTrainedModel) -> set[int]:
    ends: set[int] = set()
    for config in (network.config, getattr(network, "generation_config", None)):
        end = getattr(config, "eos_token_id", None)
        ends |= set(end) if isinstance(end, (list, tuple)) else {end} if end is not None else set()
    return ends
