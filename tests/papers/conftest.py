from __future__ import annotations

import sys
from pathlib import Path

# papers stands beside src and is not installed; worker processes inherit the path.
sys.path.insert(0, str(Path(__file__).parents[2]))
