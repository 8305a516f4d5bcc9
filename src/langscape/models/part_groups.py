"""Groups of heads and MLPs that are taken away together, and random groups like them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from langscape.errors import SettingsError, not_there
from langscape.models.effects import PartName, parts_of
from langscape.models.model import Model

LIKE = "a role such as induction, parts such as 16.0 18.6 or mlp 5, layer 3, or all but 16.0 18.6"
_PART = re.compile(r"(?:head\s+)?(?P<layer>\d+)\.(?P<head>\d+)|mlp\s+(?P<mlp>\d+)|layer\s+(?P<whole>\d+)")
_BUT = re.compile(r"all\s+but\s+", re.IGNORECASE)


def group_members(
    model: Model, written: str, roles: Mapping[str, Sequence[PartName]] | None = None
) -> list[PartName]:
    """The heads and MLPs of a group as it is written, in the order of the model.

    `roles` are the heads of each role. "layer 3" stands for all heads of that layer, and "all but …" for all
    heads but these.
    """
    asked = written.strip()
    but = _BUT.match(asked)
    rest = asked[but.end() :] if but else asked
    known = {name.casefold(): members for name, members in (roles or {}).items()}
    found = _listed(model, rest.casefold())
    if found is None:
        if rest.casefold() not in known:
            raise SettingsError(_unknown(asked, rest, [name for name, some in (roles or {}).items() if some]))
        found = set(known[rest.casefold()])
        if not found:
            raise SettingsError(
                f"no head is {rest!r} over these texts; "
                + (
                    f"there are heads of {', '.join(sorted(name for name, some in known.items() if some))}"
                    if any(known.values())
                    else "name the heads, as 16.0 18.6"
                )
            )
    if but:
        if any(one.kind != "head" for one in found):
            raise SettingsError(f"the group {asked[:60]!r}: “all but” is of heads; leave MLPs out")
        found = set(parts_of(model)) - found
    if not found:
        raise SettingsError(f"the group {asked[:60]!r} has no part; write {LIKE}")
    return sorted(found, key=lambda one: (one.layer, one.kind, one.head))


def _unknown(asked: str, rest: str, known: Sequence[str]) -> str:
    said = (
        f"; roles over these texts: {', '.join(known)}" if known and not any(map(str.isdigit, rest)) else ""
    )
    return f"the group {asked[:60]!r} is not understood; write {LIKE}{said}"


def _listed(model: Model, text: str) -> set[PartName] | None:
    """Parts written one after the other; None where the text is something else."""
    found: set[PartName] = set()
    pieces = re.sub(_PART, " ", text)
    if not text.strip() or re.sub(r"\band\b|[\s,+]", "", pieces):
        return None
    for one in _PART.finditer(text):
        if one["mlp"] is not None:
            found.add(_known(model, PartName("mlp", int(one["mlp"]))))
        elif one["whole"] is not None:
            heads = [part for part in parts_of(model) if part.layer == int(one["whole"])]
            if not heads:
                raise not_there("layer", int(one["whole"]), range(model.layers))
            found |= set(heads)
        else:
            found.add(_known(model, PartName("head", int(one["layer"]), int(one["head"]))))
    return found


def _known(model: Model, part: PartName) -> PartName:
    if part.kind == "mlp":
        layers = [one.layer for one in parts_of(model, ("mlp",))]
        if part.layer not in layers:
            raise not_there("MLP", part.layer, range(len(layers)))
        return part
    heads = parts_of(model)
    if part in heads:
        return part
    of_layer = [one for one in heads if one.layer == part.layer]
    if not of_layer:
        raise not_there("layer", part.layer, range(model.layers))
    raise not_there("head", part.head, range(len(of_layer)))


def part_numbers(model: Model, parts: Sequence[PartName]) -> list[float]:
    """The parts by their numbers, as settings of an analysis take them."""
    every = _every(model)
    return [float(every.index(one)) for one in parts]


def numbered_parts(model: Model, numbers: Sequence[float]) -> list[PartName]:
    """The parts of these numbers."""
    every = _every(model)
    return [every[int(at)] for at in numbers]


def _every(model: Model) -> list[PartName]:
    return [*parts_of(model), *(parts_of(model, ("mlp",)) if model.parts.mlps else [])]


def random_groups(model: Model, group: Sequence[PartName], count: int, seed: int = 0) -> list[list[PartName]]:
    """Random groups with as many heads in each layer; for MLPs as many of other layers.

    They are drawn from the parts outside the group where enough are left, else from all, and none is the
    group itself. Fewer come back, or none, where there are no others: a group of all heads of its layers.
    """
    rng = np.random.default_rng(seed)
    mine = set(group)
    heads = parts_of(model)
    mlps = parts_of(model, ("mlp",)) if any(one.kind == "mlp" for one in group) else []
    pools: list[tuple[list[PartName], int]] = []
    for layer, size in sorted(Counter(one.layer for one in group if one.kind == "head").items()):
        every = [one for one in heads if one.layer == layer]
        outside = [one for one in every if one not in mine]
        pools.append((outside if len(outside) >= size else every, size))
    if mlps:
        size = sum(one.kind == "mlp" for one in group)
        outside = [one for one in mlps if one not in mine]
        pools.append((outside if len(outside) >= size else mlps, size))
    found: dict[frozenset[PartName], list[PartName]] = {}
    for _ in range(20 * count):
        drawn = [pool[int(at)] for pool, size in pools for at in rng.choice(len(pool), size, replace=False)]
        if frozenset(drawn) != frozenset(mine):
            found.setdefault(frozenset(drawn), drawn)
        if len(found) == count:
            break
    return list(found.values())
