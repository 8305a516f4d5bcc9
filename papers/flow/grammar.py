"""Sentences of twenty words about animals: small enough to follow by eye, with something to remember.

A verb agrees in number with a subject that may stand some words back ("the dogs near a cat bark ."), and who
does what is not arbitrary: dogs bark and chase cats, cats sleep and chase birds, birds sing and see all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

WORDS = (
    ".", "the", "a", "small", "dog", "dogs", "cat", "cats", "bird", "birds",
    "barks", "bark", "sleeps", "sleep", "sings", "sing", "chases", "chase", "that", "near",
)  # fmt: skip
ANIMALS = ("dog", "cat", "bird")
OWN = {"dog": "bark", "cat": "sleep", "bird": "sing"}
PREY = {"dog": "cat", "cat": "bird", "bird": "dog"}


def sentences(count: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """So many sentences, and the surprise of each in nats: what the choices made in it cost."""
    chance = np.random.default_rng(seed)
    made = [_Sentence(chance) for _ in range(count)]
    return [one.told() for one in made], np.array([one.surprise for one in made])


def least_perplexity(lines: Sequence[str], surprises: np.ndarray) -> float:
    """The perplexity of some sentences that nobody can beat who knows only what came before."""
    return math.exp(float(np.sum(surprises)) / sum(len(line.split()) for line in lines))


class _Sentence:
    """One sentence being made, with the surprise in nats of every choice."""

    def __init__(self, chance: np.random.Generator) -> None:
        self.chance, self.words, self.surprise = chance, [], 0.0

    def told(self) -> str:
        animal, many = self.noun_phrase()
        self.verb_phrase(animal, many)
        return " ".join([*self.words, "."])

    def choose(self, share: float) -> bool:
        """True with that share."""
        yes = bool(self.chance.random() < share)
        self.surprise -= math.log(share if yes else 1 - share)
        return yes

    def noun_phrase(self, deep: int = 0, animal: str | None = None) -> tuple[str, bool]:
        many = bool(self.chance.random() < 0.5)
        # what is heard of the number in the article: "a" is always one
        article = "a" if not many and self.chance.random() < 0.5 else "the"
        shares = {"a": 0.25, "the": 0.75}
        self.surprise -= math.log(shares[article])
        self.words.append(article)
        if self.choose(0.25):
            self.words.append("small")
        if article == "the":  # "the" with one: 0.25 of all, with many: 0.5
            self.surprise -= math.log(2 / 3 if many else 1 / 3)
        if animal is None:
            animal = ANIMALS[int(self.chance.integers(3))]
            self.surprise -= math.log(1 / 3)
        self.words.append(animal + ("s" if many else ""))
        if deep == 0:
            if self.choose(0.25):
                self.words.append("near")
                self.noun_phrase(1)
            elif self.choose(1 / 3):
                self.words.append("that")
                self.words.append("chase" if many else "chases")
                self.noun_phrase(1, PREY[animal])
        return animal, many

    def verb_phrase(self, animal: str, many: bool) -> None:
        if self.choose(0.5):
            self.words.append(OWN[animal] + ("" if many else "s"))
        else:
            self.words.append("chase" if many else "chases")
            self.noun_phrase(1, PREY[animal])
