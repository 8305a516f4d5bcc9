"""An LSTM or GRU over a prompt: what is computed once with the model, and flows of any number of words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from langscape.analyses._flow_words import DEEPEST, NamedWords, Numbering, named_words
from langscape.data import Capture, Flow
from langscape.data.lstm_baseline import MEANS, LSTMBaseline
from langscape.errors import DataError
from langscape.io.codec import noun
from langscape.metrics.lstm_faults import Fault, lstm_faults
from langscape.metrics.surprisal import share_in_words

NEAREST = 5
WORD_IDS = (
    "top", "skipped_first", "written_first", "alone_first", "held_first", "unit_first",
    "unit_high", "unit_low",
)  # fmt: skip
"""Arrays whose values are words."""

PER_WORD = (
    "top", "top_chances", "top_logits", "skipped", "written", "alone", "held",
    "unit", "unit_chance", "unit_first", "unit_first_chance", "unit_strays",
)  # fmt: skip
"""Arrays whose last axis are the best next words."""

BEYOND, LARGER = math.log(100), 3.0
"""Nats beyond the largest surprise of a text, and times its largest cell, from which a prompt stands out."""


@noun
@dataclass(frozen=True, eq=False)
class LSTMReading:
    """What an LSTM did with a prompt, and all that its vectors and vocabulary say of it.

    capture     its vectors at every step
    arrays      the best words at every step with chances and logits, (step, `DEEPEST`); `log_total`,
                `surprise`, `change`; of an LSTM, what its `memory_effects` are (`_effects`), and of every
                unit the mean and spread of its cell, the words after which that is high and low, and how
                much of it they tell (`LSTMBaseline`)
    nearest     the words nearest to every vector, by the vector's name: ids and distances or logits
    words       those words, with rows of the output projection, the bias last
    meanings    every vector in the words' own space, where it has another width: what it would predict
    unknown     per step what the text says where the model has no such word, elsewhere empty
    notes       what there is to know of the model itself
    usual       what means are of, in words (`over`), how many values of cells and hidden vectors there are
                (`values`) and how many leave their usual ranges in all steps but one in a hundred
                (`strays`), and how far the furthest cell of a step usually is from its mean (`furthest`);
                empty of a GRU
    """

    model: str
    kind: str
    prompt: str
    vocabulary: int
    capture: Capture
    ids: tuple[int, ...]
    start: str
    arrays: Mapping[str, np.ndarray]
    nearest: Mapping[str, tuple[np.ndarray, np.ndarray]]
    words: NamedWords
    weights: Mapping[str, np.ndarray]
    meanings: Mapping[str, np.ndarray]
    worst_sum: float
    alarms: tuple[Mapping[str, Any], ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    usual: Mapping[str, Any]

    def coloured_vectors(self) -> dict[str, np.ndarray]:
        """The vectors that get a colour, in the space of the words."""
        return {name: self.meanings.get(name, self.capture[name]) for name in self.nearest}


def read_lstm(model: Any, prompt: str, usual: LSTMBaseline | None, generate: int = 0) -> LSTMReading:
    """Run an LSTM or GRU over a prompt, find what its vectors mean, and what stands out beside what is usual.

    usual is None where nothing is compared: alarms know the parts of an LSTM alone.
    """
    from langscape.metrics import predicted_vectors
    from langscape.models import capture
    from langscape.views.flow_lstm import VECTORS, refuse_long_lstm

    seen: Capture = capture(model, prompt, generate=generate)
    weights = model.weights()
    layers, steps, units = seen["hidden"].shape
    if not steps:
        raise DataError("this capture holds no steps; capture a text of at least one word")
    refuse_long_lstm(steps, layers, units)
    ids = seen.tokens.require_ids()
    arrays = _softmax(seen, ids)
    vectors_shown = VECTORS[model.kind]
    arrays["change"] = _change(seen, layers, model.kind)
    if usual is not None:
        arrays |= _effects(seen, weights, arrays["top"], usual)
        high, low = usual.after
        cells = {"mean": usual.means[MEANS.index("cell")], "spread": usual.spread, "told": usual.told}
        arrays |= {"unit_high": high, "unit_low": low, **{f"unit_{name}": of for name, of in cells.items()}}
    nearest = {name: _nearest(seen[name], weights) for name in vectors_shown}
    width = weights["embedding"].shape[1]
    meanings = {}
    for name in vectors_shown:
        vectors = seen[name]
        if vectors.shape[-1] != width:
            flat = vectors.reshape(-1, vectors.shape[-1])
            predicted = predicted_vectors(
                flat, weights["decoder"], weights["embedding"], weights["decoder_bias"]
            )
            meanings[name] = predicted.reshape(*vectors.shape[:-1], width)
    words = named_words(
        [
            ids,
            *(arrays[name] for name in WORD_IDS if name in arrays),
            *(best for best, _ in nearest.values()),
        ],
        lambda word: model.words[word],
        lambda known: np.column_stack([weights["decoder"][known], weights["decoder_bias"][known]]),
    )
    own = {
        f"{name}_{layer}": weights[name][layer]
        for layer in range(layers)
        for name in ("input_weights", "hidden_weights", "bias", "hidden_bias")
        if name in weights
    }
    names = [name for name in seen.arrays if name not in ("logits", "softmax")]
    found: list[dict[str, Any]] = []
    if usual is not None:
        faults = lstm_faults(weights, usual, model.words)
        found = [
            *model_alarms(faults, ids.tolist(), weights["embedding"], model.words),
            *prompt_alarms(seen, usual),
        ]
    return LSTMReading(
        model.name,
        model.kind,
        prompt,
        len(model.words),
        seen.only(*names),
        tuple(int(one) for one in ids),
        _start(seen),
        arrays,
        nearest,
        words,
        own,
        meanings,
        _worst_sum(seen, weights),
        tuple(found),
        _unknown(seen, model.tokenizer.unknown),
        tuple(model.notes),
        {}
        if usual is None
        else {
            "over": usual.evidence,
            "strays": usual.outside,
            "values": 2 * layers * units,
            "furthest": list(usual.furthest),
        },
    )


def lstm_flow(
    reading: LSTMReading,
    title: str,
    top: int,
    vector_colours: Mapping[str, np.ndarray],
    colours: Any,
    scores: Mapping[str, float],
) -> Flow:
    """The flow with `top` next words at every step.

    colours are those of the words (`WordColours`), scores say how well those of vectors follow them.
    """
    from langscape.views.flow_lstm import WEIGHTS

    seen, numbering = reading.capture, Numbering()
    arrays: dict[str, np.ndarray] = {"ids": numbering.number(np.asarray(reading.ids))}
    for name, array in reading.arrays.items():
        arrays[name] = array[..., :top] if name in PER_WORD else array
        if name in WORD_IDS:
            arrays[name] = numbering.number(arrays[name])
    for name, (best, by) in reading.nearest.items():
        arrays[f"nearest_{name}"] = numbering.number(best)
        arrays[f"nearest_{name}_by"] = by
    ids = numbering.ids
    rows = reading.words.rows[reading.words.places(ids)]
    weights = {**reading.weights, "decoder": rows[:, :-1], "decoder_bias": rows[:, -1]}
    matrices = sum(one.size for name, one in weights.items() if "_weights_" in name)
    if 4 * (matrices + rows[:, :-1].size) > WEIGHTS:
        weights = {}
    arrays["word_colours"] = screen_bytes(colours.rgb[ids])
    arrays |= {f"colour_{name}": colour for name, colour in vector_colours.items()}
    remarks = [*reading.notes]
    if not weights:
        remarks.append("the weights would not fit a page, so the summands of matrix products are left out")
    if reading.meanings:
        remarks.append(
            "embeddings and units have different widths, so vectors of units take the colours of the words "
            "they would predict, and their nearest words are those of the highest logit"
        )
    if reading.kind == "gru":
        remarks.append("what is unusual is looked for in LSTMs only, so a GRU has no alarms")
    return Flow(
        reading.kind,  # type: ignore[arg-type]
        reading.model,
        title,
        tuple(seen.tokens),
        reading.words.texts_of(ids),
        reading.vocabulary,
        seen.arrays,
        seen.axes,
        arrays,
        {"sums": reading.worst_sum, **scores},
        reading.alarms,
        weights,
        reading.start,
        unknown=reading.unknown,
        remarks=tuple(remarks),
        usual=reading.usual,
    )


def with_references(
    found: Flow, words: Sequence[str], colours: np.ndarray, fitting: Mapping[str, np.ndarray]
) -> Flow:
    """The flow with the words against which a vector's colour is fitted, so that a page can show how."""
    number = {word: at for at, word in enumerate(found.words)}
    new = [at for at, word in enumerate(words) if word not in number]
    all_words = (*found.words, *(words[at] for at in new))
    number = {word: at for at, word in enumerate(all_words)}
    arrays = {
        **found.arrays,
        **fitting,
        "references": np.array([number[word] for word in words], np.int32),
        "word_colours": np.concatenate([found.arrays["word_colours"], colours[new]]),
    }
    return replace(found, words=all_words, arrays=arrays)


def screen_bytes(colour: np.ndarray) -> np.ndarray:
    """Colours from 0 to 1 as uint8."""
    return np.round(255 * np.clip(colour, 0, 1)).astype(np.uint8)


def _start(capture: Capture) -> str:
    """What the first token is where the text does not hold it; empty where it does."""
    if not capture.tokens.special[0]:
        return ""
    known = f"“{capture.tokens[0]}”, the boundary between sentences"
    return f"{known}: every text starts from it, though the prompt does not say it"


def _unknown(capture: Capture, unknown: str | None) -> tuple[str, ...]:
    """Per step what the text says where the model has no such word; elsewhere empty."""
    tokens = capture.tokens
    return tuple(
        said if read == unknown != said else "" for read, said in zip(tokens, tokens.texts, strict=True)
    )


def _softmax(capture: Capture, ids: np.ndarray) -> dict[str, np.ndarray]:
    """The best next words of every step, and how much the word that came was a surprise."""
    logits, chances = capture["logits"].astype(np.float64), capture["softmax"]
    best = np.argsort(-logits, axis=-1, kind="stable")[:, :DEEPEST]
    high = logits.max(-1)
    given = chances[np.arange(len(ids) - 1), ids[1:]].astype(np.float64)
    return {
        "top": best.astype(np.int32),
        "top_chances": np.take_along_axis(chances, best, -1).astype(np.float32),
        "top_logits": np.take_along_axis(logits, best, -1).astype(np.float32),
        "log_total": (high + np.log(np.exp(logits - high[:, None]).sum(-1))).astype(np.float32),
        "surprise": np.append(-np.log(np.maximum(given, 1e-30)), np.nan).astype(np.float32),
    }


def _effects(
    capture: Capture, weights: Mapping[str, Any], top: np.ndarray, usual: LSTMBaseline
) -> dict[str, np.ndarray]:
    """What the best next words owe to words, gates and units (`models.lstm_effects.MemoryEffects`)."""
    from langscape.models.lstm_effects import memory_effects

    found = memory_effects(weights, capture, top, usual)
    arrays = {"unit": found.unit}
    for name, run in (
        ("skipped", found.skipped), ("written", found.written), ("alone", found.alone), ("held", found.gates),
        ("unit_chance", found.units),
    ):  # fmt: skip
        arrays[name] = run.chances
        short = name.removesuffix("_chance")
        arrays |= {
            f"{short}_first": run.first,
            f"{short}_first_chance": run.chance,
            f"{short}_strays": run.strays,
        }
    return arrays


def _nearest(vectors: np.ndarray, weights: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The nearest words of vectors: by distance to embeddings, or by logit where widths differ."""
    from langscape.metrics import nearest_words

    flat = vectors.reshape(-1, vectors.shape[-1])
    if flat.shape[1] == weights["embedding"].shape[1]:
        best, by = nearest_words(flat, weights["embedding"], NEAREST)
    else:
        bias = weights["decoder_bias"]
        best, by = nearest_words(flat, weights["decoder"], NEAREST, by="logit", bias=bias)
    shape = (*vectors.shape[:-1], best.shape[-1])
    return best.reshape(shape).astype(np.int32), by.reshape(shape).astype(np.float32)


def _change(capture: Capture, layers: int, kind: str) -> np.ndarray:
    """How far each operation of the graph moves its main operand, at every step.

    NaN where widths differ, and where one of the two is not drawn: σ of a pre-activation is far from it
    whatever the model does.
    """
    from langscape.metrics import change
    from langscape.views.flow_lstm import graph

    rows = []
    nodes, operations = graph(layers, kind=kind)
    drawn = {node["id"] for node in nodes if "column" in node}
    for operation in operations:
        start, end = (
            _vectors(capture, node) if node in drawn else None
            for node in (operation["main"], operation["to"])
        )
        if start is None or end is None or start.shape != end.shape:
            rows.append(np.full(len(capture.tokens), np.nan, np.float32))
        else:
            rows.append(change(start, end).astype(np.float32))
    return np.stack(rows)


def _vectors(capture: Capture, node: str) -> np.ndarray | None:
    """A node's vectors at every step, (step, width)."""
    if node == "embedding":
        return capture["embedding"]
    if node in ("logits", "softmax"):
        return None
    layer, _, name = node.partition(".")
    at = int(layer[1:])
    if name.endswith("_before"):
        first, after = capture[name][at], capture[name.removesuffix("_before")][at]
        return np.concatenate([first[None], after[:-1]])
    return capture[name][at]


def _worst_sum(capture: Capture, weights: Mapping[str, Any]) -> float:
    """How exactly summands and bias give the pre-activations as they are printed: the largest difference."""
    worst = 0.0
    units = capture["hidden"].shape[-1]
    inputs = capture["embedding"].astype(np.float64)
    for layer in range(len(capture["hidden"])):
        hidden = _vectors(capture, f"l{layer}.hidden_before")
        assert hidden is not None
        total = inputs @ weights["input_weights"][layer].T.astype(np.float64) + weights["bias"][layer]
        again = hidden.astype(np.float64) @ weights["hidden_weights"][layer].T
        if "hidden_bias" in weights:  # a GRU's candidate reads the state through its reset gate
            again += weights["hidden_bias"][layer]
            again[:, 2 * units :] *= capture["reset"][layer]
        total += again
        for at, gate in enumerate(capture.metadata["gates"]):
            stated = capture[f"{gate}_pre"][layer]
            worst = max(worst, float(np.abs(total[:, at * units : (at + 1) * units] - stated).max()))
        inputs = capture["hidden"][layer].astype(np.float64)
    return worst


def prompt_alarms(seen: Capture, usual: LSTMBaseline) -> list[dict[str, Any]]:
    """What stands out in one prompt, compared with what is usual of the model.

    A cell stands out that is three times as large as it ever was over the text that the model is compared
    with. Next words are noticed whose chance is less than a hundredth of the least of that text; that is no
    alarm, since a sound model too is wrong for once. Without a text, those with less than an even chance are.
    """
    from langscape.metrics import surprises

    found = []
    largest = usual.surprise[1]
    for one in surprises(seen):
        given = math.log(one.share * seen["softmax"].shape[1])
        if not math.isfinite(largest):
            found.append(_alarm("softmax", -1, one.units[0], one.text, False))
        elif given > largest + BEYOND:
            chance = math.exp(-largest)
            text = f"{one.text}; the least that any next word had was {share_in_words(chance)}"
            found.append(_alarm("softmax", -1, one.units[0], text, False, evidence=usual.evidence))
    size = np.abs(seen["cell"])
    most = usual.cell.max(-1)
    for layer in np.flatnonzero(size.max((1, 2)) > np.maximum(LARGER * most, 1)):
        step, unit = (int(at) for at in np.unravel_index(size[layer].argmax(), size[layer].shape))
        text = (
            f"layer {layer}: the cell reaches {size[layer].max():.3g} at “{seen.tokens[step]}”; the "
            f"most that it ever had was {most[layer]:.3g}"
        )
        found.append(_alarm("cell", int(layer), step, text, True, (unit,), usual.evidence))
    return found


def model_alarms(
    faults: Sequence[Fault], ids: Sequence[int], embedding: np.ndarray, words: Sequence[str]
) -> list[dict[str, Any]]:
    """What is wrong with the model itself, and words of the prompt that have one vector."""
    from langscape.metrics import twins

    found = []
    for one in faults:
        step = -1
        units = one.units
        if one.where == "embedding":
            step = next((at for at, row in enumerate(ids) if row in units), -1)
            units = ()
        found.append(_alarm(one.where, one.layer, step, one.text, True, units, one.evidence))
    empty = {unit for one in faults if one.where == "embedding" for unit in one.units}
    for one in twins(embedding, words) if len(words) >= 3 else []:
        step = next((at for at, row in enumerate(ids) if row in one.units), None)
        if step is not None and not empty.intersection(one.units):
            found.append(_alarm("embedding", -1, step, one.text, True))
    return found


def _alarm(
    vector: str, layer: int, step: int, text: str, loud: bool, units: Sequence[int] = (), evidence: str = ""
) -> dict[str, Any]:
    return {
        "vector": vector, "layer": layer, "step": step, "text": text, "units": list(units),
        "level": "alarm" if loud else "notice", "evidence": evidence,
    }  # fmt: skip
