"""Every ask by name: one file and one line each."""

from __future__ import annotations

from langscape.declarations import analyses
from langscape.errors import SettingsError
from langscape.studio.asks.ask import Ask, Given, Later, Made, Picture, Wanted
from langscape.studio.asks.declared import ask_of
from langscape.studio.asks.setting import Setting

__all__ = ["ASKS", "Ask", "Given", "Later", "Made", "Picture", "Setting", "Wanted", "find_ask"]

ASKS: dict[str, Ask] = {
    ask.name: ask for ask in (ask_of(one) for one in analyses().values() if not one.hidden)
}


def find_ask(name: object) -> Ask:
    """The ask of that name."""
    if not isinstance(name, str) or name not in ASKS:
        raise SettingsError(f"there is no ask {str(name)[:60]!r}; there are {', '.join(ASKS)}")
    return ASKS[name]
