"""The same heads taken away by nnsight and by langscape, in one run: equal effects, and CPU time.

    python -m bench.interventions

nnsight is no dependency of ours: install it beside (`pip install nnsight`). Both replace a head's output by
its mean over the tokens but the first, and measure the KL divergence of the next token.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from langscape.models import get_model, open_model
from langscape.models.effect_measures import Measure
from langscape.models.effects import PartName, exact_effects
from langscape.models.unedited import read_unedited

TEXT = (
    "In the morning the fishermen carried their nets down to the quay and looked at the sky. The wind came "
    "from the west, and the oldest of them said that it would turn before noon. Nobody believed him, but "
    "at eleven the flags began to point the other way, and the boats stayed where they were until evening."
)
LAYERS = (2, 9, 16, 23, 28)
TOKENS = 64


def main() -> None:
    """Print both times, their ratio, and the largest difference."""
    try:
        from nnsight import LanguageModel
    except ImportError:
        sys.exit("nnsight is not installed; pip install nnsight")
    torch.set_num_threads(1)
    get_model("decoder")
    model = open_model("decoder", device="cpu")
    run = read_unedited(model, TEXT, TOKENS)
    parts = [PartName("head", layer, head) for layer in LAYERS for head in range(model.heads)]
    began = time.process_time()
    ours = exact_effects(run, parts, Measure(run)).effect
    own_time = time.process_time() - began
    peer = LanguageModel(model.network, tokenizer=model.tokenizer)
    began = time.process_time()
    theirs = by_nnsight(peer, run.ids, parts)
    peer_time = time.process_time() - began
    off = float(np.abs(ours - theirs).max())
    print(f"{len(parts)} heads of {len(LAYERS)} layers, {run.tokens} tokens, one thread")
    print(f"langscape {own_time:.1f} CPU s, nnsight {peer_time:.1f} CPU s: ratio {own_time / peer_time:.2f}")
    print(f"largest difference of an effect {off:.1e}; effects from {ours.min():.1e} to {ours.max():.1e}")
    sys.exit(0 if off <= 1e-4 and own_time <= 0.6 * peer_time else 1)


def by_nnsight(peer: object, ids: torch.Tensor, parts: list[PartName]) -> np.ndarray:
    """The effects as nnsight computes them: a trace for each head."""
    network: object = peer
    rows = ids[None]
    width = 64
    means: dict[int, torch.Tensor] = {}
    for layer in sorted({one.layer for one in parts}):
        with torch.no_grad(), network.trace(rows):  # type: ignore[attr-defined]
            given = network.model.layers[layer].self_attn.o_proj.input.save()  # type: ignore[attr-defined]
        means[layer] = given[0, 1:].mean(0)
    with torch.no_grad(), network.trace(rows):  # type: ignore[attr-defined]
        logits = network.lm_head.output.save()  # type: ignore[attr-defined]
    before = logits[0].float().log_softmax(-1)
    found = []
    for one in parts:
        columns = slice(one.head * width, (one.head + 1) * width)
        mean = means[one.layer][columns]
        layer = one.layer
        with torch.no_grad(), network.trace(rows):  # type: ignore[attr-defined]
            network.model.layers[layer].self_attn.o_proj.input[:, 1:, columns] = mean  # type: ignore[attr-defined]
            logits = network.lm_head.output.save()  # type: ignore[attr-defined]
        after = logits[0].float().log_softmax(-1)
        found.append(float((before.exp() * (before - after)).sum(-1)[1:].mean()))
    return np.array(found)


if __name__ == "__main__":
    main()
