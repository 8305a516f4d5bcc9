"""The store for which something is being computed: what it needs on the way is looked up and kept there."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langscape.store.store import Store

CURRENT: ContextVar[Store | None] = ContextVar("current_store", default=None)


def current_store() -> Store:
    """That store, or the user's own."""
    from langscape.store.store import Store

    return CURRENT.get() or Store()
