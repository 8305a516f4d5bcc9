"""Where do vectors change most on their way through a network, what do they mean, and what is stuck?

The three questions of Sawatzky and Kozyr, answered by figures. Functions over a whole capture read what an
LSTM's holds (docs/lstm.md names its arrays); the others take plain arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from langscape.data import Capture
from langscape.errors import DataError, SettingsError

OPERATIONS = {
    "forget": ("cell_before", "forget_product"),
    "remember": ("candidate", "remember_product"),
    "add": ("forget_product", "cell"),
    "squash": ("cell", "cell_tanh"),
    "show": ("cell_tanh", "hidden"),
}
"""The element-wise operations of an LSTM, each from one vector to another of the same width."""

OPEN, CLOSED = 0.95, 0.05
"""A gate's value above the first is fully open, below the second fully closed."""

ALWAYS = 0.95
"""The share of steps from which on a unit's gate is stuck."""

ASLEEP = 0.02
"""A unit whose hidden value stays within this range over all steps is dead."""

_GATES = ("input", "forget", "output")
_AT_ONCE = 4_000_000


def change(before: Any, after: Any) -> np.ndarray:
    """How much of each vector an operation replaces: ‖after − before‖ / (‖before‖ + ‖after‖).

    0 is no change; 1 a vector turned to its opposite, or come from or gone to nothing.

    >>> change([[3.0, 4.0], [1.0, 0.0]], [[3.0, 4.0], [-1.0, 0.0]]).tolist()
    [0.0, 1.0]
    """
    a, b = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if a.shape != b.shape:
        raise DataError(f"shapes {a.shape} and {b.shape} differ; change compares vectors of one width")
    total = np.linalg.norm(a, axis=-1) + np.linalg.norm(b, axis=-1)
    return np.linalg.norm(b - a, axis=-1) / np.where(total > 0, total, 1)


def lstm_changes(seen: Capture) -> dict[str, np.ndarray]:
    """The change of every operation of an LSTM, each (layer, step), in the order they happen.

    "step" is the whole of it: from the cell of the step before to that of this step.
    """
    cell = seen["cell"]
    before = np.concatenate([seen["cell_before"][:, None], cell[:, :-1]], axis=1)
    changes = {
        name: change(before if source == "cell_before" else seen[source], seen[target])
        for name, (source, target) in OPERATIONS.items()
    }
    return {**changes, "step": change(before, cell)}


def nearest_words(
    vectors: Any, rows: Any, k: int = 5, *, by: Literal["distance", "logit"] = "distance", bias: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k words each vector is closest to: their rows and distances, or rows and logits, best first.

    by="distance" compares with the embedding's rows; by="logit" with the output projection's, whose
    width a hidden vector has even where the embedding's differs.

    >>> nearest_words([[0.9, 0.1]], np.eye(2), k=1)[0].tolist()
    [[0]]
    """
    V, R = _matrix(vectors, "vectors"), _matrix(rows, "rows")
    if V.shape[1] != R.shape[1]:
        raise DataError(
            f"vectors of {V.shape[1]} dimensions cannot be compared with words of {R.shape[1]}; compare "
            'through the output projection with by="logit"'
        )
    if not k >= 1:
        raise SettingsError(f"k {k} is not possible; it must be at least 1")
    if by not in ("distance", "logit"):
        raise SettingsError(f'by {by!r} is not known; use "distance" or "logit"')
    k = min(k, len(R))
    best, scores = np.empty((len(V), k), np.int64), np.empty((len(V), k))
    lengths, added = (R * R).sum(1), 0 if bias is None else np.asarray(bias, np.float64)
    # a block of vectors at a time: all of 50,000 words against all would be 20 GB
    block = max(1, _AT_ONCE // len(R))
    for at in range(0, len(V), block):
        part = V[at : at + block]
        products = part @ R.T
        if by == "logit":
            values = products + added
            order = -values
        else:
            squared = (part * part).sum(1)[:, None] + lengths - 2 * products
            values = order = np.sqrt(np.maximum(squared, 0))
        few = np.sort(np.argpartition(order, k - 1, axis=1)[:, :k], axis=1)
        sorted_few = np.argsort(np.take_along_axis(order, few, 1), axis=1, kind="stable")
        best[at : at + block] = np.take_along_axis(few, sorted_few, 1)
        scores[at : at + block] = np.take_along_axis(values, best[at : at + block], 1)
    return best, scores


def predicted_vectors(vectors: Any, decoder: Any, embeddings: Any, bias: Any = None) -> np.ndarray:
    """Vectors of any width in the embedding's space: the mean embedding of the words they predict.

    vectors (m, unit), decoder (word, unit), embeddings (word, dim); the result is (m, dim). Each word
    counts by its softmax probability. A vector that predicts nothing in particular comes to the middle.
    """
    V, D, E = _matrix(vectors, "vectors"), _matrix(decoder, "decoder"), _matrix(embeddings, "embeddings")
    if V.shape[1] != D.shape[1] or len(D) != len(E):
        raise DataError(f"vectors {V.shape}, decoder {D.shape} and embeddings {E.shape} do not fit together")
    logits = V @ D.T + (0 if bias is None else np.asarray(bias, np.float64))
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True) @ E


@dataclass(frozen=True)
class Alarm:
    """Something stuck: what it is, where, how much of it, and a sentence that says so.

    kind   "open", "closed" (gates), "dead" (hidden units), "twins" (embeddings), "pair" (predictions)
    share  of the layer's units that are stuck; of twins and pairs, how far they are from normal
    """

    kind: str
    layer: int
    where: str
    units: tuple[int, ...]
    share: float
    text: str


def saturation(seen: Capture | Sequence[Capture]) -> dict[str, np.ndarray]:
    """Per gate, the share of steps on which each unit stands open, and closed: (layer, unit) each.

    Named "input_open", "input_closed" and so on; "hidden_range" is highest − lowest hidden value.
    """
    captures = [seen] if isinstance(seen, Capture) else list(seen)
    if not captures:
        raise DataError("there is no capture to look at; give at least one")
    shares: dict[str, np.ndarray] = {}
    for gate in _GATES:
        values = np.concatenate([one[gate] for one in captures], axis=1)
        shares[f"{gate}_open"] = (values > OPEN).mean(1)
        shares[f"{gate}_closed"] = (values < CLOSED).mean(1)
    hidden = np.concatenate([one["hidden"] for one in captures], axis=1)
    shares["hidden_range"] = np.ptp(hidden, axis=1)
    return shares


def alarms(seen: Capture | Sequence[Capture], *, share: float = 0.5) -> list[Alarm]:
    """Gates stuck open or closed and units that never move, the worst first.

    A unit's gate is stuck when it is open (above 0.95) or closed (below 0.05) on 95 % of steps. One
    alarm per gate is raised where at least `share` of a layer's units are stuck the same way; dead
    units raise one each layer, however few. Look at several texts, or one of some twenty steps: over
    a short one a gate may seem stuck that is not.
    """
    if not 0 < share <= 1:
        raise SettingsError(f"share {share:g} is not possible; it lies above 0 and up to 1")
    figures = saturation(seen)
    captures = [seen] if isinstance(seen, Capture) else list(seen)
    steps = sum(one["hidden"].shape[1] for one in captures)
    found: list[Alarm] = []
    for gate in _GATES:
        for kind in ("open", "closed"):
            for layer, units in enumerate(figures[f"{gate}_{kind}"]):
                stuck = np.flatnonzero(units >= ALWAYS)
                if len(stuck) >= share * len(units):
                    much = f"{len(stuck)} of {len(units)} units"
                    text = f"layer {layer}: the {gate} gate is always {kind} in {much}"
                    found.append(Alarm(kind, layer, gate, _units(stuck), len(stuck) / len(units), text))
    for layer, ranges in enumerate(figures["hidden_range"]):
        dead = np.flatnonzero(ranges < ASLEEP)
        if len(dead) and steps > 1:
            text = f"layer {layer}: {len(dead)} of {len(ranges)} hidden units never move"
            found.append(Alarm("dead", layer, "hidden", _units(dead), len(dead) / len(ranges), text))
    return sorted(found, key=lambda alarm: -alarm.share)


def twins(embeddings: Any, words: Sequence[str], *, ratio: float = 0.1) -> list[Alarm]:
    """Words that training left on one spot: closer to each other than `ratio` of a typical nearest word.

    A model cannot tell such a pair apart, whatever comes later.
    """
    E = _matrix(embeddings, "embeddings")
    if len(E) != len(words) or len(E) < 3:
        raise DataError(f"{len(words)} words for {len(E)} vectors; give one each, at least 3")
    rows, far = nearest_words(E, E, 2)
    own = rows[:, 0] == np.arange(len(E))  # of two at one place, either may come first
    other, near = np.where(own, rows[:, 1], rows[:, 0]), np.where(own, far[:, 1], far[:, 0])
    typical = float(np.median(near))
    found = []
    for i, j in enumerate(other):
        if near[i] <= ratio * typical and (i < j or other[j] != i):
            text = f"{words[i]!r} and {words[j]!r} have one vector: {near[i]:.3g} apart, others {typical:.3g}"
            found.append(
                Alarm("twins", -1, "embedding", (i, int(j)), float(near[i] / max(typical, 1e-30)), text)
            )
    return found


def weak_pairs(
    seen: Capture | Sequence[Capture], words: Sequence[str], *, least: int = 5, ratio: float = 0.1
) -> list[Alarm]:
    """Pairs of words that stand side by side in the texts but that the model does not expect, worst first.

    A pair is weak where it occurs at least `least` times and the model's mean probability of its second
    word, in those very places, is below `ratio` of the share it has after its first.
    """
    captures = [seen] if isinstance(seen, Capture) else list(seen)
    ids = [one.tokens.require_ids() for one in captures]
    before, after = (np.concatenate([row[part] for row in ids]) for part in (slice(None, -1), slice(1, None)))
    given = np.concatenate(
        [one["softmax"][np.arange(len(row) - 1), row[1:]] for one, row in zip(captures, ids, strict=True)]
    )
    pairs, back, times = np.unique(before * len(words) + after, return_inverse=True, return_counts=True)
    first = np.bincount(before, minlength=len(words))
    mean = np.bincount(back.reshape(-1), weights=given) / times
    share = times / first[pairs // len(words)]
    found = []
    for at in np.flatnonzero((times >= least) & (mean < ratio * share)):
        a, b = divmod(int(pairs[at]), len(words))
        much = f"in {share[at]:.1%} of places, but the model gives it {mean[at]:.2%}"
        text = f"{words[b]!r} follows {words[a]!r} {much}"
        found.append(Alarm("pair", -1, "softmax", (a, b), float(mean[at] / share[at]), text))
    return sorted(found, key=lambda alarm: alarm.share)


def contributions(
    weights: Mapping[str, Any], seen: Capture, layer: int, step: int, gate: str
) -> dict[str, np.ndarray]:
    """What every upstream value adds to a gate's pre-activations: summands W_ij·x_j, by where x is from.

    "input" (unit, in) is from the embedding or the layer below, "hidden" (unit, unit) from the step
    before, "bias" (unit,). Row i of all three adds up to pre-activation i.
    """
    order = list(seen.metadata.get("gates", ()))
    if gate not in order:
        raise SettingsError(f"gate {gate!r} is not known; choose from {', '.join(order)}")
    layers, steps, width = seen["hidden"].shape
    if not 0 <= layer < layers or not 0 <= step < steps:
        raise SettingsError(
            f"there is no layer {layer}, step {step}; there are {layers} layers and {steps} steps"
        )
    part = slice(order.index(gate) * width, (order.index(gate) + 1) * width)
    x = seen["embedding"][step] if layer == 0 else seen["hidden"][layer - 1, step]
    h = seen["hidden"][layer, step - 1] if step else seen["hidden_before"][layer]
    return {
        "input": weights["input_weights"][layer][part].astype(np.float64) * x,
        "hidden": weights["hidden_weights"][layer][part].astype(np.float64) * h,
        "bias": weights["bias"][layer][part].astype(np.float64),
    }


def _matrix(given: Any, name: str) -> np.ndarray:
    matrix = np.asarray(given, np.float64)
    matrix = matrix[None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise DataError(f"{name} have shape {np.shape(given)}, expected a finite matrix")
    return matrix


def _units(rows: np.ndarray) -> tuple[int, ...]:
    return tuple(int(row) for row in rows)
