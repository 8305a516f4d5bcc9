"""The store for which something is being computed: what it needs on the way is looked up and kept there.

And the checkpoint of what is being computed, where it can keep how far it is.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langscape.data import Checkpoint
    from langscape.store.store import Store

CURRENT: ContextVar[Store | None] = ContextVar("current_store", default=None)
CHECKPOINT: ContextVar[Checkpoint | None] = ContextVar("current_checkpoint", default=None)


def current_store() -> Store:
    """That store, or the user's own."""
    from langscape.store.store import Store

    return CURRENT.get() or Store()


def current_checkpoint() -> Checkpoint | None:
    """Where the result that is being computed keeps how far it is; None for one that is not stored."""
    return CHECKPOINT.get()
