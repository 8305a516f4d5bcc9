"""A transformer over a prompt: what is computed once with the model, and flows of any number of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.analyses._flow_words import DEEPEST, NamedWords, Numbering, named_words
from langscape.data import Capture, Flow
from langscape.io.codec import noun

if TYPE_CHECKING:
    from langscape.models import Contributions, Stream

CHOICES, SPLIT, BUSY = 12, 4, 24
"""Words per position whose scores are taken apart, those of them split over tokens and neurons, and heads
per position whose own words are looked up."""

GREY = np.array([154, 160, 168])

Colouring = Callable[[Sequence[int]], tuple[np.ndarray, dict[str, float]]]
"""The colours (word, 3) of words by their ids, uint8, and how well they follow the words' vectors."""


@noun
@dataclass(frozen=True, eq=False)
class StreamReading:
    """What a transformer did with a prompt, and all that its vectors and vocabulary say of it.

    capture     its vectors: stream, heads, MLPs, attention
    lens        the best words at every node, ids and values (node, token, `DEEPEST`)
    parts       what every part adds to the scores of candidates, ids (token, candidate): each array begins
                with token and candidate. Candidates are all words that are taken apart in a flow of any
                number of words
    raised      the words that "heads" and "mlp" raise most, ids and values; −1 where no flow looks them up
    arrays      change, sizes, surprise and the norms on the stream
    words       all words that a flow may name, with the rows that they are compared by
    """

    model: str
    prompt: str
    head: bool
    post_norm: bool
    vocabulary: int
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    embedding_parts: tuple[str, ...]
    capture: Capture
    lens: tuple[np.ndarray, np.ndarray]
    parts: Mapping[str, np.ndarray]
    raised: Mapping[str, tuple[np.ndarray, np.ndarray]]
    arrays: Mapping[str, np.ndarray]
    words: NamedWords
    alarms: tuple[Mapping[str, Any], ...]


def read_stream(model: Any, prompt: str, generate: int = 0) -> StreamReading:
    """Run a transformer over a prompt, take its stream apart, and find what its vectors mean."""
    from langscape.metrics import change, stream_alarms
    from langscape.models import contributions, lens, promoted, stream, token_texts
    from langscape.views.flow_stream import refuse_long_stream

    residual = stream(model, prompt, generate=generate)
    seen = residual.capture
    refuse_long_stream(seen["stream"].shape, seen["attention"].shape, SPLIT)
    ids = tuple(int(one) for one in seen.tokens.require_ids())
    best = lens(residual, DEEPEST)
    chosen = [
        choices(best.ids[..., :top], ids, residual.head, len(residual.words)) for top in _tops(best.ids)
    ]
    candidates, split = _candidates(chosen)
    parts = _token_first(contributions(residual, candidates, split=split))
    busy = np.any([busy_heads(_chosen_parts(parts, one)["heads"]) for one in chosen], axis=0)
    heads, mlp = promoted(residual, "heads", 3, busy), promoted(residual, "mlp", 3)
    arrays = {
        "change": change(seen["stream"][:-1], seen["stream"][1:]).astype(np.float32),
        "sizes": np.linalg.norm(seen["stream"], axis=-1).astype(np.float32),
    }
    if residual.head:
        arrays["surprise"] = _surprise(residual.bend.of(seen["logits"]), np.asarray(ids))
    if residual.post_norm:
        arrays |= _norms(residual)
    named = [np.asarray(ids), best.ids, candidates, heads.ids, mlp.ids]
    kept = [name for name in seen.arrays if name != "logits"]
    return StreamReading(
        model.name,
        prompt,
        residual.head,
        residual.post_norm,
        len(residual.words),
        tuple(token_texts(seen)),
        ids,
        tuple(seen.metadata["parts"]),
        seen.only(*kept),
        (best.ids, best.values),
        parts,
        {"heads": (heads.ids, heads.values), "mlp": (mlp.ids, mlp.values)},
        arrays,
        named_words(named, lambda word: _word(model, word), lambda known: residual.words[known].numpy()),
        tuple(stream_alarms(seen["stream"], seen["heads"], seen.tokens, grows=not residual.post_norm)),
    )


def stream_flow(reading: StreamReading, title: str, top: int, colouring: Colouring) -> Flow:
    """The flow with `top` words at every node."""
    seen, numbering = reading.capture, Numbering()
    ids, values = (array[..., :top] for array in reading.lens)
    chosen = choices(ids, reading.ids, reading.head, reading.vocabulary)
    parts = _chosen_parts(reading.parts, chosen)
    arrays: dict[str, np.ndarray] = {
        "ids": numbering.number(np.asarray(reading.ids)),
        "lens": numbering.number(ids),
        "lens_values": values.astype(np.float32),
        "choices": numbering.number(chosen),
        **{
            f"part_{name}": np.ascontiguousarray(parts[name], np.float32)
            for name in ("embedding", "heads", "bias", "mlp", "constant")
        },
        "score": parts["score"].astype(np.float32),
        "neurons": parts["neurons"],
        "neuron_values": parts["neuron_values"],
        **reading.arrays,
    }
    if np.isfinite(parts["sources"]).all():
        arrays["sources"] = parts["sources"]
    busy = busy_heads(parts["heads"])
    raised = dict(reading.raised)
    raised["heads"] = (np.where(busy[..., None], raised["heads"][0], -1), raised["heads"][1])
    for name, (words, _) in raised.items():
        arrays[f"{name}_words"] = numbering.number(words)
    colours, follows = colouring(numbering.ids)
    arrays["word_colours"] = colours
    shares = values if reading.head else np.exp(20 * values)
    arrays["colour_stream"] = _mixed(colours, arrays["lens"], shares)
    for name, (_, added) in raised.items():
        arrays[f"colour_{name}"] = _mixed(colours, arrays[f"{name}_words"], np.nan_to_num(added))
    return Flow(
        "decoder" if reading.head else "encoder",
        reading.model,
        title,
        reading.tokens,
        reading.words.texts_of(numbering.ids),
        reading.vocabulary,
        {name: seen[name] for name in ("stream", "heads", "mlp", "attention_bias", "attention")},
        {name: seen.axes[name] for name in ("stream", "heads", "mlp", "attention_bias", "attention")},
        arrays,
        {
            "sums": float(parts["errors"].max()),
            "largest": float(np.abs(parts["score"]).max()),
            **follows,
        },
        reading.alarms,
        parts=reading.embedding_parts,
        post_norm=reading.post_norm,
        remarks=tuple(seen.notes),
    )


def choices(ids: np.ndarray, given: Sequence[int], head: bool, vocabulary: int) -> np.ndarray:
    """Per token, the words whose scores are taken apart: the next one, the best, then others of the lens.

    ids (node, token, top) are the words of the lens. Of a model without language head the token itself
    stands for the next one.
    """
    chosen = np.empty((ids.shape[1], min(CHOICES, vocabulary)), np.int64)
    for token in range(ids.shape[1]):
        best = [int(word) for word in ids[-1, token]]
        following = given[token + 1 : token + 2] if head else given[token : token + 1]
        wanted: dict[int, None] = dict.fromkeys([*best[:3], *following, *best[3:]])
        for node in ids[::-1, token]:
            wanted.update(dict.fromkeys(int(word) for word in node))
        wanted.update(dict.fromkeys(range(chosen.shape[1])))
        chosen[token] = list(wanted)[: chosen.shape[1]]
    return chosen


def busy_heads(heads: np.ndarray) -> np.ndarray:
    """At every token, the heads with the largest share of any chosen word: theirs are worth a look.

    heads (token, choice, layer, head) → truth values (layer, head, token).
    """
    size = np.moveaxis(np.abs(heads).max(1), 0, -1)
    layers, count, tokens = size.shape
    flat = size.reshape(-1, tokens)
    which = np.zeros_like(flat, bool)
    best = np.argsort(-flat, axis=0)[:BUSY]
    which[best, np.arange(tokens)] = True
    return which.reshape(layers, count, tokens)


def _tops(ids: np.ndarray) -> range:
    """The numbers of words that lead to different choices: beyond `CHOICES`, the best words fill them all."""
    return range(1, min(CHOICES, ids.shape[-1]) + 1)


def _candidates(chosen: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """All words of several choices (token, candidate), those to be split first; and how many are split.

    A token with fewer candidates than others has its first several times.
    """
    rows, split = [], 0
    for token in range(len(chosen[0])):
        first = dict.fromkeys(int(word) for one in chosen for word in one[token, :SPLIT])
        split = max(split, len(first))
        rows.append(list(dict.fromkeys([*first, *(int(word) for one in chosen for word in one[token])])))
    longest = max(map(len, rows))
    return np.array([[*row, *row[:1] * (longest - len(row))] for row in rows], np.int64), split


def _token_first(parts: Contributions) -> dict[str, np.ndarray]:
    """Contributions with token and candidate as first axes; numbers of a page's precision."""
    return {
        "ids": parts.ids,
        "embedding": np.moveaxis(parts.embedding, [-2, -1], [0, 1]).astype(np.float32),
        "heads": np.moveaxis(parts.heads, [2, 3], [0, 1]).astype(np.float32),
        "bias": np.moveaxis(parts.attention_bias, [1, 2], [0, 1]).astype(np.float32),
        "mlp": np.moveaxis(parts.mlp, [1, 2], [0, 1]).astype(np.float32),
        "constant": parts.constant.astype(np.float32),
        "score": parts.score,
        "errors": parts.errors,
        "sources": np.moveaxis(parts.sources, [2, 3], [0, 1]).astype(np.float32),
        "neurons": np.moveaxis(parts.neurons, 0, 2).astype(np.int32),
        "neuron_values": np.moveaxis(parts.neuron_values, 0, 2).astype(np.float32),
    }


def _chosen_parts(parts: Mapping[str, np.ndarray], chosen: np.ndarray) -> dict[str, np.ndarray]:
    """The contributions to chosen words, (token, choice) first; the first `SPLIT` are split."""
    at = (parts["ids"][:, None, :] == chosen[:, :, None]).argmax(-1)
    token = np.arange(len(chosen))[:, None]
    few = ("sources", "neurons", "neuron_values")
    return {
        name: np.ascontiguousarray(array[token, at[:, :SPLIT] if name in few else at])
        for name, array in parts.items()
    }


def _mixed(named: np.ndarray, ids: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The colours of words (…, top) mixed by their shares, uint8; grey where there are none."""
    weights = np.where(ids >= 0, np.maximum(shares, 0), 0)[..., None].astype(np.float64)
    total = weights.sum(-2)
    mixed = (named[ids] * weights).sum(-2) / np.where(total > 0, total, 1)
    return np.where(total > 0, np.round(mixed), GREY).astype(np.uint8)


def _norms(stream: Stream) -> dict[str, np.ndarray]:
    """The norms on the stream, scales frozen: factor (node, token), gain and shift (node, dim)."""
    norms = [norm for norm in stream.norms[1:-1] if norm is not None]
    return {
        "norm_factor": np.stack([norm.factor[:, 0].numpy() for norm in norms]).astype(np.float32),
        "norm_gain": np.stack([norm.gain.numpy() for norm in norms]).astype(np.float32),
        "norm_shift": np.stack([norm.shift.numpy() for norm in norms]).astype(np.float32),
    }


def _surprise(logits: np.ndarray, ids: np.ndarray) -> np.ndarray:
    high = logits.max(-1).astype(np.float64)
    total = high + np.log(np.exp(logits - high[:, None], dtype=np.float64).sum(-1))
    given = logits[np.arange(len(ids) - 1), ids[1:]]
    return np.append(total[:-1] - given, np.nan).astype(np.float32)


def _word(model: Any, number: int) -> str:
    if model.tokenizer is None:
        return str(number)
    text = model.tokenizer.decode([number], clean_up_tokenization_spaces=False)
    return text or str(model.tokenizer.convert_ids_to_tokens(number))
