"""What is usual of an LSTM over a text, as `metrics.lstm_baseline` reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from langscape.io.codec import noun

MEANS = ("input", "forget", "output", "written", "cell")
"""What means are kept of: the gates of a unit, what it writes (input · candidate), and its cell."""


@noun
@dataclass(frozen=True, eq=False)
class LSTMBaseline:
    """An LSTM over a text, read in one go; `surprise`, `means` and what follows it say what else is read.

    text       what was read, in words
    steps      how many words of it
    gates      lowest, mean and highest value of every gate and of the candidate, (part, 3, layer, unit);
               lowest and highest leave out one step in a hundred
    hidden     lowest and highest hidden value, (2, layer, unit)
    cell       largest size of every cell, (layer, unit)
    logits     how far the logits of a word vary over steps, the mean of all words; and how far the mean
               logits of words differ from each other, whatever was read
    surprise   mean surprise of the next word, in nats, and the largest where every line is read from the
               start, as a prompt is; NaN where no text was read
    entropy    mean surprise that the model itself expects
    counts     the mean surprise of word counts, each half of the text foretold by the other
    read       numbers of the words that were read
    means      the mean of every unit, (`MEANS`, layer, unit), where every line is read from the start
    usual      the range of every cell and every hidden value there, (low and high, cell and hidden, layer,
               unit), which leaves out one step in a hundred at either end
    outside    how many of these values lie outside of their ranges at one step, in all steps but one in a
               hundred: more is not what the model does
    spread     how far every cell varies there, its standard deviation, (layer, unit)
    furthest   of all cells at one step, how far the furthest is from its mean, in its own spread: the median
               of all steps, and what one step in twenty is beyond
    after      words after which every cell is highest, and lowest, and
    told       how much of it they tell, beside shifted words: `metrics.lstm_units.UnitWords`
    """

    text: str
    steps: int
    gates: np.ndarray
    hidden: np.ndarray
    cell: np.ndarray
    logits: tuple[float, float]
    surprise: tuple[float, float]
    entropy: float
    counts: float
    read: np.ndarray
    means: np.ndarray
    usual: np.ndarray
    outside: int
    spread: np.ndarray
    furthest: tuple[float, float]
    after: np.ndarray
    told: np.ndarray

    @property
    def evidence(self) -> str:
        """What was read, as the end of a sentence.

        >>> nothing = np.zeros(0)
        >>> numbers = [*[nothing] * 3, *[(0.0, 0.0)] * 2, 0.0, 0.0, *[nothing] * 3, 0]
        >>> numbers += [nothing, (0.0, 0.0), nothing, nothing]
        >>> LSTMBaseline("its own text", 1500, *numbers).evidence
        'over 1,500 words of its own text'
        """
        return f"over {self.steps:,} words of {self.text}"

    def strays(self, cell: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """How many values of cells and hidden vectors, (layer, row, unit), leave their ranges, per row."""
        found = np.zeros(cell.shape[1], np.int32)
        for at, values in enumerate((cell, hidden)):
            low, high = self.usual[:, at, :, None]
            slack = 1e-4 * (high - low)  # every text begins at one place, which is often the end of a range
            out = (values < low - slack) | (values > high + slack)
            found += np.sum(out, axis=(0, 2), dtype=np.int32)
        return found
