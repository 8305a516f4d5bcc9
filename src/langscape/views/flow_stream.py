"""The flow of a transformer: the residual stream of every token, and what each head and MLP adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import View
from langscape.metrics import change
from langscape.metrics.surprisal import in_digits
from langscape.models.display_names import model_title
from langscape.views.flow import Book, Colours, colour_quality, halves, refuse_long, sums, word_colours

if TYPE_CHECKING:
    from langscape.models import Contributions, Stream

BUDGET = 11_500_000
"""Bytes, in base64, that a page's vectors may take; beyond, they are rounded and then heads left out."""

GREY = np.array([154, 160, 168])

CHOICES, SPLIT, BUSY = 12, 4, 24
"""Words per position whose scores are taken apart, those of them split over tokens and neurons, and heads
per position whose own words are looked up."""


def stream_flow(
    stream: Stream, *, colours: Colours | None = None, top: int = 8, title: str | None = None
) -> View:
    """The picture of a transformer's run over one text."""
    from langscape.models import contributions, lens, promoted, token_texts

    held = stream.capture
    tokens = len(held.tokens)
    nodes, _, width = held["stream"].shape
    layers, heads = held["attention"].shape[:2]
    # at least the stream and MLPs in halves, attention, and how heads split over tokens
    refuse_long(
        tokens, lambda n: 1.33 * n * (2 * (nodes + layers) * width + layers * heads * n * (4 + 2 * SPLIT))
    )
    book = Book()
    words = lens(stream, top)
    chosen = _choices(stream, words.ids)
    parts = contributions(stream, chosen)
    arrays: dict[str, np.ndarray] = {
        "ids": book.number(held.tokens.require_ids()),
        "lens": book.number(words.ids),
        "lens_values": words.values.astype(np.float32),
        "attention": np.asarray(held["attention"], np.float32),
        **_parts(parts, book),
    }
    busy = _busy(parts)
    raised = {"heads": promoted(stream, "heads", 3, busy), "mlp": promoted(stream, "mlp", 3)}
    for name, found in raised.items():
        arrays[f"{name}_words"] = book.number(found.ids)
    notes = [*held.notes, *_stored(stream, arrays)]
    before, after = held["stream"][:-1], held["stream"][1:]
    arrays["change"] = change(before, after).astype(np.float32)
    arrays["sizes"] = np.linalg.norm(held["stream"], axis=-1).astype(np.float32)
    if stream.head:
        arrays["surprise"] = _surprise(held["logits"], held.tokens.require_ids())
    if stream.post_norm:
        _norms(stream, arrays)
    if colours is not None:
        notes.append("vectors take the mixed colours of the words they say; heads without words are grey")
        named = arrays["word_colours"] = word_colours(colours, book.ids)
        shares = words.values if stream.head else np.exp(20 * words.values)
        arrays["colour_stream"] = _mixed(named, arrays["lens"], shares)
        for name, found in raised.items():
            arrays[f"colour_{name}"] = _mixed(named, arrays[f"{name}_words"], np.nan_to_num(found.values))
    model, called = stream.model, model_title(stream.model.name)
    properties: dict[str, Any] = {
        "title": title or f"Flow through {called}",
        "subtitle": f"{called} · {layers} layers × {heads} heads · {width} dimensions",
        "model": "decoder" if stream.head else "encoder",
        "tokens": token_texts(held),
        "words": [_word(model, i) for i in book.ids],
        "vocabulary": len(stream.words),
        "layers": layers,
        "heads": heads,
        "dims": width,
        "parts": held.metadata["parts"],
        "post_norm": stream.post_norm,
        "later": [name for name in arrays if name.startswith("heads_") and name != "heads_words"],
        "alarms": _alarms(stream),
        "quality": [_sum_check(stream, parts), *([] if colours is None else colour_quality(colours))],
        "notes": notes + _said(stream),
        "choices": chosen.shape[1],
        "tokens_count": tokens,
    }
    return View("flow", properties, arrays)


def _mixed(named: np.ndarray, ids: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The colours of words (…, top) mixed by their shares, uint8; grey where there are none."""
    weights = np.where(ids >= 0, np.maximum(shares, 0), 0)[..., None].astype(np.float64)
    total = weights.sum(-2)
    mixed = (named[ids] * weights).sum(-2) / np.where(total > 0, total, 1)
    return np.where(total > 0, np.round(mixed), GREY).astype(np.uint8)


def _choices(stream: Stream, ids: np.ndarray) -> np.ndarray:
    """Per token, the words whose scores are taken apart: the next one, the best, then others of the lens."""
    given = stream.capture.tokens.require_ids()
    chosen = np.empty((ids.shape[1], min(CHOICES, len(stream.words))), np.int64)
    for token in range(ids.shape[1]):
        best = [int(word) for word in ids[-1, token]]
        told = (
            int(given[token + 1 if stream.head else token])
            if token + 1 < len(given) or not stream.head
            else None
        )
        wanted: dict[int, None] = dict.fromkeys([*best[:3], *([] if told is None else [told]), *best[3:]])
        for node in ids[::-1, token]:
            wanted.update(dict.fromkeys(int(word) for word in node))
        wanted.update(dict.fromkeys(range(chosen.shape[1])))
        chosen[token] = list(wanted)[: chosen.shape[1]]
    return chosen


def _parts(parts: Contributions, book: Book) -> dict[str, np.ndarray]:
    """Contributions with the token first, float32; how heads split over tokens in half precision."""
    ahead = {name: np.moveaxis(getattr(parts, name), [-2, -1], [0, 1]) for name in ("embedding", "mlp")}
    ahead["heads"] = np.moveaxis(parts.heads, [2, 3], [0, 1])
    ahead["bias"] = np.moveaxis(parts.attention_bias, [1, 2], [0, 1])
    made = {f"part_{name}": np.ascontiguousarray(values, np.float32) for name, values in ahead.items()}
    split = np.moveaxis(parts.sources[:, :, :, :SPLIT], [2, 3], [0, 1])
    made |= {
        "choices": book.number(parts.ids),
        "part_constant": parts.constant.astype(np.float32),
        "score": parts.score.astype(np.float32),
        "neurons": np.ascontiguousarray(np.moveaxis(parts.neurons[:, :, :SPLIT], 0, 2), np.int32),
        "neuron_values": np.ascontiguousarray(
            np.moveaxis(parts.neuron_values[:, :, :SPLIT], 0, 2), np.float32
        ),
    }
    if np.isfinite(split).all():
        made["sources"] = halves(np.ascontiguousarray(split))
    return made


def _busy(parts: Contributions) -> np.ndarray:
    """At every token, the heads with the largest share of any chosen word: theirs are worth a look."""
    size = np.abs(parts.heads).max(-1)
    layers, heads, tokens = size.shape
    flat = size.reshape(-1, tokens)
    which = np.zeros_like(flat, bool)
    best = np.argsort(-flat, axis=0)[:BUSY]
    which[best, np.arange(tokens)] = True
    return which.reshape(layers, heads, tokens)


def _stored(stream: Stream, arrays: dict[str, np.ndarray]) -> list[str]:
    """The vectors themselves, as exactly as a page can hold them, and a sentence on how exactly."""
    held = stream.capture
    heads, plain = held["heads"], held["stream"].size + held["mlp"].size
    if held["attention_bias"].any():
        arrays["bias"] = np.asarray(held["attention_bias"][:, 0], np.float32)
    if 1.3 * (4 * plain + 2 * heads.size) <= BUDGET:
        arrays["stream"], arrays["mlp"] = (np.asarray(held[name], np.float32) for name in ("stream", "mlp"))
    else:
        arrays["stream"], arrays["mlp"] = halves(held["stream"]), halves(held["mlp"])
    if 1.3 * (2 * plain + 2 * heads.size) > BUDGET:
        arrays["together"] = halves(heads.sum(1))
        return [
            f"the vectors of all heads over {heads.shape[2]} tokens would not fit a "
            "page: those of a layer are shown together. What each head adds to a word’s score is all there"
        ]
    for layer in range(len(heads)):
        arrays[f"heads_{layer}"] = halves(heads[layer])
    return []


def _norms(stream: Stream, arrays: dict[str, np.ndarray]) -> None:
    """The norms on the stream, scales frozen: factor (node, token), gain and shift (node, dim)."""
    norms = [norm for norm in stream.norms[1:-1] if norm is not None]
    arrays["norm_factor"] = np.stack([norm.factor[:, 0].numpy() for norm in norms]).astype(np.float32)
    arrays["norm_gain"] = np.stack([norm.gain.numpy() for norm in norms]).astype(np.float32)
    arrays["norm_shift"] = np.stack([norm.shift.numpy() for norm in norms]).astype(np.float32)


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


def _sum_check(stream: Stream, parts: Contributions) -> dict[str, str]:
    what = "logit" if stream.head else "dot product with a word’s embedding"
    size = float(np.abs(parts.score).max())
    return sums(
        parts.error,
        size,
        f"Largest difference, over {parts.score.size:,} words and places, between the model’s own "
        f"{what} and the sum of what embedding, heads, MLPs and biases add to it.",
    )


def _said(stream: Stream) -> list[str]:
    """What adds up, and under which condition."""
    if not stream.head:
        notes = [
            f"{stream.model.name} has no language head: words are those whose embeddings point most "
            "in a vector’s direction, and scores are dot products with them, not predictions"
        ]
        if stream.post_norm:
            notes.append(
                "this model normalises its stream after every sum, so parts add up only with the scales "
                "of all norms frozen at what they were in this run; without a part they would differ"
            )
        return notes
    return [
        "what a part adds to a logit goes through the final norm with its scale frozen at what it was in "
        "this run; the lens at a node uses the node’s own scale"
    ]


def _alarms(stream: Stream) -> list[dict[str, Any]]:
    """Dimensions a hundred times the usual size, and heads that hardly write to the stream."""
    held = stream.capture
    alarms = []
    size = np.abs(held["stream"])
    usual = np.median(size, axis=-1, keepdims=True)
    ratio = (size / np.maximum(usual, 1e-12)).max((0, 1))
    massive = [int(d) for d in np.argsort(-ratio)[:5] if ratio[d] > 100]
    if massive and not stream.post_norm:
        dim = massive[0]
        node, token = (int(at) for at in np.unravel_index(size[..., dim].argmax(), size.shape[:2]))
        grown = float(held["stream"][node, token, dim])
        others = f" (also {', '.join(map(str, massive[1:]))})" if massive[1:] else ""
        alarms.append(
            {
                "vector": "stream", "layer": int(node), "step": int(token), "share": float(ratio[dim]),
                "level": "notice",
                "text": f"dimension {dim}{others} grows to {in_digits(grown, 3)} at "
                f"“{held.tokens[token]}”, {in_digits(ratio[dim])} times the usual size",
            }
        )  # fmt: skip
    added = np.linalg.norm(held["heads"], axis=-1).max(-1)
    stood = np.median(np.linalg.norm(held["stream"][:-1:2], axis=-1), axis=-1)
    silent = np.argwhere(added < 0.01 * stood[:, None])
    if len(silent):
        named = ", ".join(f"{layer}.{head}" for layer, head in silent[:6]) + (" …" if len(silent) > 6 else "")
        alarms.append(
            {
                "vector": "heads", "layer": int(silent[0][0]), "step": -1, "share": len(silent) / added.size,
                "level": "notice",
                "text": f"{len(silent)} of {added.size} heads add less than 1 % of the stream at any token: "
                f"{named}",
            }
        )  # fmt: skip
    return alarms
