"""Recipe → result: the one way anything long is run, kept, and gone on with.

>>> import tempfile
>>> from langscape.run import Store
>>> Store(tempfile.mkdtemp()).size()
(0, 0)
"""

from langscape.run.recipe import Recipe
from langscape.run.registry import step
from langscape.run.results import Arrays, Table, Writes
from langscape.run.running import Report
from langscape.run.store import Store
from langscape.run.sweep import Sweep

__all__ = ["Arrays", "Recipe", "Report", "Store", "Sweep", "Table", "Writes", "step"]
