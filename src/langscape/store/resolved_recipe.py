"""A recipe made ready to run anywhere: named by its digest, its inputs' state taken down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langscape.errors import DataError
from langscape.store.recipe import Recipe, stamps


@dataclass(frozen=True)
class ResolvedRecipe:
    """A recipe with its digest, the state of its input files, and the same for each recipe it needs.

    Made once, in the process that starts the work; workers take it as it is and hash no input again.
    """

    digest: str
    recipe: Recipe
    stamps: Mapping[str, list[int]]
    needs: Mapping[str, ResolvedRecipe] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for a worker."""
        needs = {name: need.to_json() for name, need in self.needs.items()}
        recipe = self.recipe.to_json()
        return {"digest": self.digest, "recipe": recipe, "stamps": dict(self.stamps), "needs": needs}

    def digests(self) -> dict[str, Any]:
        """The names of all results that the recipe takes, by input, each with the same of its own."""
        return {name: {"digest": one.digest, "needs": one.digests()} for name, one in self.needs.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ResolvedRecipe:
        """What `to_json` wrote."""
        needs = {name: cls.from_json(need) for name, need in value["needs"].items()}
        return cls(value["digest"], Recipe.from_json(value["recipe"]), value["stamps"], needs)


def same_inputs(named: ResolvedRecipe) -> None:
    """Refuse to go on if an input file is not as it was when the recipe was named."""
    now = stamps(named.recipe)
    for path in sorted({*now, *named.stamps}):
        if now.get(path) != named.stamps.get(path):
            raise DataError(f"input {path} has changed since this was started; run it again")
