"""How much memory a capture takes, before it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from langscape.errors import SettingsError
from langscape.memory_limits import available_memory, size
from langscape.models.capture_spec import Plan, arrays, make_plan

if TYPE_CHECKING:
    from langscape.models.layout import Layout
    from langscape.models.model import Model

LIMIT = 4e9
"""Bytes above which a capture is refused unless told otherwise."""

_LESS = "name fewer layers or heads, want less, take shorter windows, go through capture_each"


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
) -> Estimate:
    """What a text of so many tokens takes; target is the number of an encoder–decoder's target tokens.

    >>> from langscape.models import get_model, open_model
    >>> _ = get_model("default")
    >>> print(estimate(open_model("default"), tokens=512, want=("attention",)))
    75 MB held, 120 MB at the peak
    """
    if tokens < 1 or target < 1 or batch < 1:
        raise SettingsError(f"tokens {tokens}, target {target} and batch {batch} must be at least 1")
    plan = make_plan(model.layout, want, layers, heads)
    target = target if "decoder" in model.layout.roles else 0
    made = {array.name: array.bytes * batch for array in arrays(model.layout, plan, tokens, target)}
    return Estimate(MappingProxyType(made), working(model.layout, plan, tokens, target) * batch)


def working(layout: Layout, plan: Plan, source: int, target: int) -> int:
    """Bytes one text needs while it runs, its finished arrays left out.

    Scores, their softmax and one more copy of the widest layer, the mask, every hidden state; of a
    model that cannot be listened to, the weights of all layers, since it hands them over at the end.
    """
    scores = 0
    total = 0
    for site in layout.sites:
        queries = target if site.role in ("decoder", "cross") else source
        keys = target if site.role == "decoder" else source
        scores = max(scores, (3 * site.heads + 1) * queries * keys)
        total += site.heads * queries * keys
    states = sum(
        count * width * (target if role == "decoder" else source)
        for role, (count, width) in layout.hidden.items()
    )
    logits = layout.vocabulary * max(source, target) if "logits" in plan.want else 0
    return 4 * (scores + states + logits + (0 if layout.heard else total))


def refuse_above(limit: float, needed: float, what: str) -> None:
    """An error with what can be done, when more is needed than allowed, or than there is."""
    if needed > limit:
        raise SettingsError(
            f'{what} needs about {size(needed)}, above the limit of {size(limit)}; {_LESS}, or raise "memory"'
        )
    free = available_memory()
    if free is not None and needed > free:
        raise SettingsError(f"{what} needs about {size(needed)}, but {size(free)} are available; {_LESS}")
