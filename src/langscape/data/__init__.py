"""The nouns: Items, Tokens, Capture, Gaussians, Affinities, Map, Flow, View. All frozen, arrays read-only.

`Recipe`, the last, lives in `store/`, which its digest names results in.
"""

from langscape.data.affinities import Affinities
from langscape.data.capture import TOKEN_AXES, Attention, Capture, Side
from langscape.data.edit import EDITED, Edit, edit_of
from langscape.data.flow import Flow
from langscape.data.gaussians import Context, Gaussians
from langscape.data.items import Items
from langscape.data.map import Map
from langscape.data.noun import Noun, frozen
from langscape.data.shown import Shown, Tabular
from langscape.data.step import Checkpoint, Progress, Step
from langscape.data.tokens import Tokens
from langscape.data.view import View

__all__ = [
    "EDITED",
    "TOKEN_AXES",
    "Affinities",
    "Attention",
    "Capture",
    "Checkpoint",
    "Context",
    "Edit",
    "Flow",
    "Gaussians",
    "Items",
    "Map",
    "Noun",
    "Progress",
    "Shown",
    "Side",
    "Step",
    "Tabular",
    "Tokens",
    "View",
    "edit_of",
    "frozen",
]
