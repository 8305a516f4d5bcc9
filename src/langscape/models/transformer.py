"""Text → Capture: one run of a transformer with its attention, queries, keys, values and hidden states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypedDict, Unpack, overload

from langscape.data import Capture, Edit, Progress, Step
from langscape.errors import SettingsError
from langscape.models.batch import run_batch
from langscape.models.capture_spec import Plan, Weights, make_plan
from langscape.models.edits import checked
from langscape.models.inputs import Reading, Row, ids_of_encoding, is_one
from langscape.models.inputs import rows as texts_ready
from langscape.models.lstm import LSTMModel
from langscape.models.lstm_capture import read, texts_of
from langscape.models.memory import LIMIT, check_fits, refuse_above, size, working
from langscape.models.model import Model
from langscape.models.open import open_model
from langscape.models.token_merging import drop_special
from langscape.models.tokens import Long

ALL = ("hidden", "attention", "q", "k", "v")
_AT_ONCE = 2.5e8
"""Bytes of scores and states one batch may take; larger ones only fall out of the processor's cache."""

Numbers = Iterable[int] | int | None
Special = Literal["keep", "drop"]


class Options(TypedDict, total=False):
    """The rest of what `capture` takes, all by name."""

    tokenizer: Any
    target: Any
    edits: Iterable[Any]
    rows: Numbers
    strongest: int | None
    weights: Weights
    first_tokens: int | None
    generate: int
    sample_seed: int | None
    special: Special
    overlap: int
    batch: int
    memory: float
    progress: Progress | None


@overload
def capture(
    model: Any,
    text: str,
    want: Iterable[str] = ALL,
    layers: Numbers = None,
    heads: Numbers = None,
    *,
    long: Literal["error", "start"] = "error",
    **options: Unpack[Options],
) -> Capture: ...
@overload
def capture(
    model: Any,
    text: Any,
    want: Iterable[str] = ALL,
    layers: Numbers = None,
    heads: Numbers = None,
    *,
    long: Long = "error",
    **options: Unpack[Options],
) -> Any: ...
def capture(
    model: Any,
    text: Any,
    want: Iterable[str] = ALL,
    layers: Numbers = None,
    heads: Numbers = None,
    *,
    tokenizer: Any = None,
    target: Any = None,
    edits: Iterable[Any] = (),
    rows: Numbers = None,
    strongest: int | None = None,
    weights: Weights = "float32",
    first_tokens: int | None = None,
    generate: int = 0,
    sample_seed: int | None = None,
    special: Special = "keep",
    long: Long = "error",
    overlap: int = 0,
    batch: int = 16,
    memory: float = LIMIT,
    progress: Progress | None = None,
) -> Any:
    """What the model held while it read a text: a Capture, or a list of them for several texts.

    `model` is what `open_model` gave, or whatever it takes: a name, a loaded model, a pipeline, with its
    `tokenizer` where that is not found by itself. `text` is a string, token ids, what a tokenizer gave, or
    for a vision model pixels (channels, height, width). With long="window" the answer is always a list, one
    Capture per window; with long="start" what does not fit the model is left out, and first_tokens reads no
    more than so many. q, k and v are what enters the dot product, after rotation, with grouped keys repeated
    for every query head.

    `edits` replace parts of the model for this run, such as `Edit.head(16, 0)` or "head 16.0 mean"; the
    capture says so in its notes, and nothing of the model stays changed.

    Only the layers, heads and query rows that are named are kept, and a long text is read in blocks of rows.
    weights="float16" halves attention; strongest=64 keeps the 64 largest weights of each row and their keys.

    >>> from langscape.models import get_model, open_model
    >>> _ = get_model("default")
    >>> seen = capture(open_model("default"), "Rain fell.", want=("attention",), layers=0)
    >>> seen.tokens, seen["attention"].shape
    (Tokens(['[CLS]', 'rain', 'fell', '.', '[SEP]']), (1, 12, 5, 5))
    """
    model = open_model(model, tokenizer=tokenizer)
    changes = checked(model, edits)
    if isinstance(model, LSTMModel):
        _only_texts(model, layers=layers, heads=heads, target=target)
        chosen = None if want is ALL else want
        settings: dict[str, Any] = {"generate": generate, "sample_seed": sample_seed, "special": special}
        return read(model, text, chosen, **settings, memory=memory, progress=progress)
    want = _that_is_there(model, want)
    text = ids_of_encoding(text)
    plan = make_plan(model.layout, want, layers, heads, rows=rows, strongest=strongest, weights=weights)
    if special == "drop" and rows is not None:
        raise SettingsError('rows are numbered among all tokens; take them with special="keep"')
    if changes and generate:
        raise SettingsError(
            f"generate {generate} is written by the unedited model; leave it out, or give its text"
        )
    reading = Reading(long, overlap, generate, sample_seed, first_tokens)
    one = is_one(model, text)
    listed = [text] if one else text
    targets = [target] if one and target is not None else target
    ready = list(texts_ready(model, listed, targets, reading))
    needed = check_fits(model, plan, [row.sizes for row in ready], memory)
    if changes:
        _refuse_long(model, ready, memory)
    tokens = sum(len(row.source) for row in ready)
    tell = progress or (lambda step: None)
    tell(Step(0, len(ready), f"capturing {tokens:,} tokens, {size(needed)}"))
    captures: list[Capture] = []
    batch = 1 if changes else batch  # a text's own means, and its own tokens
    for captured in _in_order(model, plan, iter(ready), special, batch, edits=changes):
        captures.append(captured)
        tell(Step(len(captures), len(ready), f"capturing {tokens:,} tokens, {size(needed)}"))
    return captures[0] if one and long != "window" else captures


def capture_each(
    model: Any,
    texts: Iterable[Any],
    want: Iterable[str] = ALL,
    layers: Numbers = None,
    heads: Numbers = None,
    *,
    targets: Iterable[Any] | None = None,
    special: Special = "keep",
    long: Long = "error",
    overlap: int = 0,
    batch: int = 16,
    memory: float = LIMIT,
) -> Iterator[Capture]:
    """The captures of any number of texts, one after another; only a few batches are ever in memory.

    `targets` are the texts of an encoder–decoder's decoder, one for each.

    >>> from langscape.models import get_model, open_model
    >>> _ = get_model("default")
    >>> [len(seen.tokens) for seen in capture_each(open_model("default"), ["Rain fell.", "Rain"])]
    [5, 3]
    """
    model = open_model(model)
    if isinstance(model, LSTMModel):
        _only_texts(model, layers=layers, heads=heads)
        chosen = None if want is ALL else want
        for text in texts_of(texts):
            yield read(model, text, chosen, special=special, memory=memory)
        return
    plan = make_plan(model.layout, _that_is_there(model, want), layers, heads)
    listed = [texts] if isinstance(texts, str) else texts
    ready = texts_ready(model, listed, targets, Reading(long, overlap))
    yield from _in_order(model, plan, ready, special, batch, memory)


def _that_is_there(model: Model, want: Iterable[str]) -> Iterable[str]:
    """Where nothing is named, what the model has: one without attention has hidden states."""
    return ("hidden",) if want is ALL and not model.layout.sites else want


def _only_texts(model: LSTMModel, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise SettingsError(f"{model.name} is an LSTM and takes no {name}; leave it out")


def _in_order(
    model: Model,
    plan: Plan,
    ready: Iterator[Row],
    special: Special,
    batch: int,
    memory: float | None = None,
    edits: Sequence[Edit] = (),
) -> Iterator[Capture]:
    """Rows are run in batches of similar length and given back in their own order."""
    if special not in ("keep", "drop"):
        raise SettingsError(f'special {special!r} is not known; use "keep" or "drop"')
    if batch < 1:
        raise SettingsError(f"batch {batch} is not possible; it must be at least 1")
    while chunk := list(islice(ready, 4 * batch)):
        if memory is not None:
            chunk, ready = _that_fit(model, plan, chunk, ready, memory)
        order = sorted(range(len(chunk)), key=lambda i: chunk[i].sizes)
        captures: dict[int, Capture] = {}
        for group in _groups(model, plan, chunk, order, batch):
            finished = run_batch(model, plan, [chunk[i] for i in group], edits)
            for i, captured in zip(group, finished, strict=True):
                captures[i] = drop_special(captured) if special == "drop" else captured
        for i in range(len(chunk)):
            yield captures.pop(i)


def _refuse_long(model: Model, ready: list[Row], memory: float) -> None:
    """An edited run has all weights of a layer at once."""
    longest = max((max(row.sizes) for row in ready), default=0)
    heads = max(site.heads for site in model.layout.sites)
    refuse_above(memory, 4 * 4 * heads * longest**2, f"an edited run over {longest:,} tokens")


def _that_fit(
    model: Model, plan: Plan, chunk: list[Row], ready: Iterator[Row], memory: float
) -> tuple[list[Row], Iterator[Row]]:
    """As many of the rows as fit into memory together; the rest goes back."""
    needed = 0
    for i, row in enumerate(chunk):
        mine = check_fits(model, plan, [row.sizes], memory)
        busy = working(model.layout, plan, *row.sizes)
        needed += mine
        if needed + busy > memory:
            return chunk[:i], chain(chunk[i:], ready)
    return chunk, ready


def _groups(model: Model, plan: Plan, chunk: list[Row], order: list[int], batch: int) -> Iterator[list[int]]:
    group: list[int] = []
    for i in order:
        longest = tuple(max(sizes) for sizes in zip(*(chunk[j].sizes for j in [*group, i]), strict=True))
        needed = (len(group) + 1) * working(model.layout, plan, *longest)
        if group and (len(group) == batch or needed > _AT_ONCE):
            yield group
            group = []
        group.append(i)
    if group:
        yield group
