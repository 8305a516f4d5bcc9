"""A transformer over a prompt: what is computed once with the model, and flows of any number of words.

Of a long prompt only some tokens are looked at: what stands there is read off the model whole, and what other
tokens hold is left out. A page could not hold it, and nobody looks at everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.analyses._flow_lens import LENSES, lens_notes, lens_scores, lens_words, tuned_words
from langscape.analyses._flow_words import DEEPEST, NamedWords, Numbering, named_words
from langscape.data import Flow, Progress, Step
from langscape.data.step import within
from langscape.errors import LangscapeError, not_there
from langscape.io.codec import noun

if TYPE_CHECKING:
    from langscape.models import Contributions, Stream
    from langscape.models.bend import Bend
    from langscape.models.effects import PartName
    from langscape.models.routes import Routes
    from langscape.models.tuned_lens import TunedLens

CHOICES, SPLIT, WHOLE_MLPS, BUSY = 12, 4, 2, 24
"""Words per position whose scores are taken apart, those of them split over tokens and over the strongest
neurons, those split over all neurons, and heads per position whose own words are looked up."""

LENS_WORDS = 8
"""Words of every node that words to take apart are chosen from."""

PAGE = 22_000_000
"""Bytes, in base64, of what is looked at: a page of less than 25 MB with all that comes beside it."""

RUNS = 8_000
"""Parts taken away times tokens: what total effects may cost, 20 processor seconds for SmolLM2."""

MEETS = 0.01
"""The share of the largest score by which sums of parts may miss the model's own; else none is shown."""

AT_ONCE = 16
"""Tokens whose logits are looked at together."""

GREY = np.array([154, 160, 168])

FlowKind = Literal["decoder", "masked", "encoder"]

Colouring = Callable[[Sequence[int]], tuple[np.ndarray, dict[str, float]]]
"""The colours (word, 3) of words by their ids, uint8, and how well they follow the words' vectors."""


@noun
@dataclass(frozen=True, eq=False)
class StreamReading:
    """What a transformer did with a prompt, and all that its vectors and vocabulary say of it.

    kind        "decoder", "masked" (it fills in what stands at a token) or "encoder" (it says no words)
    looked      the tokens that are looked at; all arrays with an axis of tokens are of these, but surprise
    vectors     its vectors: stream, heads, MLPs, attention; `axes` names their axes
    lenses      the best words at every node, ids and values (node, token, `DEEPEST`): "lens", and "tuned"
                where such a lens was fitted
    choices     the words that are taken apart (token, choice), and `own` those of them that were asked for
    parts       what every part adds to their scores, directly and in total, and the logarithms of their
                chances with all parts ("log_chance") and without each: arrays begin with token and choice
    raised      the words that "heads" and "mlp" raise most, ids and values; −1 where no flow looks them up
    without     the word that comes first without each of the "heads" (token, layer, head) and each "mlp", ids
                and chances; −1 where it is not known
    arrays      change, sizes, surprise, routes, q·k, neurons, experts and the norms on the stream
    words       all words that a flow may name, with the rows that they are compared by
    measured    how many heads and MLPs were taken away, of how many
    """

    model: str
    prompt: str
    kind: FlowKind
    post_norm: bool
    vocabulary: int
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    looked: tuple[int, ...]
    embedding_parts: tuple[str, ...]
    vectors: Mapping[str, np.ndarray]
    axes: Mapping[str, tuple[str, ...]]
    lenses: Mapping[str, tuple[np.ndarray, np.ndarray]]
    choices: np.ndarray
    own: tuple[int, ...]
    parts: Mapping[str, np.ndarray]
    raised: Mapping[str, tuple[np.ndarray, np.ndarray]]
    without: Mapping[str, tuple[np.ndarray, np.ndarray]]
    arrays: Mapping[str, np.ndarray]
    words: NamedWords
    alarms: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    measured: tuple[int, int]


def read_stream(
    model: Any,
    prompt: str,
    generate: int = 0,
    at: int | None = None,
    words: Sequence[str] = (),
    fitted: TunedLens | None = None,
    progress: Progress | None = None,
) -> StreamReading:
    """Run a transformer over a prompt, take its stream apart, and find what its vectors mean.

    at is a token that must be looked at, the last if none is given; words are taken apart beside those that
    the model says. A fitted lens reads the nodes beside the logit lens.
    """
    from langscape.metrics import change, stream_alarms
    from langscape.models import contributions, lens, promoted, stream
    from langscape.models.patching import word_id
    from langscape.models.routes import routes

    tell = within(progress, 0, 100)
    own = tuple(dict.fromkeys(word_id(model, word) for word in words))
    residual = stream(model, prompt, generate=generate)
    seen = residual.capture
    ids = tuple(int(one) for one in seen.tokens.require_ids())
    looked = looked_at(residual, at)
    some = residual.only(looked)
    kind: FlowKind = "encoder" if not some.head else "decoder" if some.causal else "masked"
    tell(Step(10, 100, "what tokens read from each other"))
    found = routes(residual, looked)
    nodes = some.capture["stream"]
    arrays = {
        "change": change(nodes[:-1], nodes[1:]).astype(np.float32),
        "sizes": np.linalg.norm(nodes, axis=-1).astype(np.float32),
        "route_heads": found.heads,
        "route_importance": found.head_importance,
        "route_mlps": found.mlps.astype(np.float32),
        "route_residual": found.residual.astype(np.float32),
        **_query_key(residual, looked),
        **lens_scores(fitted),
    }
    if kind == "decoder":
        arrays["surprise"] = _surprise(seen["logits"], residual.bend, np.asarray(ids))
    if residual.post_norm:
        arrays |= _norms(some)
    tokens = seen.tokens
    alarms = tuple(stream_alarms(seen["stream"], seen["heads"], tokens, grows=not residual.post_norm))
    del residual, seen  # of a long prompt it is a gigabyte; what follows is of the tokens that are looked at
    tell(Step(20, 100, "words at every layer"))
    best = lens(some, DEEPEST)
    lenses = {"lens": (best.ids, best.values), **tuned_words(some, fitted)}
    chosen = choices(
        best.ids[..., :LENS_WORDS], [ids[one : one + 2] for one in looked], kind, len(some.words), own
    )
    parts = _token_first(contributions(some, chosen, split=SPLIT))
    busy = busy_heads(parts["heads"])
    heads, mlp = promoted(some, "heads", 3, busy), promoted(some, "mlp", 3)
    arrays |= _inside(some, chosen)
    names, effects, without, unmeasured = _total(
        some, prompt_ids=ids, looked=looked, chosen=chosen, parts=parts, found=found,
        progress=within(progress, 30, 100, "taking heads and MLPs away"),
    )  # fmt: skip
    parts |= effects
    named = [np.asarray(ids), *(ids for ids, _ in lenses.values()), chosen, heads.ids, mlp.ids]
    named += [first for first, _ in without.values()]
    wrong, largest = float(parts["errors"].max()), float(np.abs(parts["score"]).max())
    notes = [*some.capture.notes, *unmeasured, *lens_notes(fitted)]
    if wrong > MEETS * largest:
        for name in ("embedding", "heads", "bias", "mlp", "constant", "sources", "neuron_values"):
            parts[name] = np.full_like(parts[name], np.nan)
        notes.append(
            f"sums of parts miss the scores of {model.name} by {wrong:.2g} of {largest:.3g}, so what "
            "parts add directly is not shown; total effects, which need no sums, are"
        )
    shown = ("stream", "heads", "mlp", "attention_bias", "attention")
    return StreamReading(
        model.name,
        prompt,
        kind,
        some.post_norm,
        len(some.words),
        tuple(
            text if text.strip() else sign for text, sign in zip(tokens.texts, tokens.readable, strict=True)
        ),
        ids,
        looked,
        tuple(some.capture.metadata["parts"]),
        {name: some.capture[name] for name in shown},
        {name: some.capture.axes[name] for name in shown},
        lenses,
        chosen,
        own,
        parts,
        {"heads": (heads.ids, heads.values), "mlp": (mlp.ids, mlp.values)},
        without,
        arrays,
        named_words(named, lambda word: _word(model, word), lambda known: some.words[known].numpy()),
        alarms,
        tuple(notes),
        (names, some.layers * (some.capture["heads"].shape[1] + 1)),
    )


def stream_flow(reading: StreamReading, title: str, top: int, colouring: Colouring) -> Flow:
    """The flow with `top` words at every node."""
    numbering = Numbering()
    parts = reading.parts
    few = ("ids", "errors", "sources")
    arrays: dict[str, np.ndarray] = {
        "ids": numbering.number(np.asarray(reading.ids)),
        "looked": np.asarray(reading.looked, np.int32),
        **lens_words(reading.lenses, numbering, top),
        "choices": numbering.number(reading.choices),
        **{
            name if name in ("score", "log_chance", "neurons", "neuron_values") else f"part_{name}": array
            for name, array in parts.items()
            if name not in few
        },
        "sources": parts["sources"],
        **reading.arrays,
    }
    raised = dict(reading.raised)
    for name, (words, _) in raised.items():
        arrays[f"{name}_words"] = numbering.number(words)
    for name, (words, chances) in reading.without.items():
        arrays[f"without_{name}"] = numbering.number(words)
        arrays[f"without_{name}_chance"] = chances
    colours, follows = colouring(numbering.ids)
    arrays["word_colours"] = colours
    for lens, stripe in LENSES.items():
        if lens in arrays:
            values = arrays[f"{lens}_values"]
            shares = np.exp(20 * values) if reading.kind == "encoder" else values
            arrays[stripe] = _mixed(colours, arrays[lens], shares)
    for name, (_, added) in raised.items():
        arrays[f"colour_{name}"] = _mixed(colours, arrays[f"{name}_words"], np.nan_to_num(added))
    return Flow(
        reading.kind,
        reading.model,
        title,
        reading.tokens,
        reading.words.texts_of(numbering.ids),
        reading.vocabulary,
        reading.vectors,
        reading.axes,
        arrays,
        {
            "sums": float(parts["errors"].max()),
            "largest": float(np.abs(parts["score"]).max()),
            "measured": float(reading.measured[0]),
            "measurable": float(reading.measured[1]),
            **follows,
        },
        reading.alarms,
        parts=reading.embedding_parts,
        post_norm=reading.post_norm,
        remarks=reading.notes,
    )


def looked_at(stream: Stream, at: int | None = None) -> tuple[int, ...]:
    """The tokens that a page can hold: the one asked for, then those before it, then the others."""
    layers, heads, count = stream.capture["attention"].shape[:3]
    if at is not None and not 0 <= at < count:
        raise not_there("token", at, range(count), "this prompt")
    width = stream.capture["stream"].shape[-1]
    inside = next((one[1].shape[1] for one in stream.neurons if one is not None), 0)
    vectors = 2 * width * (3 * layers + 1 + layers * heads)
    reads = 2 * layers * heads * count * (2 + SPLIT)
    shares = 2 * WHOLE_MLPS * layers * inside + 12 * CHOICES * layers * (heads + 1)
    fits = max(1, int(PAGE / (1.34 * (vectors + reads + shares))))
    last = count - 1 if at is None else at
    order = [*range(last, -1, -1), *range(last + 1, count)]
    return tuple(sorted(order[:fits]))


def choices(
    ids: np.ndarray,
    given: Sequence[Sequence[int]],
    kind: FlowKind,
    vocabulary: int,
    own: Sequence[int] = (),
) -> np.ndarray:
    """Per token, the words whose scores are taken apart: those asked for, the best, the next, others.

    ids (node, token, top) are the words of the lens, given per token its own id and the next one, if there is
    one. Where a model does not say what follows, the token itself stands for the next one.
    """
    chosen = np.empty((ids.shape[1], min(CHOICES, vocabulary)), np.int64)
    for token in range(ids.shape[1]):
        best = [int(word) for word in ids[-1, token]]
        following = given[token][1:] if kind == "decoder" else given[token][:1]
        wanted: dict[int, None] = dict.fromkeys([*own, *best[:3], *following, *best[3:]])
        for node in ids[::-1, token]:
            wanted.update(dict.fromkeys(int(word) for word in node))
        wanted.update(dict.fromkeys(range(chosen.shape[1])))
        chosen[token] = list(wanted)[: chosen.shape[1]]
    return chosen


def _total(
    stream: Stream,
    *,
    prompt_ids: Sequence[int],
    looked: Sequence[int],
    chosen: np.ndarray,
    parts: Mapping[str, np.ndarray],
    found: Routes,
    progress: Progress,
) -> tuple[int, dict[str, np.ndarray], dict[str, tuple[np.ndarray, np.ndarray]], list[str]]:
    """How many parts were taken away, the total effects (token, choice, …) of heads and MLPs, and notes.

    Before the notes, the word that comes first without each part, and its chance (token, …).
    """
    from langscape.models.effects import parts_of
    from langscape.models.unedited import read_unedited
    from langscape.models.word_effects import effects_on_words

    layers, heads = stream.layers, stream.capture["heads"].shape[1]
    shape = (*chosen.shape, layers, heads + 1)
    total, logs = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
    own = np.full(chosen.shape, np.nan, np.float32)
    first, highest = (
        np.full((len(chosen), *shape[2:]), -1),
        np.full((len(chosen), *shape[2:]), np.nan, np.float32),
    )
    measured, notes = 0, []
    try:
        names = parts_of(stream.model, ("head", "mlp"))
        run = read_unedited(stream.model, list(prompt_ids))
        names = _worth(names, len(prompt_ids), parts, found)
        progress(Step(0, len(names)))
        effects = effects_on_words(stream, run, names, chosen, tokens=looked, progress=progress)
        for at, name in enumerate(names):
            place = (..., name.layer, name.head)
            total[place], logs[place] = effects.total[at], effects.log_chance[at]
            first[place], highest[place] = effects.first[at], effects.first_chance[at]
        measured, own = len(names), effects.own
        if measured < layers * (heads + 1):
            notes.append(
                f"total effects are those of {measured} of {layers * (heads + 1)} heads and MLPs, which "
                "add most to the words or stand on the path: all would take minutes over so long a prompt"
            )
    except LangscapeError as error:
        notes.append(f"total effects are not shown: {error}")
    kept = {
        "total_heads": total[..., :-1], "total_mlp": total[..., -1],
        "log_chance_heads": logs[..., :-1], "log_chance_mlp": logs[..., -1], "log_chance": own,
    }  # fmt: skip
    without = {
        "heads": (first[..., :-1].copy(), highest[..., :-1].copy()),
        "mlp": (first[..., -1].copy(), highest[..., -1].copy()),
    }
    return measured, {name: np.ascontiguousarray(array) for name, array in kept.items()}, without, notes


def _worth(
    names: Sequence[PartName], tokens: int, parts: Mapping[str, np.ndarray], found: Routes
) -> list[PartName]:
    """The parts that are taken away: all, or those that add most to a word and those on the path, in turn."""
    fits = max(8, RUNS // tokens)
    if fits >= len(names):
        return list(names)
    directly = {
        one: float(
            np.abs(
                parts["mlp"][-1, :3, one.layer]
                if one.kind == "mlp"
                else parts["heads"][-1, :3, one.layer, one.head]
            ).max()
        )
        for one in names
    }
    on_path = dict.fromkeys(names, 0.0)
    for (layer, head, _, _), weight in zip(found.heads.tolist(), found.head_importance, strict=True):
        one = next(name for name in names if (name.kind, name.layer, name.head) == ("head", layer, head))
        on_path[one] = max(on_path[one], float(weight))
    for one in names:
        if one.kind == "mlp" and np.isfinite(found.mlps[one.layer]).any():
            on_path[one] = float(np.nanmax(found.mlps[one.layer]))
    ranks = [sorted(names, key=lambda name, of=of: -of[name]) for of in (directly, on_path)]
    merged = dict.fromkeys(name for pair in zip(*ranks, strict=True) for name in pair)
    return list(merged)[:fits]


def _query_key(whole: Stream, looked: Sequence[int]) -> dict[str, np.ndarray]:
    """q·k of heads with every token, where it can be had."""
    from langscape.models.logits import query_key_scores

    scores = [[query_key_scores(whole, layer, token) for layer in range(whole.layers)] for token in looked]
    known = all(one is not None for row in scores for one in row)
    return {"query_key": np.array(scores, np.float32)} if known else {}


def _inside(some: Stream, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """All neurons of the first words, and experts of mixtures, where they can be had."""
    from langscape.models.logits import neuron_shares

    arrays: dict[str, np.ndarray] = {}
    shares = [
        [neuron_shares(some, layer, place, chosen[place, :WHOLE_MLPS]) for layer in range(some.layers)]
        for place in range(len(chosen))
    ]
    if all(one is not None for row in shares for one in row):
        arrays["all_neurons"] = np.moveaxis(np.array(shares, np.float32), 1, 2)
    mixtures = [one for one in some.experts if one is not None]
    if mixtures and len(mixtures) == some.layers:
        arrays["experts"] = np.stack([one.index.numpy() for one in mixtures], 1).astype(np.int32)
        arrays["expert_weights"] = np.stack([one.weight.numpy() for one in mixtures], 1).astype(np.float32)
    return arrays


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


def _token_first(parts: Contributions) -> dict[str, np.ndarray]:
    """Contributions with token and candidate as first axes; numbers of a page's precision."""
    found = {
        "ids": parts.ids,
        "embedding": np.moveaxis(parts.embedding, [-2, -1], [0, 1]).astype(np.float32),
        "heads": np.moveaxis(parts.heads, [2, 3], [0, 1]).astype(np.float32),
        "bias": np.moveaxis(parts.attention_bias, [1, 2], [0, 1]).astype(np.float32),
        "mlp": np.moveaxis(parts.mlp, [1, 2], [0, 1]).astype(np.float32),
        "constant": parts.constant.astype(np.float32),
        "score": parts.score.astype(np.float32),
        "errors": parts.errors,
        "sources": np.moveaxis(parts.sources, [2, 3], [0, 1]).astype(np.float32),
        "neurons": np.moveaxis(parts.neurons, 0, 2).astype(np.int32),
        "neuron_values": np.moveaxis(parts.neuron_values, 0, 2).astype(np.float32),
    }
    mixtures = [one for one in parts.experts if one is not None]
    if mixtures and len(mixtures) == len(parts.experts):
        found["experts"] = np.stack(mixtures, 2).astype(np.float32)
    return found


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


def _surprise(logits: np.ndarray, bend: Bend, ids: np.ndarray) -> np.ndarray:
    """The surprise in nats at every next token, a few rows at a time; NaN behind the last."""
    found = np.full(len(ids), np.nan, np.float32)
    for start in range(0, len(ids) - 1, AT_ONCE):
        rows = np.arange(start, min(start + AT_ONCE, len(ids) - 1))
        some = bend.of(logits[rows])
        high = some.max(-1).astype(np.float64)
        total = high + np.log(np.exp(some - high[:, None], dtype=np.float64).sum(-1))
        found[rows] = total - some[np.arange(len(rows)), ids[rows + 1]]
    return found


def _word(model: Any, number: int) -> str:
    if model.tokenizer is None:
        return str(number)
    text = model.tokenizer.decode([number], clean_up_tokenization_spaces=False)
    return text or str(model.tokenizer.convert_ids_to_tokens(number))
