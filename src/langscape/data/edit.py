"""One change to a run of a model: which part is replaced, by what, and at which tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.data.capture import Capture

Part = Literal["head", "edge", "residual", "mlp"]
Replacement = Any
"""What stands instead: "mean", "zero", an array or another Capture."""

_WORDS = ("mean", "zero")
_SPOKEN = {"residual": "the residual stream before layer", "mlp": "the MLP of layer"}
_WRITTEN = re.compile(
    r"(?:(?P<part>head|edge|residual|mlp)\s+)?(?P<layer>\d+)(?:\.(?P<head>\d+))?"
    r"(?:\s+(?P<query>\d+)\s*>\s*(?P<key>\d+))?(?:\s+(?:to\s+)?(?P<to>mean|zero))?"
    r"(?:\s+at\s+(?P<tokens>[\d,\s-]+))?"
)
EDITED = "Edited run:"
"""How the note of an edited run begins; pictures put it before all other notes."""

LIKE = "head 16.0 mean, mlp 5 zero, residual 12 mean at 3-5, or edge 18.6 9>4"


@dataclass(frozen=True, eq=False)
class Edit:
    """A part of a model replaced while it reads a text; nothing of the model itself is changed.

    part    "head": what a head gives, before the output projection · "edge": what one query takes from one
            key · "residual": the stream that enters a layer, which is that hidden state of a capture ·
            "mlp": what a layer's MLP adds to the stream
    to      "mean": the part's own mean over the tokens but the first, in the unedited run · "zero" ·
            an array, (dim,) or (tokens, dim) · a Capture of a text with as many tokens
    tokens  where, numbered from 0 among all tokens; None for all but the first, on which many heads park
            their weight: a sink that breaks would look like an effect of the head
    side    of an encoder–decoder: whose head

    >>> print(Edit.head(16, 0))
    head 16.0 replaced by its mean at every token but the first
    """

    part: Part
    layer: int
    head_number: int | None = None
    tokens: tuple[int, ...] | None = None
    to: Replacement = "mean"
    edge_ends: tuple[int, int] | None = None
    side: Literal["encoder", "decoder", "cross"] | None = None

    @classmethod
    def head(
        cls,
        layer: int,
        head: int,
        tokens: Iterable[int] | int | None = None,
        to: Replacement = "mean",
        *,
        side: Literal["encoder", "decoder", "cross"] | None = None,
    ) -> Edit:
        """What a head gives, replaced. Of a Capture, its attention and v are needed."""
        return cls(
            "head", _number("layer", layer), _number("head", head), _places(tokens), _to(to), side=side
        )

    @classmethod
    def edge(
        cls,
        layer: int,
        head: int | None,
        query: int,
        key: int,
        *,
        side: Literal["encoder", "decoder", "cross"] | None = None,
    ) -> Edit:
        """What a query takes from a key, cut; the rest of the row stays. None cuts it in all heads."""
        chosen = None if head is None else _number("head", head)
        ends = _number("query", query), _number("key", key)
        return cls("edge", _number("layer", layer), chosen, None, "zero", ends, side)

    @classmethod
    def residual(
        cls, layer: int, tokens: Iterable[int] | int | None = None, to: Replacement = "mean"
    ) -> Edit:
        """The stream that enters a layer, replaced. Of a Capture, its hidden states are needed."""
        return cls("residual", _number("layer", layer), None, _places(tokens), _to(to))

    @classmethod
    def mlp(cls, layer: int, tokens: Iterable[int] | int | None = None, to: Replacement = "mean") -> Edit:
        """What a layer's MLP adds, replaced. Of a Capture, `mlp` is needed, which `models.stream` has."""
        return cls("mlp", _number("layer", layer), None, _places(tokens), _to(to))

    @classmethod
    def parse(cls, text: str) -> Edit:
        """An edit as it is written at the command line.

        >>> print(Edit.parse("edge 18.6 9>4"))
        head 18.6 without the edge from token 9 to token 4
        """
        found = _WRITTEN.fullmatch(text.strip())
        if found is None:
            raise SettingsError(f"the edit {text[:60]!r} is not understood; write {LIKE}")
        part = found["part"] or ("head" if found["query"] is None else "edge")
        layer, head = int(found["layer"]), None if found["head"] is None else int(found["head"])
        if (part == "head") != (head is not None) and part != "edge":
            raise SettingsError(
                f"the edit {text[:60]!r} names {'no' if head is None else 'a'} head; write {LIKE}"
            )
        if (part == "edge") != (found["query"] is not None):
            raise SettingsError(f"the edit {text[:60]!r} has no query>key, or too many; write {LIKE}")
        if part == "edge":
            if found["to"] or found["tokens"]:
                raise SettingsError(f"the edit {text[:60]!r}: an edge is cut, and takes nothing more")
            return cls.edge(layer, head, int(found["query"]), int(found["key"]))
        return cls(part, layer, head, _ranges(found["tokens"]), found["to"] or "mean")  # type: ignore[arg-type]

    @property
    def short(self) -> str:
        """The edit within a sentence, without the places that are usual.

        >>> Edit.parse("head 2.9 mean").short, Edit.parse("mlp 5 zero at 3").short
        ('head 2.9 replaced by its mean', 'the MLP of layer 5 set to zero at token 3')
        """
        said = str(self).removesuffix(f" at {_spoken_places(None)}")
        return said.replace(" replaced by zero", " set to zero")

    def __str__(self) -> str:
        if self.edge_ends is not None:
            where = (
                f"layer {self.layer}" if self.head_number is None else f"head {self.layer}.{self.head_number}"
            )
            query, key = self.edge_ends
            return f"{self._of_side(where)} without the edge from token {query} to token {key}"
        if self.part == "head":
            what = f"head {self.layer}.{self.head_number}"
        else:
            what = f"{_SPOKEN[self.part]} {self.layer}"
        return f"{self._of_side(what)} replaced by {_spoken(self.to)} at {_spoken_places(self.tokens)}"

    def _of_side(self, what: str) -> str:
        return what if self.side is None else f"{what} ({self.side})"


def edits_in_words(edits: Iterable[str]) -> str:
    """Edits as they are written, as words of a title; one that is not understood stays as it is.

    >>> edits_in_words(["head 2.9 mean", "16.0 zero", "what?"])
    'head 2.9 replaced by its mean, head 16.0 set to zero, what?'
    """
    said = []
    for one in edits:
        try:
            said.append(Edit.parse(one).short)
        except SettingsError:
            said.append(one)
    return ", ".join(said)


def edit_of(given: Any) -> Edit:
    """An Edit, or one as it is written."""
    if isinstance(given, Edit):
        return given
    if isinstance(given, str):
        return Edit.parse(given)
    raise SettingsError(
        f"a {type(given).__name__} is no edit; give langscape.Edit.head(16, 0), or one as {LIKE}"
    )


def _number(noun: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise SettingsError(f"{noun} {value!r} is not possible; {noun}s are whole numbers from 0")
    return int(value)


def _places(tokens: Iterable[int] | int | None) -> tuple[int, ...] | None:
    if tokens is None:
        return None
    listed = [tokens] if isinstance(tokens, (int, np.integer)) else list(tokens)
    if not listed:
        raise SettingsError("tokens is empty; leave it out for all but the first")
    return tuple(sorted({_number("token", one) for one in listed}))


def _ranges(text: str | None) -> tuple[int, ...] | None:
    """ "3,5-8" as numbers."""
    if text is None:
        return None
    places: list[int] = []
    for piece in text.replace(" ", "").strip(",").split(","):
        ends = piece.split("-")
        if not all(ends) or len(ends) > 2 or int(ends[-1]) - int(ends[0]) > 100_000:
            raise SettingsError(f"the tokens {text!r} are not understood; write 3,5-8")
        places += range(int(ends[0]), int(ends[-1]) + 1)
    return _places(places)


def _to(to: Any) -> Any:
    from langscape.data.capture import Capture

    if isinstance(to, Capture):
        return to
    if isinstance(to, str):
        if to not in _WORDS:
            raise SettingsError(f'to {to!r} is not known; use "mean", "zero", an array or a Capture')
        return to
    try:
        array = np.array(to, np.float32)
    except (TypeError, ValueError):
        array = None
    if array is None or array.ndim not in (1, 2) or not np.isfinite(array).all():
        raise SettingsError(
            f"to is a {type(to).__name__} that is no finite array of one or two axes; "
            'use "mean", "zero", an array (dim,) or (tokens, dim), or a Capture'
        )
    array.flags.writeable = False
    return array


def _spoken(to: Any) -> str:
    if isinstance(to, str):
        return {"mean": "its mean", "zero": "zero"}[to]
    return "given values" if isinstance(to, np.ndarray) else f"what it is for “{_opening(to)}”"


def _opening(other: Capture) -> str:
    from langscape.data.token_text import joined_text

    text = joined_text(list(other.tokens)).strip()
    return text if len(text) <= 40 else f"{text[:39]}…"


def _spoken_places(tokens: tuple[int, ...] | None) -> str:
    if tokens is None:
        return "every token but the first"
    named = ", ".join(str(one) for one in tokens[:6]) + (" …" if len(tokens) > 6 else "")
    return f"token {named}" if len(tokens) == 1 else f"tokens {named}"
