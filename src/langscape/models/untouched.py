"""A network that is run and then left as it was: mode, compiled calls and hooks, also after an exception."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_INSTALLED = "_output_capturing_hooks_installed"
"""Where transformers notes that it has put hooks for hidden states on a model, which it never takes off."""


@contextmanager
def untouched(network: torch.nn.Module) -> Iterator[None]:
    """Within, the network is in eval mode and not compiled; afterwards all is as it was."""
    modules = list(network.modules())
    training = [one for one in modules if one.training]
    # `network.compile()` puts a compiled call in place, which would not see attention change hands
    compiled: dict[torch.nn.Module, Any] = {
        one: one._compiled_call_impl for one in modules if one._compiled_call_impl
    }
    hooks = [set(one._forward_hooks) for one in modules]
    fresh = [one for one in modules if _INSTALLED not in vars(one)]
    try:
        for one in training:
            one.training = False
        for one in compiled:
            one._compiled_call_impl = None
        yield
    finally:
        for one in training:
            one.training = True
        for one, call in compiled.items():
            one._compiled_call_impl = call
        for one, before in zip(modules, hooks, strict=True):
            for key in set(one._forward_hooks) - before:
                del one._forward_hooks[key]
        for one in fresh:
            vars(one).pop(_INSTALLED, None)
