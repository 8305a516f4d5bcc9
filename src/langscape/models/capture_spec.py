"""What a capture will hold: which arrays, of which layers, heads and query rows, with which shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from langscape.errors import DataError, SettingsError, not_there

if TYPE_CHECKING:
    from langscape.models.layout import Layout, Site

WANT = ("hidden", "attention", "q", "k", "v", "logits")
AXES = {
    "attention": ("layer", "head", "query", "key"),
    "q": ("layer", "head", "query", "dim"),
    "k": ("layer", "head", "key", "dim"),
    "v": ("layer", "head", "key", "dim"),
    "hidden": ("layer", "token", "dim"),
    "logits": ("token", "vocabulary"),
    "sink": ("layer", "head", "query"),
    "strongest": ("layer", "head", "query", "rank"),
    "strongest_keys": ("layer", "head", "query", "rank"),
}

Weights = Literal["float32", "float16"]


@dataclass(frozen=True)
class Array:
    """One array of a capture before it is there.

    layers are the numbers of the model's layers it holds, heads those of their heads, rows the queries; all
    where None. what is "strongest" where of each row of attention only the largest weights are kept.
    """

    name: str
    what: str
    role: str
    shape: tuple[int, ...]
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    rows: tuple[int, ...] | None = None
    dtype: str = "float32"

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of its axes."""
        return AXES[self.what]

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        size = np.dtype(self.dtype).itemsize
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True)
class Plan:
    """What is asked for, checked against the layout: layers and heads by role.

    rows       the queries whose attention is kept; None for all
    strongest  how many weights of each row are kept, the largest; None for all
    weights    the precision of attention
    """

    want: tuple[str, ...]
    layers: Mapping[str, tuple[int, ...]]
    hidden: Mapping[str, tuple[int, ...]]
    heads: Mapping[str, tuple[int, ...]]
    rows: tuple[int, ...] | None = None
    strongest: int | None = None
    weights: Weights = "float32"

    @property
    def attends(self) -> bool:
        """Whether anything of attention is asked for."""
        return any(what in self.want for what in ("attention", "q", "k", "v"))


def make_plan(
    layout: Layout,
    want: Iterable[str],
    layers: Iterable[int] | int | None,
    heads: Iterable[int] | int | None,
    *,
    rows: Iterable[int] | int | None = None,
    strongest: int | None = None,
    weights: Weights = "float32",
) -> Plan:
    """The plan for these wishes; layers, heads and rows are numbers from 0, None for all.

    Hidden layer 0 is the embedding, so there is one hidden layer more than there are layers.
    """
    wanted = (want,) if isinstance(want, str) else tuple(want)
    for name in wanted:
        if name not in WANT:
            raise SettingsError(f"want {name!r} is not known; choose from {', '.join(WANT)}")
    if not wanted:
        raise SettingsError(f"want is empty; choose from {', '.join(WANT)}")
    counts = {role: len(layout.of(role)) for role in layout.roles}
    states = {role: count for role, (count, _) in layout.hidden.items()}
    attending = any(name in wanted for name in ("attention", "q", "k", "v"))
    if attending and not counts:
        raise DataError('this model has no attention; capture want="hidden" alone')
    most = max(counts.values()) if attending else max(states.values(), default=0)
    chosen = _numbers("layer" if attending else "hidden layer", layers, most)
    widest = max((site.heads for site in layout.sites), default=1)
    picked = _numbers("head", heads, widest)

    def among(chosen: tuple[int, ...] | None, count: int) -> tuple[int, ...]:
        return tuple(range(count)) if chosen is None else tuple(i for i in chosen if i < count)

    if weights not in ("float32", "float16"):
        raise SettingsError(f'weights {weights!r} is not known; use "float32" or "float16"')
    if strongest is not None and (not isinstance(strongest, int) or strongest < 1):
        raise SettingsError(f"strongest {strongest!r} is not possible; it must be a whole number from 1")
    if rows is not None and "self" not in layout.roles:
        raise SettingsError("rows are of models with one side; an encoder–decoder attends in several ways")
    return Plan(
        wanted,
        {role: among(chosen, count) for role, count in counts.items()},
        {role: among(chosen, count) for role, count in states.items()},
        {role: among(picked, max(site.heads for site in layout.of(role))) for role in layout.roles},
        _numbers("row", rows, None),
        strongest,
        weights,
    )


def arrays(layout: Layout, plan: Plan, source: int, target: int = 0) -> list[Array]:
    """Every array the plan gives for a text of so many tokens; target is the decoder's side."""
    found: list[Array] = []
    for role in layout.roles:
        queries = target if role in ("decoder", "cross") else source
        keys = target if role == "decoder" else source
        layers, heads = plan.layers[role], plan.heads[role]
        sites = [layout.of(role)[layer] for layer in layers]
        whats = [what for what in ("attention", "q", "k", "v") if what in plan.want]
        if not layout.heard:
            whats = [what for what in whats if what == "attention"]
        if not sites or not heads or not whats:
            continue
        _alike(sites, role, whats)
        rows = _rows_of(plan, queries)
        lead = (len(layers), len(heads))
        kept = (*lead, queries if rows is None else len(rows))
        shapes = {
            "attention": (*kept, keys),
            "q": (*kept, sites[0].width),
            "k": (*lead, keys, sites[0].width),
            "v": (*lead, keys, sites[0].value_width),
        }
        for what in whats:
            own = rows if what in ("attention", "q") else None
            if what == "attention":
                found += _weights(plan, role, shapes[what], layers, heads, own)
                if any(site.sink for site in sites):
                    name = f"{named(what, role)}_sink"
                    found.append(Array(name, "sink", role, kept, layers, heads, own))
            else:
                found.append(Array(named(what, role), what, role, shapes[what], layers, heads, own))
    if "hidden" in plan.want:
        for role, numbers in plan.hidden.items():
            tokens = target if role == "decoder" else source
            shape = (len(numbers), tokens, layout.hidden[role][1])
            if numbers:
                found.append(Array(named("hidden", role), "hidden", role, shape, numbers))
    if "logits" in plan.want and layout.vocabulary:
        role = "decoder" if "decoder" in layout.roles else "self"
        shape = (target if role == "decoder" else source, layout.vocabulary)
        found.append(Array(named("logits", role), "logits", role, shape))
    return found


def _rows_of(plan: Plan, queries: int) -> tuple[int, ...] | None:
    if plan.rows is not None and plan.rows[-1] >= queries:
        raise not_there("row", plan.rows[-1], range(queries), "this text")
    return plan.rows


def _weights(
    plan: Plan,
    role: str,
    shape: tuple[int, ...],
    layers: tuple[int, ...],
    heads: tuple[int, ...],
    rows: tuple[int, ...] | None,
) -> list[Array]:
    """The array of attention, or where only the largest weights are kept, these and their keys."""
    name = named("attention", role)
    if plan.strongest is None or plan.strongest >= shape[-1]:
        return [Array(name, "attention", role, shape, layers, heads, rows, plan.weights)]
    shape = (*shape[:-1], plan.strongest)
    return [
        Array(name, "strongest", role, shape, layers, heads, rows, plan.weights),
        Array(f"{name}_keys", "strongest_keys", role, shape, layers, heads, rows, "int32"),
    ]


def named(what: str, role: str) -> str:
    """The array's name: "attention", or "cross_attention" where a model attends in several ways."""
    return what if role == "self" else f"{role}_{what}"


def _numbers(noun: str, chosen: Iterable[int] | int | None, count: int | None) -> tuple[int, ...] | None:
    """The numbers in order; without a count they are checked against a text that is not known yet."""
    if chosen is None:
        return None
    listed = [chosen] if isinstance(chosen, int) else list(chosen)
    for number in listed:
        try:
            whole = int(number) == number
        except (TypeError, ValueError):
            whole = False
        if count is None and (not whole or number < 0):
            raise SettingsError(f"{noun} {number!r} is not possible; {noun}s are whole numbers from 0")
        if count is not None and (not whole or not 0 <= number < count):
            raise not_there(noun, number, range(count))
    if not listed:
        upto = "" if count is None else f" to {count - 1}"
        raise SettingsError(f"{noun}s is empty; leave it out for all, or choose from 0{upto}")
    return tuple(sorted({int(number) for number in listed}))


def _alike(sites: list[Site], role: str, whats: list[str]) -> None:
    for site in sites:
        differ = site.heads != sites[0].heads
        if "q" in whats or "k" in whats or "v" in whats:
            differ = differ or (site.width, site.value_width) != (sites[0].width, sites[0].value_width)
        if differ:
            raise DataError(
                f"the layers of this model differ ({sites[0].heads} heads of {sites[0].width}, "
                f"{site.heads} of {site.width}) and do not fit into one array; name layers that are alike"
            )
