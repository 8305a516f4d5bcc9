"""Settings of maps for the tests."""

SHORT = {"steps": 60, "perplexity": 10}
"""Of a map that takes no time."""

ENDLESS = {"steps": 20_000, "restarts": 100, "perplexity": 30, "limit": 900}
"""Of a map that nobody waits for."""
