"""How much memory a capture takes, before it is made."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from langscape.errors import SettingsError, TooLargeError, WayOut
from langscape.memory_limits import available_memory, size
from langscape.models.capture_spec import Plan, Weights, arrays, make_plan

if TYPE_CHECKING:
    from langscape.models.layout import Layout
    from langscape.models.model import Model

LIMIT = 4e9
"""Bytes above which a capture is refused unless told otherwise."""

WHOLE = 8_000_000
"""Weights that a layer computes at once, over all texts and heads of a batch; more come in blocks of rows.

A text of 940 tokens of nine heads is still read whole, with the very bits of the plain model.
"""

BLOCK = 2_000_000
"""Weights of a block."""

_FEWER = "take a shorter text, or fewer layers or heads"


@dataclass(frozen=True)
class Estimate:
    """Bytes of a capture: per array, of all of them, and the most that the run needs beside them."""

    arrays: Mapping[str, int]
    working: int

    @property
    def held(self) -> int:
        """Bytes of the finished capture."""
        return sum(self.arrays.values())

    @property
    def peak(self) -> int:
        """Bytes at the highest point of the run, the model's own weights left out."""
        return self.held + self.working

    def __str__(self) -> str:
        return f"{size(self.held)} held, {size(self.peak)} at the peak"


def estimate(
    model: Model,
    tokens: int,
    want: Iterable[str] = ("hidden", "attention", "q", "k", "v"),
    layers: Iterable[int] | int | None = None,
    heads: Iterable[int] | int | None = None,
    *,
    target: int = 1,
    batch: int = 1,
    rows: Iterable[int] | int | None = None,
    strongest: int | None = None,
    weights: Weights = "float32",
) -> Estimate:
    """What a text of so many tokens takes; target is the number of an encoder–decoder's target tokens.

    The other settings are those of `capture`.

    >>> from langscape.models import get_model, open_model
    >>> _ = get_model("default")
    >>> print(estimate(open_model("default"), tokens=512, want=("attention",)))
    75 MB held, 124 MB at the peak
    """
    if tokens < 1 or target < 1 or batch < 1:
        raise SettingsError(f"tokens {tokens}, target {target} and batch {batch} must be at least 1")
    plan = make_plan(model.layout, want, layers, heads, rows=rows, strongest=strongest, weights=weights)
    target = target if "decoder" in model.layout.roles else 0
    sizes = {array.name: array.bytes * batch for array in arrays(model.layout, plan, tokens, target)}
    return Estimate(MappingProxyType(sizes), working(model.layout, plan, tokens, target) * batch)


def block_rows(layout: Layout, batch: int, source: int, target: int = 0) -> int | None:
    """How many query rows of a batch are computed at once; None where all are."""
    if not layout.blocks:
        return None
    queries, width = 0, 1
    for site in layout.sites:
        queries = max(queries, _queries(site.role, source, target))
        width = max(width, site.heads * _keys(site.role, source, target))
    return None if batch * width * queries <= WHOLE else max(1, BLOCK // (batch * width))


def working(layout: Layout, plan: Plan, source: int, target: int) -> int:
    """Bytes one text needs while it runs, its finished arrays left out.

    Scores, their softmax and one more copy of the rows of the widest layer that are computed at once, the
    mask, the inner states of a layer, every hidden state where they are wanted; of a model that cannot be
    listened to, the weights of all layers, since it hands them over at the end.
    """
    scores = total = 0
    rows = block_rows(layout, 1, source, target) if layout.heard else None
    for site in layout.sites:
        queries, keys = _queries(site.role, source, target), _keys(site.role, source, target)
        at_once = queries if rows is None else min(rows, queries)
        # a mask of truth values, made from another, or one of numbers, made from one of truth values
        mask = queries * keys // 2 if rows is not None else 5 * queries * keys // 4
        scores = max(scores, 3 * site.heads * at_once * keys + mask)
        total += site.heads * queries * keys
    states = inner = 0
    for role, (count, width) in layout.hidden.items():
        tokens = target if role == "decoder" else source
        states += count * width * tokens if "hidden" in plan.want else 0
        inner = max(inner, 12 * width * tokens)  # of a gated layer: two widths of four, and what it was given
    logits = layout.vocabulary * max(source, target) if "logits" in plan.want else 0
    return 4 * (scores + states + inner + logits + (0 if layout.heard or not plan.attends else total))


def _queries(role: str, source: int, target: int) -> int:
    return target if role in ("decoder", "cross") else source


def _keys(role: str, source: int, target: int) -> int:
    return target if role == "decoder" else source


def check_fits(model: Model, plan: Plan, sizes: Sequence[tuple[int, int]], limit: float) -> int:
    """Bytes of the finished captures of texts of these sizes; refused where too many, with what would fit."""
    total = _held(model.layout, plan, sizes)
    needed = _peak(model.layout, plan, sizes)
    free = available_memory()
    room = limit if free is None else min(limit, free)
    if needed <= room:
        return total
    tokens = sum(source for source, _ in sizes)
    bound = f"above the limit of {size(limit)}" if room == limit else f"but {size(room)} are available"
    raise TooLargeError(
        f"capturing {tokens:,} tokens needs about {size(needed)}, {bound}",
        _ways(model.layout, plan, sizes, room, needed),
        _FEWER,
    )


def _held(layout: Layout, plan: Plan, sizes: Sequence[tuple[int, int]]) -> int:
    return sum(array.bytes for one in sizes for array in arrays(layout, plan, *one))


def _peak(layout: Layout, plan: Plan, sizes: Sequence[tuple[int, int]]) -> int:
    return _held(layout, plan, sizes) + max((working(layout, plan, *one) for one in sizes), default=0)


def _ways(
    layout: Layout, plan: Plan, sizes: Sequence[tuple[int, int]], room: float, needed: int
) -> list[WayOut]:
    """What would fit, each way by itself; the memory that would do is the last."""
    ways: list[WayOut] = []

    def fits(plan: Plan, sizes: Sequence[tuple[int, int]] = sizes) -> bool:
        return _peak(layout, plan, sizes) <= room

    source, target = sizes[0]
    if len(sizes) == 1:
        tokens = _most(source, lambda n: fits(replace(plan, rows=_below(plan.rows, n)), [(n, target)]))
        if tokens:
            tokens = _rounded(tokens)
            ways.append(WayOut(f"the first {tokens:,} tokens", "first_tokens", tokens))
    chosen = max(plan.layers.values(), key=len, default=())
    if len(chosen) > 1 and chosen == tuple(range(chosen[0], chosen[-1] + 1)):
        few = _most(len(chosen), lambda n: fits(_with_layers(plan, chosen[:n])))
        if few:
            numbers = range(chosen[0], chosen[few - 1] + 1)
            called = f"layer {numbers[0]}" if few == 1 else f"layers {numbers[0]}–{numbers[-1]}"
            ways.append(WayOut(called, "layers", numbers))
    if plan.attends and plan.rows is None and len(sizes) == 1 and "self" in layout.roles:
        few = _most(source, lambda n: fits(replace(plan, rows=tuple(range(n)))))
        if few:
            few = _rounded(few)
            ways.append(WayOut(f"rows 0–{few - 1:,}", "rows", range(few)))
    if "attention" in plan.want and plan.weights == "float32":
        half = replace(plan, weights="float16")
        if fits(half):
            ways.append(WayOut("weights in half precision", "weights", "float16"))
    if "attention" in plan.want and plan.strongest is None and fits(replace(plan, strongest=64)):
        ways.append(WayOut("the 64 strongest keys of each row", "strongest", 64))
    if len(sizes) > 1:
        ways.append(WayOut("go through capture_each", "", None, action=True))
    ways.append(WayOut("raise the limit", "memory", float(f"{1.1 * needed:.1e}"), action=True))
    return ways


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """The largest number below count that fits; 0 where none does."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _rounded(count: int) -> int:
    """Two digits, rounded down: a number that one remembers."""
    unit = 10 ** max(0, len(str(count)) - 2)
    return count // unit * unit


def _below(rows: tuple[int, ...] | None, count: int) -> tuple[int, ...] | None:
    return None if rows is None else tuple(row for row in rows if row < count) or (0,)


def _with_layers(plan: Plan, chosen: tuple[int, ...]) -> Plan:
    layers = {role: tuple(i for i in numbers if i in chosen) for role, numbers in plan.layers.items()}
    hidden = {role: tuple(i for i in numbers if i in chosen) for role, numbers in plan.hidden.items()}
    return replace(plan, layers=layers, hidden=hidden)


def give_back() -> None:
    """Hand memory that is no longer used back to the system, where the C library can be asked to.

    What tensors of a few megabytes leave behind would otherwise stay with the process.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def refuse_above(limit: float, needed: float, what: str, less: str = "take a shorter text") -> None:
    """An error with what can be done, when more is needed than allowed, or than there is."""
    if needed > limit:
        way = WayOut("raise the limit", "memory", float(f"{1.1 * needed:.1e}"), action=True)
        raise TooLargeError(
            f"{what} needs about {size(needed)}, above the limit of {size(limit)}; {less}", [way], less
        )
    free = available_memory()
    if free is not None and needed > free:
        raise SettingsError(f"{what} needs about {size(needed)}, but {size(free)} are available; {less}")
