"""What a capture will hold: which arrays, of which layers and heads, with which shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
}


@dataclass(frozen=True)
class Array:
    """One array of a capture before it is there.

    layers are the numbers of the model's layers it holds, heads those of their heads.
    """

    name: str
    what: str
    role: str
    shape: tuple[int, ...]
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of its axes."""
        return AXES[self.what]

    @property
    def bytes(self) -> int:
        """What it takes as float32."""
        size = 4
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True)
class Plan:
    """What is asked for, checked against the layout: layers and heads by role."""

    want: tuple[str, ...]
    layers: Mapping[str, tuple[int, ...]]
    hidden: Mapping[str, tuple[int, ...]]
    heads: Mapping[str, tuple[int, ...]]


def make_plan(
    layout: Layout, want: Iterable[str], layers: Iterable[int] | int | None, heads: Iterable[int] | int | None
) -> Plan:
    """The plan for these wishes; layers and heads are numbers from 0, None for all.

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
    most = max(counts.values()) if attending else max(states.values(), default=0)
    chosen = _numbers("layer" if attending else "hidden layer", layers, most)
    widest = max(site.heads for site in layout.sites)
    picked = _numbers("head", heads, widest)

    def among(chosen: tuple[int, ...] | None, count: int) -> tuple[int, ...]:
        return tuple(range(count)) if chosen is None else tuple(i for i in chosen if i < count)

    return Plan(
        wanted,
        {role: among(chosen, count) for role, count in counts.items()},
        {role: among(chosen, count) for role, count in states.items()},
        {role: among(picked, max(site.heads for site in layout.of(role))) for role in layout.roles},
    )


def arrays(layout: Layout, plan: Plan, source: int, target: int = 0) -> list[Array]:
    """Every array the plan gives for a text of so many tokens; target is the decoder's side."""
    made: list[Array] = []
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
        lead = (len(layers), len(heads))
        shapes = {
            "attention": (*lead, queries, keys),
            "q": (*lead, queries, sites[0].width),
            "k": (*lead, keys, sites[0].width),
            "v": (*lead, keys, sites[0].value_width),
        }
        made += [Array(named(what, role), what, role, shapes[what], layers, heads) for what in whats]
    if "hidden" in plan.want:
        for role, numbers in plan.hidden.items():
            tokens = target if role == "decoder" else source
            shape = (len(numbers), tokens, layout.hidden[role][1])
            if numbers:
                made.append(Array(named("hidden", role), "hidden", role, shape, numbers))
    if "logits" in plan.want and layout.vocabulary:
        role = "decoder" if "decoder" in layout.roles else "self"
        shape = (target if role == "decoder" else source, layout.vocabulary)
        made.append(Array(named("logits", role), "logits", role, shape))
    return made


def named(what: str, role: str) -> str:
    """The array's name: "attention", or "cross_attention" where a model attends in several ways."""
    return what if role == "self" else f"{role}_{what}"


def _numbers(noun: str, chosen: Iterable[int] | int | None, count: int) -> tuple[int, ...] | None:
    if chosen is None:
        return None
    listed = [chosen] if isinstance(chosen, int) else list(chosen)
    for number in listed:
        try:
            whole = int(number) == number
        except (TypeError, ValueError):
            whole = False
        if not whole or not 0 <= number < count:
            raise not_there(noun, number, range(count))
    if not listed:
        raise SettingsError(f"{noun}s is empty; leave it out for all, or choose from 0 to {count - 1}")
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
