"""Files: whole or not at all, every size checked, nothing in them ever executed."""
