"""Text → Capture for an LSTM: every vector of every step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from langscape.data import Capture, Progress, Step, Tokens
from langscape.errors import DataError, SettingsError
from langscape.models.lstm import LSTMModel, an, softmax
from langscape.models.memory import LIMIT, refuse_above
from langscape.models.vocabulary import Vocabulary


class Token(NamedTuple):
    """A word that is read: its row, what the text says, where (−1: nowhere), whether it was put there."""

    row: int
    text: str
    at: int = -1
    special: bool = False


def read(
    model: LSTMModel,
    text: Any,
    want: Iterable[str] | None = None,
    *,
    generate: int = 0,
    sample_seed: int | None = None,
    special: str = "keep",
    memory: float = LIMIT,
    progress: Progress | None = None,
) -> Any:
    """What `capture` gives of an LSTM: every vector of every step; a list for several texts.

    want names arrays of `LSTMModel.axes`, None for all. Each value is computed in double precision from the
    float32 values that stand in the capture, so that summands W_ij x_j and the bias add up to the
    pre-activation as it is printed.
    """
    wanted = tuple(model.axes) if want is None else (want,) if isinstance(want, str) else tuple(want)
    for one in wanted:
        if one not in model.axes:
            raise SettingsError(
                f"{an(model.cell)}'s capture has no {one!r}; choose from {', '.join(model.axes)}"
            )
    if generate < 0:
        raise SettingsError(f"generate {generate} is not possible; 0 is none")
    if sample_seed is not None and sample_seed < 0:
        raise SettingsError(f"sample_seed {sample_seed} is not possible; it is a whole number from 0 on")
    if special not in ("keep", "drop"):
        raise SettingsError(f'special {special!r} is not known; use "keep" or "drop"')
    single = isinstance(text, str) or _is_ids(text)
    texts = [text] if single else list(text)
    weights = _doubles(model)
    captures = []
    for given in texts:
        tokens = _tokens(model, given)
        steps = len(tokens) + generate
        needed = 4 * steps * (len(model.layered) * model.layers * model.width + 3 * len(model.words))
        refuse_above(memory, needed, f"capturing {steps:,} steps")
        chance = None if sample_seed is None else np.random.default_rng(sample_seed)
        arrays = _run(model, weights, tokens, generate, chance)
        first = sum(token.special for token in tokens) if special == "drop" and len(tokens) > 1 else 0
        captures.append(_captured(model, arrays, tokens, wanted, first, generate))
        if progress is not None:
            progress(Step(len(captures), len(texts), f"capturing {len(texts)} texts"))
    return captures[0] if single else captures


def texts_of(given: Any) -> Iterator[Any]:
    """What was given as an iterable of texts."""
    return iter([given] if isinstance(given, str) or _is_ids(given) else given)


def _doubles(model: LSTMModel) -> dict[str, Any]:
    """The weights as the run takes them, in double precision."""
    weights = model.weights()
    return {
        "embedding": weights["embedding"],
        "layers": [model.layer_weights(weights, layer) for layer in range(model.layers)],
        "decoder": weights["decoder"].astype(np.float64),
        "decoder_bias": weights["decoder_bias"].astype(np.float64),
    }


def _run(
    model: LSTMModel,
    weights: dict[str, Any],
    tokens: list[Token],
    generate: int,
    chance: np.random.Generator | None,
) -> dict[str, np.ndarray]:
    """Every array over every step; words that the model goes on with are added to the tokens."""
    steps, layers, width = len(tokens) + generate, model.layers, model.width
    arrays: dict[str, np.ndarray] = {
        name: np.zeros((layers, steps, width), np.float32) for name in model.layered
    }
    arrays["embedding"] = np.zeros((steps, model.dim), np.float32)
    arrays["logits"] = np.zeros((steps, len(model.words)), np.float32)
    zeros = np.zeros(width, np.float32)
    for at in range(steps):
        if at == len(tokens):
            chosen = _chosen(arrays["logits"][at - 1], chance)
            tokens.append(Token(chosen, model.words[chosen]))
        x = arrays["embedding"][at] = weights["embedding"][tokens[at].row]
        for layer in range(layers):
            now = {name: arrays[name][layer, at] for name in model.layered}
            before = {name: arrays[name][layer, at - 1] if at else zeros for name in model.states_kept}
            model.step(now, weights["layers"][layer], x, before)
            x = now["hidden"]
        arrays["logits"][at] = weights["decoder"] @ x + weights["decoder_bias"]
    arrays["softmax"] = softmax(arrays["logits"])
    return arrays


def _captured(
    model: LSTMModel,
    arrays: dict[str, np.ndarray],
    tokens: list[Token],
    wanted: tuple[str, ...],
    first: int,
    generate: int,
) -> Capture:
    """The arrays asked for, from the step `first` on; what came before it is in the state before."""
    for name in model.states_kept:
        nothing = np.zeros((model.layers, model.width), np.float32)
        arrays[f"{name}_before"] = arrays[name][:, first - 1] if first else nothing
    collected: dict[str, np.ndarray] = {}
    for name in wanted:
        kept = arrays[name]
        if "step" in model.axes[name]:
            kept = kept[:, first:] if model.axes[name][0] == "layer" else kept[first:]
        collected[name] = np.ascontiguousarray(kept)
        collected[name].flags.writeable = False  # so that it is handed over rather than copied
    tokens = tokens[first:]
    metadata = {
        "model": model.name,
        "revision": model.revision,
        "kind": model.kind,
        "generated": generate,
        "gates": list(model.gates),
    }
    table = Tokens(
        [model.words[token.row] for token in tokens],
        [token.text for token in tokens],
        special=[token.special for token in tokens],
        ids=[token.row for token in tokens],
        offsets=[_span(token) for token in tokens],
        generated=[at >= len(tokens) - generate for at in range(len(tokens))],
    )
    return Capture(
        table, collected, {name: model.axes[name] for name in collected}, metadata, _notes(model, tokens)
    )


def _notes(model: LSTMModel, tokens: Sequence[Token]) -> tuple[str, ...]:
    unknown = model.tokenizer.unknown
    strange = [t.text for t in tokens if model.words[t.row] == unknown and t.text != unknown]
    if not strange:
        return model.notes
    named = ", ".join(dict.fromkeys(strange))
    return (*model.notes, f"not in the vocabulary and read as {unknown}: {named}")


def _span(token: Token) -> list[int]:
    return [0, 0] if token.at < 0 else [token.at, token.at + len(token.text)]


def _chosen(logits: np.ndarray, chance: np.random.Generator | None) -> int:
    if chance is None:
        return int(logits.argmax())
    shares = softmax(logits).astype(np.float64)
    return int(chance.choice(len(shares), p=shares / shares.sum()))


def _tokens(model: LSTMModel, given: Any) -> list[Token]:
    known: Vocabulary = model.tokenizer
    start = [] if known.start is None else [Token(known.number[known.start], known.start, special=True)]
    if isinstance(given, str):
        places = [Token(row, text, at) for row, text, at in known.places(given)]
        if not places and not start:
            raise DataError(f"the text {given[:40]!r} holds no words; give {model.name} at least one")
        if places and start and places[0].row == start[0].row:
            start = []  # the text says it itself
        return [*start, *places]
    if not _is_ids(given):
        raise DataError(f"{type(given).__name__} is not a text or a list of word numbers")
    rows = [int(row) for row in given]
    for row in rows:
        if not 0 <= row < len(known):
            raise DataError(f"there is no word number {row}; {model.name} has 0 to {len(known) - 1}")
    return [Token(row, known.words[row]) for row in rows]


def _is_ids(given: Any) -> bool:
    if isinstance(given, np.ndarray):
        return given.ndim == 1 and given.dtype.kind in "iu" and len(given) > 0
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and len(given) > 0
        and all(isinstance(row, (int, np.integer)) for row in given)
    )
