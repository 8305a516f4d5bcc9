"""The attack: every promise about bad input and bad luck, tried with a budget, and counted.

`python -m tests.attack` prints promise → tried → result; `make attack` is the full budget, and the tests of
this folder are the small one, with the same code and the same seeds.

mutations   bytes, JSON and containers, damaged on purpose and by a seed
specimens   small good files of every format
targets     every reader, what it is given, and what must hold of what it gives back
child       reads mutants in a process with limits; runner knows which mutant ended it
readers, bombs, guard, requests, scripts, kills, disk, load   the campaigns
report      the table, and its place in docs/reliability.md
"""

import sys
from pathlib import Path

# The steps of tests/run/chores.py go by one name, here and in worker processes.
sys.path.insert(0, str(Path(__file__).parents[1] / "run"))
