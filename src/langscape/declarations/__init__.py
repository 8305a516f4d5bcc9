"""How an analysis is declared, checked, named and run, whatever face it is asked from."""

from langscape.declarations.declaration import (
    Analysis,
    Execution,
    Finished,
    Input,
    InputParameter,
    Later,
    Parameter,
    Picture,
    Setting,
    analyses,
    analysis,
    declaration_of,
    find_analysis,
    modules,
    picture,
)

__all__ = [
    "Analysis",
    "Execution",
    "Finished",
    "Input",
    "InputParameter",
    "Later",
    "Parameter",
    "Picture",
    "Setting",
    "analyses",
    "analysis",
    "declaration_of",
    "find_analysis",
    "modules",
    "picture",
]
