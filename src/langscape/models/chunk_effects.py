"""What leaving a chunk of a text out changes for those who read it, and how much their heads look at it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.errors import DataError, SettingsError
from langscape.models.forward import forward
from langscape.models.inputs import Reading, rows
from langscape.models.model import Model
from langscape.models.transformer import capture

_AT_ONCE = 5e8
"""Bytes of weights that are held together."""


@dataclass(frozen=True, eq=False)
class ChunkEffects:
    """The chunks but the last of a decoder's text, or all of an encoder's.

    effect     what leaving each out changes for its readers; attention (layer, head, chunk) their mean weight
    sizes      tokens of each; unaligned, how many tokens are parted otherwise without a chunk, at most
    even       the weight that even attention of their readers would put on each
    random     what leaving out passages as long as chunks changes, wherever they begin
    """

    decoder: bool
    tokens: int
    effect: np.ndarray
    attention: np.ndarray
    sizes: np.ndarray
    unaligned: int
    even: np.ndarray
    random: np.ndarray


def read_chunks(
    model: Model,
    chunks: Sequence[str],
    longest: int,
    *,
    draws: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> ChunkEffects:
    """Read the chunks together, then without each, and without `draws` passages that begin anywhere."""
    if model.kind not in ("decoder", "encoder"):
        raise SettingsError(
            f"{model.name} is of kind {model.kind}; chunks are of decoders and encoders of text"
        )
    decoder = model.kind == "decoder" and model.layout.vocabulary > 0
    text = "".join(chunks)
    whole = next(iter(rows(model, [text], None, Reading("start"))))
    count = len(whole.source)
    tokens = whole.source.tokens()
    if count > longest or any("cut" in note or "left out" in note for note in whole.source.notes):
        raise SettingsError(
            f"the text has more than {min(longest, count):,} tokens; chunks are of texts up to {longest:,}"
        )
    if tokens.offsets is None:
        raise DataError(f"the tokenizer of {model.name} does not say where its tokens stand in the text")
    ends = np.cumsum([len(one) for one in chunks])
    # a token belongs to the chunk that its last letter stands in: many begin with the space before a word
    owner = np.searchsorted(ends, np.maximum(tokens.offsets[:, 1], 1))
    owner[np.asarray(tokens.special)] = -1
    looked = len(chunks) - 1 if decoder else len(chunks)
    readers = [
        np.flatnonzero(owner == looked) if decoder else np.flatnonzero((owner >= 0) & (owner != at))
        for at in range(looked)
    ]
    if any(not len(one) for one in readers):
        raise SettingsError("a chunk has no token of its own; part the text otherwise")
    ids = list(whole.source.ids)
    before = _outputs(model, ids, decoder)

    def without(start: int, end: int, mine: np.ndarray) -> tuple[float, int]:
        """What the tokens that read lose without these letters, and how many are parted otherwise."""
        row = next(iter(rows(model, [text[:start] + text[end:]], None, Reading("start"))))
        others = list(row.source.ids)
        spans = tokens.offsets
        assert spans is not None
        gone = (spans[:, 1] > start) & (spans[:, 1] <= end) & (owner >= 0)
        front, back = _common(ids, others, gone)
        after = _outputs(model, others, decoder)
        pairs = [(one, one) for one in range(front)] + [
            (count - one, len(others) - one) for one in range(back, 0, -1)
        ]
        reading = set(mine.tolist()) - set(np.flatnonzero(gone).tolist())
        pairs = [pair for pair in pairs if pair[0] in reading]
        if not pairs:
            return float("nan"), 0
        changed = _difference(before[[a for a, _ in pairs]], after[[b for _, b in pairs]], decoder)
        return changed, len(others) - front - back

    starts = ends - [len(one) for one in chunks]
    effect, unaligned, total = np.empty(looked), 0, looked + draws
    for at in range(looked):
        effect[at], parted = without(int(starts[at]), int(ends[at]), readers[at])
        if np.isnan(effect[at]):
            raise DataError(
                "no token of those that read is the same without a chunk; part the text otherwise"
            )
        unaligned = max(unaligned, parted)
        if progress is not None:
            progress(Step(at + 1, total, "chunks left out"))
    random = np.empty(draws)
    words = [one.start() for one in re.finditer(r"\S+", text[: int(ends[looked - 1])])]
    rng = np.random.default_rng(seed)
    every = np.flatnonzero(owner >= 0)
    for at in range(draws):
        long = len(chunks[int(rng.integers(looked))].split())
        first = int(rng.integers(max(1, len(words) - long + 1)))
        stop = words[first + long] if first + long < len(words) else int(ends[looked - 1])
        random[at], _ = without(words[first], stop, readers[0] if decoder else every)
        if progress is not None:
            progress(Step(looked + at + 1, total, "passages left out"))
    sizes = np.array([(owner == at).sum() for at in range(looked)])
    # of a decoder, a token sees those before it and itself
    sight = np.array([np.mean(1 / (one + 1.0)) if decoder else 1 / count for one in readers])
    return ChunkEffects(
        decoder, count, effect, _attention(model, ids, owner, readers, looked), sizes, unaligned,
        sizes * sight, random,
    )  # fmt: skip


def _outputs(model: Model, ids: list[int], decoder: bool) -> torch.Tensor:
    """Logarithms of the next token's chances, or last hidden states, (token, …)."""
    inputs = {"input_ids": torch.tensor([ids], device=model.device)}
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    with model.running():
        output = forward(model.network, inputs, logits=decoder)
    return output.logits[0].float() if decoder else output[0][0].float()


def _common(one: list[int], other: list[int], gone: np.ndarray) -> tuple[int, int]:
    """How many tokens both runs share in front of those that are gone, and behind them."""
    places = np.flatnonzero(gone)
    start, stop = int(places[0]), int(places[-1]) + 1
    front = 0
    while front < min(start, len(other)) and one[front] == other[front]:
        front += 1
    back = 0
    while back < min(len(one) - stop, len(other) - front) and one[-1 - back] == other[-1 - back]:
        back += 1
    return front, back


def _difference(before: torch.Tensor, after: torch.Tensor, decoder: bool) -> float:
    if not decoder:
        return float(((after - before).norm(dim=-1) / before.norm(dim=-1)).mean())
    one, other = before.log_softmax(-1), after.log_softmax(-1)
    return float((one.exp() * (one - other)).sum(-1).clamp_min(0).mean())


def _attention(
    model: Model, ids: list[int], owner: np.ndarray, readers: list[np.ndarray], chunks: int
) -> np.ndarray:
    """(layer, head, chunk): the mean weight of each chunk's readers on it; the first token is nobody's."""
    every = sorted({int(one) for some in readers for one in some})
    heads = max(site.heads for site in model.layout.sites)
    step = max(1, int(_AT_ONCE // (4 * heads * len(every) * len(ids))))
    found = []
    for first in range(0, model.layers, step):
        layers = range(first, min(first + step, model.layers))
        seen = capture(model, ids, ("attention",), layers, rows=every)["attention"]
        one = np.empty((*seen.shape[:2], chunks))
        for at in range(chunks):
            keys = np.flatnonzero(owner == at)
            keys = keys[keys > 0]
            queries = np.searchsorted(every, readers[at])
            one[:, :, at] = seen[:, :, queries][..., keys].sum(-1).mean(-1)
        found.append(one)
    return np.concatenate(found)
