"""An opened model: the network, its tokenizer, and what can be known of it beforehand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch

from langscape.errors import MissingError, SettingsError
from langscape.models.optional_dependencies import needs_models
from langscape.models.untouched import untouched
from langscape.models.weights_digest import weights_digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from langscape.models.layout import Layout
    from langscape.models.parts import Parts

Kind = Literal["encoder", "decoder", "encoder-decoder", "vision", "lstm", "gru"]


@dataclass(frozen=True, eq=False)
class Model:
    """A model that `capture` can run.

    network    the Hugging Face model; it runs in eval mode, whatever mode it is in
    tokenizer  None for vision models, and for models without one: give those token ids
    revision   the commit on the Hub, or a digest of configuration and weights
    notes      what was met on opening
    """

    network: PreTrainedModel
    tokenizer: Any
    kind: Kind
    name: str
    revision: str
    notes: tuple[str, ...] = ()
    lock: Any = field(default_factory=threading.RLock, repr=False)

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {self.kind}, {self.layers} layers × {self.heads} heads, {self.device})"

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        return self.network.device

    @cached_property
    def layout(self) -> Layout:
        """Where attention happens in it, found by running it over a few tokens."""
        from langscape.models.layout import probe

        with self.running():
            return probe(self.network, self.kind)

    @cached_property
    def parts(self) -> Parts:
        """Its blocks and MLPs as modules, and whether edits take effect, found by running it."""
        from langscape.models.parts import find_parts

        return find_parts(self)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within, the network is this caller's alone, in eval mode and not compiled; then as it was."""
        with self.lock, untouched(self.network):
            yield

    @property
    def layers(self) -> int:
        """How many layers attend; of an encoder–decoder, its encoder's."""
        return len(self.layout.of(self.layout.roles[0])) if self.layout.roles else 0

    @property
    def heads(self) -> int:
        """Heads of a layer."""
        return self.layout.sites[0].heads if self.layout.sites else 0

    @cached_property
    def longest(self) -> int | None:
        """How many tokens it takes at once; None where only memory limits it."""
        return _longest(self.network)

    @cached_property
    def vocabulary(self) -> int:
        """How many token ids there are."""
        return int(self.network.get_input_embeddings().weight.shape[0])  # type: ignore[union-attr]


def wrap_model(
    network: PreTrainedModel, tokenizer: Any = None, *, name: str | None = None, kind: Kind | None = None
) -> Model:
    """A Hugging Face model you already hold, ready for `capture`, which leaves its mode as it was.

    The revision is a digest of its weights as they are now. Without a tokenizer, give token ids.
    """
    with needs_models():
        from transformers import PreTrainedModel

    if not isinstance(network, PreTrainedModel):
        raise SettingsError(
            f"wrap_model takes a transformers model, not {type(network).__name__}; open_model takes names"
        )
    return Model(
        network,
        tokenizer,
        kind or kind_of(network.config),
        name or type(network).__name__,
        weights_digest(network),
    )


def kind_of(config: Any) -> Kind:
    """Encoder, decoder, both or vision, by what transformers says of the configuration."""
    from transformers.models.auto import modeling_auto

    called = config.model_type
    if (
        getattr(config, "text_config", None) is not None
        and getattr(config, "vision_config", None) is not None
    ):
        raise SettingsError(
            f"{called!r} takes text and images together; open its text or vision part as a model of its own"
        )
    if getattr(config, "is_encoder_decoder", False):
        return "encoder-decoder"
    masked = modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    causal = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if called in modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES:
        return "vision"
    if called in causal and (called not in masked or getattr(config, "is_decoder", False)):
        return "decoder"
    return "encoder"


def chosen_device(device: str) -> torch.device:
    """The device of that name; "auto" is a GPU where there is one."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise SettingsError(
            f'device {device!r} is not known; use "auto", "cpu", "cuda" or "cuda:1"'
        ) from None
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise MissingError(f'device {device!r} is not there; use "cpu", or "auto" to take what there is')
    if chosen.type == "mps" and not torch.backends.mps.is_available():
        raise MissingError(f'device {device!r} is not there; use "cpu", or "auto" to take what there is')
    return chosen


def _longest(network: PreTrainedModel) -> int | None:
    positions = getattr(network.config, "max_position_embeddings", None)  # T5 and BLOOM have none
    if not isinstance(positions, int) or positions <= 0:
        return None
    for name, module in network.named_modules():
        if isinstance(module, torch.nn.Embedding) and "position" in name and module.padding_idx is not None:
            return positions - module.padding_idx - 1  # RoBERTa counts positions from its padding index on
    return positions
