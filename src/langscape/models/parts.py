"""Which modules of a network are its blocks, and which give what its MLPs add: found by running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from langscape.errors import DataError, LangscapeError
from langscape.models.attention_hook import Call, editing
from langscape.models.faults import first_line, is_fault
from langscape.models.forward import forward

if TYPE_CHECKING:
    from langscape.models.model import Model

_IDS = (5, 9, 7, 11, 3)
Change = Callable[[int, torch.Tensor], torch.Tensor]
"""(layer, (batch, token, dim)) → what stands instead."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The modules of a model, one for every layer; a model that shares its layers has one several times.

    blocks   whose input is the residual stream; empty where `no_blocks` says why
    mlps     whose output is what an MLP adds to the stream; empty where `no_mlps` says why
    uneditable   why what heads give cannot be replaced; empty where it can
    projections  per layer (head, dim, value): what a head gives times it is what the head adds to the stream;
                 empty where a norm stands between. plain_sums says that the stream itself has no norms
    """

    blocks: tuple[torch.nn.Module, ...]
    mlps: tuple[torch.nn.Module, ...]
    no_blocks: str = ""
    no_mlps: str = ""
    uneditable: str = ""
    projections: tuple[torch.Tensor, ...] = ()
    plain_sums: bool = False

    @property
    def separate(self) -> bool:
        """Whether every layer has a block of its own, so that earlier ones can be left out of a run."""
        return bool(self.blocks) and len(set(map(id, self.blocks))) == len(self.blocks)


def find_parts(model: Model) -> Parts:
    """The parts of a model; runs it a few times over five tokens."""
    why = _uneditable(model)
    if why or model.kind not in ("decoder", "encoder"):
        one = why or f"{model.name} is of kind {model.kind}; its stream is not followed"
        return Parts((), (), one, one, why)
    blocks, no_blocks = _blocks(model)
    try:
        from langscape.models.residual import stream

        seen = stream(model, _ids(model))
    except LangscapeError as error:
        return Parts(blocks, (), no_blocks, str(error))
    projections = seen.projections if all(len(one) for one in seen.projections) else ()
    return Parts(blocks, seen.mlp_modules, no_blocks, projections=projections, plain_sums=not seen.post_norm)


def _ids(model: Model) -> list[int]:
    return [one % model.vocabulary for one in _IDS]


def _uneditable(model: Model) -> str:
    """Every attention call must give one vector a head, in the order of the layout."""
    layout = model.layout
    if not layout.heard:
        return layout.reason or f"{model.name} has no attention"
    from langscape.models.layout import probe_inputs

    shapes: list[tuple[int, ...]] = []

    def note(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shapes.append(tuple(output.shape[2:]))
        return call.weights, output

    try:
        with model.running(), editing(model.network, note):
            forward(model.network, probe_inputs(model.network, model.kind))
    except Exception as error:
        if not is_fault(error):
            raise
        return f"{type(model.network).__name__} cannot be run with edits: {first_line(error)}"
    if shapes != [(site.heads, site.value_width) for site in layout.sites]:
        return f"the heads of {type(model.network).__name__} do not give one vector each"
    return ""


def _blocks(model: Model) -> tuple[tuple[torch.nn.Module, ...], str]:
    """The members of lists of modules that are given a hidden state and attend once."""
    network: Any = model.network
    members = {
        id(one): one
        for module in network.modules()
        if isinstance(module, torch.nn.ModuleList)
        for one in module
    }
    open_calls: list[tuple[torch.nn.Module, torch.Tensor | None]] = []
    attending: list[list[tuple[torch.nn.Module, torch.Tensor | None]]] = []

    def enter(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        open_calls.append((module, _given(args, kwargs)))

    def leave(module: torch.nn.Module, args: Any, output: Any) -> None:
        open_calls.pop()

    def note(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        attending.append(list(open_calls))
        return call.weights, output

    ids = torch.tensor([_ids(model)], device=model.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with model.running(), ExitStack() as stack:
        for one in members.values():
            stack.callback(one.register_forward_pre_hook(enter, with_kwargs=True).remove)
            stack.callback(one.register_forward_hook(leave).remove)
        stack.enter_context(editing(network, note))
        states = forward(network, inputs, hidden=True).hidden_states
    found: list[torch.nn.Module] = []
    for layer, calls in enumerate(attending):
        fits = (m for m, given in calls if given is not None and torch.equal(given, states[layer]))
        block = next(fits, None)
        if block is None or len(attending) != len(states) - 1:
            return (), f"the layers of {model.name} are not blocks that take one hidden state each"
        found.append(block)
    return tuple(found), ""


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
    """The hidden states that a block is given."""
    first = args[0] if args else kwargs.get("hidden_states")
    return first if isinstance(first, torch.Tensor) else None


@contextmanager
def changing_inputs(modules: Sequence[torch.nn.Module], change: Change) -> Iterator[None]:
    """Within, what each block is given goes through `change`, layer by layer."""
    numbers = _Numbers(modules)

    def enter(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        layer, given = numbers.next(module), _given(args, kwargs)
        if given is None:
            raise DataError(f"{type(module).__name__} was given no hidden states")
        state = change(layer, given)
        return ((state, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": state})

    with ExitStack() as stack:
        for one in numbers.modules:
            stack.callback(one.register_forward_pre_hook(enter, with_kwargs=True).remove)
        yield


@contextmanager
def changing_outputs(modules: Sequence[torch.nn.Module], change: Change) -> Iterator[None]:
    """Within, what each module gives goes through `change`, layer by layer; of several values the first."""
    numbers = _Numbers(modules)

    def leave(module: torch.nn.Module, args: Any, output: Any) -> Any:
        layer = numbers.next(module)
        if isinstance(output, tuple):
            return (change(layer, output[0]), *output[1:])
        return change(layer, output)

    with ExitStack() as stack:
        for one in numbers.modules:
            stack.callback(one.register_forward_hook(leave).remove)
        yield


@contextmanager
def starting_at(parts: Parts, layer: int, state: torch.Tensor, tuples: bool) -> Iterator[None]:
    """Within, the blocks before a layer do nothing, and it is given `state` (batch, token, dim)."""
    skipped = parts.blocks[:layer]

    def forward(*args: Any, **kwargs: Any) -> Any:
        return (state,) if tuples else state

    try:
        for block in skipped:
            block.forward = forward
        yield
    finally:
        for block in skipped:
            vars(block).pop("forward", None)


class _Numbers:
    """Which layer a module stands for when it is called: a shared one stands for several, in turn."""

    def __init__(self, modules: Sequence[torch.nn.Module]) -> None:
        self.modules = list({id(one): one for one in modules}.values())
        self._layers: dict[int, list[int]] = {}
        self._calls: dict[int, int] = {}
        for layer, one in enumerate(modules):
            self._layers.setdefault(id(one), []).append(layer)

    def next(self, module: torch.nn.Module) -> int:
        layers = self._layers[id(module)]
        calls = self._calls.get(id(module), 0)
        self._calls[id(module)] = calls + 1
        return layers[calls % len(layers)]
