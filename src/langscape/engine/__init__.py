"""Affinities → Map: the t-SNE engines, starts, and everything that places points."""

from langscape.engine.colour import WordColours, colours
from langscape.engine.embed import embed, embed_many
from langscape.engine.insert import insert
from langscape.engine.layouts import lay_out
from langscape.engine.pca import pca, principal
from langscape.engine.schedule import Schedule

__all__ = [
    "Schedule",
    "WordColours",
    "colours",
    "embed",
    "embed_many",
    "insert",
    "lay_out",
    "pca",
    "principal",
]
