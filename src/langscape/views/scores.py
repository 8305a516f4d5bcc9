"""What scores of heads are called and mean, in plain sentences."""

from __future__ import annotations

# name: (label, sentence)
_KNOWN = {
    "kl": (
        "Map KL",
        "Information that this head’s map loses about who attends to whom, in nats; 0 would be a "
        "perfect copy.",
    ),
    "kl_sd": (
        "Spread of KL",
        "Standard deviation of the KL over restarts: large means that the map depends on where it began.",
    ),
    "kl_spread": (
        "Spread of KL",
        "How far the KL of the restarts lies apart: large means that the map depends on where it began.",
    ),
    "stability": (
        "Spread over restarts",
        "How far a token moves from restart to restart, in units of the map’s radius; near 0 is stable.",
    ),
    "max_attention": (
        "Mean of maximum attention",
        "For each token the largest weight it gets, averaged: 1 means that someone looks at every "
        "token with all its weight.",
    ),
    "entropy": (
        "Entropy",
        "How widely a query spreads its weight, averaged over queries: 0 looks at one token, "
        "larger looks at many.",
    ),
    "sink": (
        "Sink share",
        "Weight that goes to the first or to separator tokens, averaged over queries.",
    ),
    "sink_share": (
        "Sink share",
        "Weight that goes to the first or to separator tokens, averaged over queries.",
    ),
    "chain": (
        "Chain score",
        "How well following the strongest weight from token to token reads the text in order.",
    ),
    "previous_token": (
        "Previous token",
        "Weight on the token just before, averaged over queries.",
    ),
    "next_token": (
        "Next token",
        "Weight on the token just after, averaged over queries.",
    ),
    "same_token": (
        "Same token",
        "Weight on other places of the same token, averaged over queries that have one.",
    ),
    "first_token": (
        "First token",
        "Weight on the first token, averaged over queries.",
    ),
    "separator": (
        "Separator",
        "Weight on separator tokens, averaged over queries.",
    ),
    "local": (
        "Local band",
        "Weight on tokens at most a few places away, averaged over queries.",
    ),
    "induction": (
        "Induction",
        "On repeated text: weight on the token that followed last time, averaged over queries.",
    ),
    "broad": (
        "Broad",
        "How close to even the weights are: 1 looks at everything alike.",
    ),
    "mixing": (
        "Mixing",
        "Modulus of the second eigenvalue of attention as a chain: near 0 forgets at once, near 1 stays.",
    ),
}


def described_score(name: str, meaning: str | None = None) -> dict[str, str]:
    """Name, label and sentence of a score; a sentence given is taken instead of the known one."""
    label, known = _KNOWN.get(name, (name.replace("_", " ").capitalize(), ""))
    return {"name": name, "label": label, "meaning": known if meaning is None else meaning}
