"""Where attention happens in a model, found by running it over a few tokens rather than by its name.

Source and target have different lengths in that run, so the shapes of a call say whether it belongs to
the encoder, the decoder or looks across. The same run with plain eager attention must give the same
bits; where it does not, or where no call is heard, q and k cannot be had and weights come from
`output_attentions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from langscape.errors import DataError
from langscape.models.attention_hook import Call, NoEagerError, eagerly, listening
from langscape.models.faults import first_line, is_fault
from langscape.models.forward import forward, trunk

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SOURCE, TARGET = 5, 3
ROLES = ("self", "encoder", "decoder", "cross")


@dataclass(frozen=True)
class Site:
    """One place where attention happens: a layer of a role.

    width and value_width are those of a head's q and k, and of its v; 0 where they are not to be had.
    """

    role: str
    heads: int
    width: int = 0
    value_width: int = 0
    scaling: float = 1.0
    softcap: float | None = None
    biased: bool = False
    sink: bool = False


@dataclass(frozen=True)
class Layout:
    """Every place where a model attends, in call order.

    heard      whether q, k and v are to be had; `reason` says why not
    hidden     per role, how many hidden states there are and how wide
    causal     per role, whether no token looks ahead
    tokens     of a vision model, how many every image becomes
    vocabulary how many logits a token has; 0 for models without a head
    blocks     whether attention can be read some rows at a time
    scores     whether the model hands over scores before softmax instead of weights
    notes      what is unusual about its attention
    """

    sites: tuple[Site, ...]
    heard: bool
    reason: str
    hidden: Mapping[str, tuple[int, int]]
    causal: Mapping[str, bool]
    tokens: int | None
    vocabulary: int
    blocks: bool = False
    scores: bool = False
    notes: tuple[str, ...] = ()

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles there are: ("self",), or ("encoder", "decoder", "cross")."""
        there = {site.role for site in self.sites}
        return tuple(role for role in ROLES if role in there)

    def of(self, role: str) -> list[Site]:
        """The sites of a role; a layer's number is its place in this list."""
        return [site for site in self.sites if site.role == role]


def probe(network: PreTrainedModel, kind: str) -> Layout:
    """The layout of a network; runs it two to four times over two short rows, one of them padded."""
    inputs = probe_inputs(network, kind)
    heard: list[Call] = []
    try:
        with eagerly(network):
            plain = forward(network, inputs, attentions=True, hidden=True)
    except Exception as error:
        if not is_fault(error):
            raise
        raise DataError(
            f"{type(network).__name__} cannot be run as its configuration has it: {first_line(error)}"
        ) from None
    reason = f"{type(trunk(network)).__name__} does not go through the attention interface of transformers"
    same = False
    try:
        with listening(network, heard.append):
            ours = forward(network, inputs, hidden=True)
        same = bool(heard) and _same(plain, ours)
        if heard and not same:
            reason = f"{type(trunk(network)).__name__} computes otherwise when its attention is listened to"
    except (NoEagerError, KeyError, TypeError, ValueError) as error:
        reason += f" ({error})"
    weights = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    if same:
        calls = [call for call in heard if not call.again]
        sites = [_site(call, kind) for call in calls]
        seen = [(site.role, call.weights) for site, call in zip(sites, calls, strict=True)]
    else:
        names = weights if kind == "encoder-decoder" else {"self": "attentions"}
        seen = [(role, w) for role, name in names.items() for w in _listed(plain, name) if w.ndim > 3]
        sites = [Site(role, int(w.shape[1])) for role, w in seen]
    if not sites and not _hidden(plain, kind):
        raise DataError(f"{type(network).__name__} shows neither attention nor hidden states")
    tokens = _checked(seen, kind, type(network).__name__) if sites else None
    scores = not same and any(_unlike_weights(w) for _, w in seen)
    return Layout(
        tuple(sites),
        same,
        "" if same else reason,
        _hidden(plain, kind),
        _causal(seen),
        tokens,
        _vocabulary(network),
        same and _in_blocks(network, inputs, plain, heard),
        scores,
        (*_unusual(type(network).__name__, sites, heard if same else [], scores), *_quantised(network)),
    )


def _quantised(network: PreTrainedModel) -> tuple[str, ...]:
    if not getattr(network, "is_quantized", False):
        return ()
    method = getattr(network.config.quantization_config, "quant_method", "fewer bits")
    library = getattr(method, "value", method)
    return (f"its weights are quantised ({library}), and what is shown is of the quantised model",)


def _unlike_weights(weights: torch.Tensor) -> bool:
    """Whether they are below 0, or rows of the text without padding do not sum to 1."""
    first = weights[0].float()
    return bool((first < 0).any() or ((first.sum(-1) - 1).abs() > 0.02).any())


def _unusual(name: str, sites: list[Site], heard: list[Call], scores: bool) -> tuple[str, ...]:
    notes = []
    if not sites:
        notes.append(f"{name} has no attention; it has hidden states alone")
    if scores:
        notes.append(f"{name} hands over scores before softmax; attention is their softmax")
    if any(call.again for call in heard):
        notes.append(
            f"{name} applies the weights of a layer to several parts of its values; v are of the first, "
            "and what it makes of pairs of heads is not in the weights"
        )
    return tuple(notes)


def _in_blocks(network: PreTrainedModel, inputs: Any, plain: Any, heard: list[Call]) -> bool:
    """Whether two rows at a time come to what all of them come to at once."""
    parts: list[Call] = []
    try:
        with listening(network, parts.append, rows=2):
            ours = forward(network, inputs, hidden=True)
    except Exception as error:
        if not is_fault(error):
            raise
        return False
    begins = [i for i, part in enumerate(parts) if part.start == 0]
    if len(begins) != len(heard):
        return False
    joined = [
        torch.cat([_widened(part.weights, call.weights.shape[3]) for part in parts[begin:end]], dim=2)
        for begin, end, call in zip(begins, [*begins[1:], len(parts)], heard, strict=True)
    ]
    alike = all(_near(a, call.weights) for a, call in zip(joined, heard, strict=True))
    return alike and all(_near(a, b) for a, b in _states(plain, ours))


def _widened(weights: torch.Tensor, keys: int) -> torch.Tensor:
    return torch.nn.functional.pad(weights, (0, keys - weights.shape[3]))


def _near(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal but for rounding: some states of one token are a thousand times those of the others."""
    close = 1e-4 if a.dtype == torch.float32 else 2e-2
    if a.shape != b.shape:
        return False
    largest = max(1.0, float(b.abs().max()))
    return bool((a.float() - b.float()).abs().max() <= close * largest)


def image_shape(config: Any) -> tuple[int, int, int]:
    """Channels, height and width of the images a vision model takes."""
    size = getattr(config, "image_size", None)
    if size is None or not hasattr(config, "patch_size"):
        raise DataError(
            f"{config.model_type!r} does not cut images of one size into patches; it has no tokens"
        )
    height, width = size if isinstance(size, (tuple, list)) else (size, size)
    return int(getattr(config, "num_channels", 3)), int(height), int(width)


def _vocabulary(network: PreTrainedModel) -> int:
    head: Any = network.get_output_embeddings()
    return 0 if head is None else int(head.weight.shape[0])


def probe_inputs(network: PreTrainedModel, kind: str) -> dict[str, torch.Tensor]:
    """Two short rows that any model of this kind can read, the second padded; of a vision model one image."""
    config: Any = network.config
    if kind == "vision":
        shape = image_shape(config)
        pixels = torch.linspace(-1, 1, shape[0] * shape[1] * shape[2], device=network.device)
        return {"pixel_values": pixels.reshape(1, *shape).to(network.dtype)}
    if getattr(network, "main_input_name", "input_ids") != "input_ids":
        raise DataError(
            f"{type(network).__name__} takes {network.main_input_name}; capture takes text or pixels"
        )
    marks = [getattr(config, f"{name}_token_id", None) for name in ("pad", "bos", "eos")]
    # a model may have several ends
    avoided = {one for mark in marks for one in (mark if isinstance(mark, list) else [mark])}
    words: Any = network.get_input_embeddings()
    ids = [i for i in range(min(int(words.weight.shape[0]), 50)) if i not in avoided]
    row = torch.tensor([ids[i % len(ids)] for i in range(SOURCE)], device=network.device)
    mask = torch.ones(2, SOURCE, dtype=torch.long, device=network.device)
    mask[1, -2:] = 0  # masks have to do something, or their absence would go unseen
    inputs = {"input_ids": row.repeat(2, 1), "attention_mask": mask}
    if kind == "encoder-decoder":
        inputs["decoder_input_ids"] = row[:TARGET].repeat(2, 1)
    return inputs


def _same(plain: Any, ours: Any) -> bool:
    """Equal bits; on a GPU, whose sums may come in any order, equal to 1e-4."""
    pairs = _states(plain, ours)
    if pairs and pairs[0][0].device.type == "cpu":
        return all(torch.equal(a, b) for a, b in pairs)
    return all(torch.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in pairs)


def _states(plain: Any, ours: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The hidden states of two runs, side by side."""
    return [
        (a, b)
        for name in _HIDDEN.values()
        for a, b in zip(_listed(plain, name), _listed(ours, name), strict=True)
    ]


_HIDDEN = {"self": "hidden_states", "encoder": "encoder_hidden_states", "decoder": "decoder_hidden_states"}


def _listed(output: Any, name: str) -> list[torch.Tensor]:
    found = getattr(output, name, None)
    return [] if found is None else [tensor for tensor in found if tensor is not None]


def _hidden(output: Any, kind: str) -> dict[str, tuple[int, int]]:
    roles = ("encoder", "decoder") if kind == "encoder-decoder" else ("self",)
    listed = {role: _listed(output, _HIDDEN[role]) for role in roles}
    return {role: (len(states), int(states[0].shape[-1])) for role, states in listed.items() if states}


def _site(call: Call, kind: str) -> Site:
    queries, keys = call.weights.shape[2:]
    role = "self"
    if kind == "encoder-decoder":
        role = "cross" if queries != keys else "encoder" if queries == SOURCE else "decoder"
    return Site(
        role,
        int(call.query.shape[1]),
        int(call.query.shape[-1]),
        int(call.value.shape[-1]),
        call.scaling,
        call.softcap,
        call.biased,
        call.sink,
    )


def _checked(seen: list[tuple[str, torch.Tensor]], kind: str, name: str) -> int | None:
    """Every call must attend over all tokens, or its weights are no token × token matrix."""
    shapes = {"self": (SOURCE, SOURCE), "encoder": (SOURCE, SOURCE), "decoder": (TARGET, TARGET)}
    shapes["cross"] = (TARGET, SOURCE)
    if kind == "vision":
        count = int(seen[0][1].shape[-1])
        shapes = {"self": (count, count)}
    for role, weights in seen:
        if weights.ndim != 4 or tuple(weights.shape[2:]) != shapes[role]:
            raise DataError(
                f"the attention of {name} has shape {tuple(weights.shape)}, not one weight for every pair "
                "of tokens; such models cannot be captured"
            )
    return shapes["self"][0] if kind == "vision" else None


def _causal(seen: list[tuple[str, torch.Tensor]]) -> dict[str, bool]:
    causal: dict[str, bool] = {}
    for role, weights in seen:
        if role != "cross":
            ahead = torch.triu(weights[0].float(), diagonal=1)
            causal[role] = causal.get(role, True) and not bool(ahead.any())
    return causal
