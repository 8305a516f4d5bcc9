"""The gallery: live pages and figures, each with the lines that made it. `python -m scripts.gallery FOLDER [NAME…]`.

What stands on the page is what is run. Each entry's last line writes a page or figure beside the others;
a small picture for the overview is drawn of the same result.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEFORE = """\
import numpy as np

import langscape
from langscape import affinity, embed, views
from langscape.sources import samples

text = samples.text("harbour")  # 208 tokens; take your own
words = samples.words(groups_only=True)  # 631 words in eleven groups, 100 numbers each
"""


@dataclass(frozen=True)
class Entry:
    """One picture: its part of the gallery, title, the lines that make it, and what to notice."""

    name: str
    part: str
    title: str
    code: str
    notice: str
    ending: str = "html"

    @property
    def files(self) -> tuple[str, str]:
        """The page or figure, and its small picture."""
        return f"{self.name}.{self.ending}", f"{self.name}-small.png"


WORDS, HEADS, PAIRS = "Words", "Attention heads", "Queries and keys"
STATES, CLOUDS, FLOW = "Hidden states and texts", "Distributions", "Flow and interventions"

ENTRIES = (
    Entry(
        "words", WORDS, "Eleven groups of words",
        'made = langscape.look(words, perplexity=25)\nmade.save("words.html", color="group")',
        "Countries and capitals share one island: GloVe knows that they belong together, and less what each of them is. "
        "Click *georgia*.",
    ),
    Entry(
        "five_thousand", WORDS, "Five thousand common words",
        'everything = samples.words()\nmade = langscape.look(everything, perplexity=30)\n'
        'made.save("five_thousand.html")',
        "Search for *january* or *seven*: months and numbers are the tightest islands, since they occur in the "
        "same places.",
    ),
    Entry(
        "inserted", WORDS, "Two words on a finished map",
        'new = samples.words().take(["hospital", "station"])\n'
        'made = langscape.insert(langscape.look(words, perplexity=25), new.matrix, new.words)\n'
        'made.save("inserted.html")',
        "*hospital* lies among nurses and surgeons. *station* is like nothing here, and is marked so.",
    ),
    Entry(
        "georgia", WORDS, "The true neighbours of georgia",
        'made = langscape.look(words, perplexity=25)\nmade.save("georgia.svg", point="georgia")',
        "Dashed lines lead to neighbours that lie elsewhere: *georgia* is a state as well as a country, and a map "
        "has one place for it.",
        "svg",
    ),
    Entry(
        "which_err", WORDS, "Which words lie badly",
        'made = langscape.look(words, perplexity=25)\nmade.save("which_err.html", color="local")',
        "Dark words kept their neighbours, pale ones did not. Edges of islands and words with two meanings are pale.",
    ),
    Entry(
        "perplexity", WORDS, "Perplexity 5 and 100",
        'near, far = (langscape.look(words, perplexity=p) for p in (5, 100))\n'
        'made = [views.scatter(near, title="Perplexity 5"), views.scatter(far, title="Perplexity 100")]\n'
        'views.write(made, "perplexity.html")',
        "Two tabs, one set of vectors. The small perplexity breaks groups into crumbs, the large one rounds them. "
        "Neither is the true one: compare *local* on both.",
    ),
    Entry(
        "local_perplexity", WORDS, "As many neighbours as stand out",
        'made = embed(affinity.local(words.matrix, 25, items=words.items()))\n'
        'made.save("local_perplexity.html", color="score")',
        "Local perplexity, coloured by how many words stand out for each. On these vectors it helps little: compare *local* with the plain map.",
    ),
    Entry(
        "noise", WORDS, "A map of nothing",
        'made = langscape.look(np.random.default_rng(0).normal(size=(300, 50)), perplexity=20)\n'
        'made.save("noise.html")',
        "Random numbers. It looks like a map; *local* says that hardly any neighbour is true.",
    ),
    Entry(
        "atlas", HEADS, "All 72 heads of MiniLM",
        'made = langscape.atlas("default", text, restarts=2)\nmade.save("atlas.html")',
        "Sort by *previous_token*: threads come first. Tiles that say *not to be read* keep no more than a map of "
        "shuffled attention.",
    ),
    Entry(
        "thread", HEADS, "A head that reads the next token",
        'made = langscape.head("default", text, layer=1, head=8)\nmade.save("thread.html")',
        "The tokens lie on a thread in the order of the text. Switch on *Reading thread* and count the crossings.",
    ),
    Entry(
        "same_token", HEADS, "A head that finds the same word again",
        'made = langscape.head("default", text, layer=2, head=9)\nmade.save("same_token.html")',
        "Equal words lie on top of each other. Click one: lines go to its other places in the text.",
    ),
    Entry(
        "sink", HEADS, "A head with its sink",
        'made = langscape.head("default", text, layer=4, head=5, special="keep", sinks="keep")\n'
        'made.save("sink.html")',
        "One token takes most of the weight, and everything else lies around it like a star. langscape leaves such "
        "tokens off unless asked.",
    ),
    Entry(
        "most_attended", HEADS, "How strongly every head attends to every token",
        'made = langscape.max_attention("default", text, first_tokens=60)\nmade.save("most_attended.html")',
        "One strip a head. Columns that are dark in many strips are separators and full stops.",
    ),
    Entry(
        "own_matrix", HEADS, "An attention matrix of your own",
        'weights = np.array([[7, 2, 1, 0], [1, 1, 7, 1], [0, 8, 1, 1], [1, 1, 1, 7]]) / 10\n'
        'made = langscape.look(weights, tokens=["the", "red", "lamp", "hung"])\nmade.save("own_matrix.html")',
        "Any matrix whose rows sum to 1 will do. With four tokens there is no neighbourhood to find, and the page "
        "says so.",
    ),
    Entry(
        "joint", PAIRS, "Queries and keys by attention",
        'made = langscape.query_key("default", samples.text("orchard"), layer=3, head=5, perplexity=10)\n'
        'made.save("joint.html")',
        "Click a query: solid lines lead to keys that lie near, dashed ones to keys that the map lost.",
    ),
    Entry(
        "by_distance", PAIRS, "The same head by distance",
        'orchard = samples.text("orchard")\n'
        'made = langscape.query_key("default", orchard, layer=3, head=5, perplexity=10, by="distance")\n'
        'made.save("by_distance.html")',
        "A word's query lies beside its own key, and the order of attention is lost: compare *query-specific order*.",
    ),
    Entry(
        "two_ways", PAIRS, "One head two ways",
        'made = langscape.query_key_beside("default", samples.text("pattern"), layer=3, head=5)\n'
        'made.save("two_ways.html")',
        "Left the map of the head, right its queries and keys. A token chosen on one side is lit on the other.",
    ),
    Entry(
        "hidden", STATES, "Tokens by their hidden states",
        'made = langscape.hidden("default", text, layer=3)\nmade.save("hidden.html")',
        "In the middle of the model the same word in two sentences already lies in two places.",
    ),
    Entry(
        "layers", STATES, "Layer 1 beside layer 6",
        'made = langscape.compare("default", text, layer=1, other_layer=6)\nmade.save("layers.html")',
        "Early on tokens lie by spelling, late by sentence. The list says what moved most.",
    ),
    Entry(
        "sentences", STATES, "Sentences of a text",
        'sentences = langscape.sources.sentences(samples.text("valley"))[:60]\n'
        'made = langscape.texts("default", sentences, pool="mean")\nmade.save("sentences.html")',
        "Neighbours are about the same thing. The verdict tells whether sixty sentences are enough for a map.",
    ),
    Entry(
        "ellipses", CLOUDS, "Words as clouds of contexts",
        'made = langscape.ellipses(most=20, contexts=20, perplexity=5)\nmade.save("ellipses.html")',
        "A large ellipse is a word whose contexts differ. Click one to read them, and look at how many there are.",
    ),
    Entry(
        "clouds_pca", CLOUDS, "The same clouds, projected",
        'made = langscape.ellipses(most=20, contexts=20, method="pca")\nmade.save("clouds_pca.html")',
        "A flat projection: directions mean something here, and much variance lies outside the plane.",
    ),
    Entry(
        "tiny_lstm", FLOW, "An LSTM of seven units",
        'made = langscape.flow("lstm-tiny", "the dogs near a cat")\nmade.save("tiny_lstm.html")',
        "Step to *cat* with the arrow keys: the network still expects a plural verb. Which bar of the cell kept it?",
    ),
    Entry(
        "lstm", FLOW, "An LSTM of 4,000 words",
        'made = langscape.flow("lstm", "the people of the united states")\nmade.save("lstm.html")',
        "128 units a layer are drawn as sorted strips. The next words are coloured by meaning.",
    ),
    Entry(
        "stream", FLOW, "A sentence through MiniLM",
        'made = langscape.flow("default", "Rain fell on the harbour.")\nmade.save("stream.html")',
        "Each column is a token. The nearest word stays the token itself for some layers, then drifts.",
    ),
    Entry(
        "effects", FLOW, "Which heads matter",
        'made = langscape.effects("default", samples.text("pattern"), how="exact")\nmade.save("effects.html")',
        "Heads that attend strongly and do nothing are far right and at the bottom.",
    ),
)  # fmt: skip


def build(folder: Path, names: list[str]) -> None:
    """Make the pictures, those of `names` or all."""
    from langscape.models import get_model

    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    get_model("default")
    with contextlib.chdir(folder):
        for one in ENTRIES:
            if not names or one.name in names:
                print(one.name, file=sys.stderr, flush=True)
                make(one)


def make(one: Entry) -> None:
    """Run the lines of an entry in the present folder, and draw the small picture."""
    from langscape import views

    held: dict[str, Any] = {}
    exec(compile(BEFORE + one.code, one.name, "exec"), held)
    file, small = one.files
    if isinstance(held["made"], list):  # the tabs of a page; a picture has one
        views.write(held["made"][0], small)
    else:
        exec(one.code.splitlines()[-1].replace(file, small), held)
    if not os.path.getsize(file):
        raise SystemExit(f"{file} is empty")


def overview() -> str:
    """The page of the gallery as Markdown."""
    text = [
        "# Gallery",
        "",
        f"{len(ENTRIES)} pictures of models and words, each with the lines that made it and what to notice. Pages are",
        "live: hover, click, search, zoom. Each is one file that needs no network. All begin with",
        "",
        "```python", *BEFORE.splitlines(), "```", "",
        "and `python -m scripts.gallery FOLDER` makes them again.",
        "",
    ]  # fmt: skip
    for part in dict.fromkeys(one.part for one in ENTRIES):
        text += [f"## {part}", ""]
        for one in ENTRIES:
            if one.part == part:
                file, small = one.files
                text += [f"### {one.title}", "", f"[![{one.title}]({small}){{ .picture }}]({file})", ""]
                text += ["```python", *one.code.splitlines(), "```", "", f"**Notice.** {one.notice}", ""]
                text += [f"[Open the {'page' if one.ending == 'html' else 'figure'}]({file})", ""]
    return "\n".join(text)


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2:])
