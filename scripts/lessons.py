"""Five lessons for a class, one page each: `python -m scripts.lessons FOLDER [NAME…]`.

Every number that a page calls true is computed here, from the models and words of the package.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import langscape
from langscape import Edit, capture, open_model, views
from langscape.metrics import neighbours_on
from langscape.sources import samples
from langscape.views.lesson import Step, write_lesson

TEXT = (
    "Marta keeps a small bakery by the harbour, and her brother Jonas repairs boats two doors down. "
    "Every morning Marta carries Jonas bread and coffee, because Jonas forgets to eat when he works."
)
BEFORE, AFTER, ITSELF, ELSEWHERE = (
    "the token before it",
    "the token after it",
    "itself",
    "the same word elsewhere",
)


def percent(value: float) -> float:
    """A share as people read it."""
    return round(100 * float(value))


def place(query: int, key: int, labels: tuple[str, ...]) -> str:
    """Where a key stands, seen from a query."""
    if key == query:
        return ITSELF
    if key in (query - 1, query + 1):
        return BEFORE if key < query else AFTER
    return ELSEWHERE if labels[key] == labels[query] else f"“{labels[key]}”"


def attention(path: Path) -> None:
    """What attention looks at."""
    first = langscape.head("default", TEXT, layer=0, head=2, restarts=2, steps=300)
    same = langscape.head("default", TEXT, layer=2, head=9, restarts=2, steps=300)
    labels = first.capture.tokens.labels
    n = len(labels)
    weights = first.capture["attention"][0, 0]
    again = same.capture["attention"][0, 0]
    jonas = labels.index("jonas", labels.index("jonas") + 1)
    text = range(1, n - 1)
    previous = float(np.mean([weights[i, i - 1] for i in text]))
    elsewhere = [i for i in text if labels.count(labels[i]) > 1]
    repeated = float(
        np.mean([sum(again[i, j] for j in text if j != i and labels[j] == labels[i]) for i in elsewhere])
    )
    model = open_model("default")
    plain = capture(model, TEXT, want=("hidden",))["hidden"][-1]
    without = capture(model, TEXT, want=("hidden",), edits=[Edit.head(0, 2, to="mean")])["hidden"][-1]
    moved = float(np.linalg.norm(without - plain, axis=1).mean() / np.linalg.norm(plain, axis=1).mean())
    quality = first.map.quality  # type: ignore[union-attr]
    matrix, thread = (
        first.matrix(title="Head 0.2: who attends to whom"),
        first.scatter(color="position", title="Head 0.2: map"),
    )
    steps = [
        Step(
            f"MiniLM read two sentences about Marta and Jonas, {n} tokens with its own [CLS] and [SEP]. In an attention head every token shares "
            "out 100 % of its attention among all tokens.",
            "If a head shared it out evenly, how many per cent would each token get?", round(100 / n, 1),
            f"100 % over {n} tokens. This is what chance gives; anything far above it is a choice of the head.",
            matrix, unit="%", within=0.6, look="The matrix of one head: a row for each token that looks, a column for each that is looked at. It is far from even.",
        ),
        Step(
            "This is head 2 of layer 0. Its rows have one dark cell each.", "Which token does the second “jonas” attend to most?",
            place(jonas, int(weights[jonas].argmax()), labels),
            f"It gives {percent(weights[jonas].max())} % to “{labels[int(weights[jonas].argmax())]}”.", matrix,
            (BEFORE, AFTER, ITSELF, ELSEWHERE), look="Find the row “jonas” and its dark cell; or focus the matrix and use the arrow keys.",
        ),
        Step(
            "All rows look alike in this head.", "How much of their attention do tokens of the text give to the token before them, on average?", percent(previous),
            "A head that does one thing nearly always is called by it: a previous-token head.", matrix, unit="%", within=15, shown=True,
            look="The dark cells lie just below the diagonal.",
        ),
        Step(
            "A map draws tokens together that attend to each other. A head that always looks one token back becomes a thread: each token is tied to the one before.",
            "Of each token's ten strongest partners, how many are among its ten nearest on this map, on average?", round(10 * float(quality["kept"]), 1),
            f"A map of shuffled attention keeps {10 * float(quality['kept_null']):.1f} of ten, so this one is better than nothing and far from perfect: "
            "with forty tokens there are not ten real partners to keep.",
            thread, unit="of 10", within=1.0, look="Follow the thread from the first token to the last.",
        ),
        Step(
            "Now head 9 of layer 2, over the same text. “jonas” occurs three times, “marta” twice.",
            "Words that occur again: how much attention do they give to their other places?", percent(repeated),
            f"By chance it would be about {percent(1.5 / n)} %. No rule told the model to do so.", same.scatter(color="position", title="Head 2.9: map"), unit="%", within=12,
            look="Equal words lie together. Search for jonas.",
        ),
        Step(
            "Attention shows where a head looks. Does the model need it? Put the head's own average in its place, and run the model again.",
            "By how much do the last hidden states move when head 0.2 is taken away?", percent(moved),
            "Small, although the head is so regular: a clear pattern is not yet an important one.", thread, unit="% of their length", within=5, shown=True,
            look="The map would not tell you this: it shows weights, not effects.",
        ),
    ]  # fmt: skip
    write_lesson(
        "What attention looks at",
        "You will predict first and look afterwards. A wrong prediction is the better one: it shows you something.",
        steps,
        path,
    )


def sinks(path: Path) -> None:
    """Why one token soaks up attention."""
    kept = langscape.head(
        "default", TEXT, layer=4, head=5, special="keep", sinks="keep", restarts=2, steps=300
    )
    dropped = langscape.head("default", TEXT, layer=4, head=5, restarts=2, steps=300)
    atlas = langscape.atlas("default", TEXT, restarts=2, steps=300)
    table = atlas.to_pandas()
    weights, labels = kept.capture["attention"][0, 0], kept.capture.tokens.labels
    mean = weights.mean(axis=0)
    most = int(mean.argmax())
    model = open_model("default")
    plain = capture(model, TEXT, want=("hidden",))["hidden"][-1]

    def effect(layer: int, head: int) -> float:
        gone = capture(model, TEXT, want=("hidden",), edits=[Edit.head(layer, head, to="mean")])["hidden"][-1]
        return float(np.linalg.norm(gone - plain, axis=1).mean() / np.linalg.norm(plain, axis=1).mean())

    sink, regular = effect(4, 5), effect(0, 2)
    many = int((table["parked"] > 1 / 3).sum())
    matrix = kept.matrix(title="Head 4.5: who attends to whom")
    star, rest = (
        kept.scatter(title="Head 4.5 with its sink"),
        dropped.scatter(title="Head 4.5 without its sink"),
    )
    steps = [
        Step(
            f"MiniLM read two sentences, {len(labels)} tokens. The first is [CLS], the last [SEP]: the tokenizer put them there, and they mean nothing.",
            "Which token gets most of the attention in head 5 of layer 4?", labels[most],
            f"On average every token gives it {percent(mean[most])} %. Even sharing would be {percent(1 / len(labels))} %.", matrix,
            tuple(dict.fromkeys(["[CLS]", "[SEP]", "jonas", "marta", labels[most]])), look="One column of the matrix is dark from top to bottom.",
        ),
        Step(
            "A softmax must share out 100 %, even when nothing in the text fits what the head looks for.",
            f"How much of its attention does “jonas” give to {labels[most]}?", percent(weights[labels.index("jonas"), most]),
            "A head with nothing to do has to put its attention somewhere. A token that means nothing is a good place: what is taken from there hardly changes anything.",
            matrix, unit="%", within=15, shown=True, look="Go along the row “jonas”.",
        ),
        Step("There are 72 heads in this model.", "How many of them park more than a third of their attention like this, on this text?", many,
             "It is the rule, not the exception.", atlas.view("All 72 heads"), unit="of 72", within=8, look="Sort the tiles by “Weight on sinks”."),
        Step("A map draws together what attends to each other. Now one token is tied to all.", "What will the map of this head look like?", "a star around one token",
             "Everything is tied to the sink, and so everything lies around it. The map shows the sink and nothing else.", star,
             ("a thread", "a star around one token", "two islands"), look="Find the token in the middle."),
        Step("langscape leaves such tokens off unless it is asked to keep them, and says how much weight lay there.",
             "Without the sink, how much of its attention does this head leave for the map?", percent(1 - float(table.loc[53, "parked"])),
             "Little is left: read such a map with care. A note on it says how much is parked.", rest, unit="%", within=10, look="Read the note below the scores."),
        Step("Last, take the head away and put its average in its place. Compare with head 0.2, which looks at the previous token.",
             "Which head's removal moves the last hidden states more?", "head 4.5, the sink" if sink > regular else "head 0.2, the previous token",
             f"Head 4.5 moves them by {percent(sink)} % of their length, head 0.2 by {percent(regular)} %. How strongly a head attends says little about how much it matters.",
             rest, ("head 4.5, the sink", "head 0.2, the previous token"), shown=True, look="You cannot see this in a map of attention."),
    ]  # fmt: skip
    write_lesson(
        "Why one token soaks up attention",
        "Many heads give most of their attention to a token that means nothing. Find out why.",
        steps,
        path,
    )


def clouds(path: Path) -> None:
    """Words as points and as clouds."""
    found = langscape.ellipses(most=20, contexts=20, perplexity=5)
    gaussians = found.gaussians
    spread = gaussians.variances.sum(axis=1)
    labels = gaussians.labels
    order = np.argsort(spread)[::-1]
    picked = [labels[order[0]], labels[order[len(order) // 2]], labels[order[-1]]]
    few = int(gaussians.counts.min())
    held = float(found.map.quality.get("area_held", np.nan))
    null = float(found.map.quality.get("area_held_null", 0.0))
    picture = found.view(title="Twenty words as clouds of their contexts")
    steps = [
        Step(
            f"MiniLM read the sample texts. For each of {len(labels)} words it made a vector in every sentence where the word stands, up to 20 of them.",
            "How many vectors does the word with the fewest have?", few,
            "A word in a static file has one vector. Here it has as many as contexts; with few of them everything below is a guess.", picture, unit="contexts", within=2,
            look="Each ellipse is one word: in the middle the mean of its vectors, around it how much they differ. Click one to read its contexts.",
        ),
        Step("A large ellipse is a word whose contexts differ much.", f"Which of these three has the largest cloud: {', '.join(sorted(picked))}?", picked[0],
             "Its vectors differ most from sentence to sentence. That may be many meanings, or many kinds of sentences: size alone does not say which.", picture, tuple(sorted(picked)), shown=True,
             look="Find the three words by their names, or type them into the search."),
        Step("The clouds have 384 dimensions, the picture two.", "How many times larger is the largest variance than the smallest?", round(float(spread.max() / spread.min()), 1),
             "The areas are drawn in just this ratio: one factor for the whole map.", picture, unit="times", within=1.0, shown=True, look="Compare the largest ellipse with the smallest by eye."),
        Step("Is the size a property of the word, or an accident of these sentences? Draw the sizes from one half of the contexts and compare with the other half: 1 is perfect agreement, 0 is chance.",
             "What is that held-out correlation?", round(held, 2),
             f"Halves of different words agree by {f'{null:.2f}'.replace('-', '−')}. Look at this number before you believe a size.", picture, within=0.15, shown=False, look="It is the first score on the picture."),
        Step("Two words have clouds of the same size. One is used in a single way in many kinds of sentences; the other has two quite different meanings.",
             "Can you tell them apart by their ellipses?", "no",
             "An ellipse is a mean and a spread. Two lumps and one wide cloud can have the same ones. Read the contexts.", picture, ("yes", "no"), shown=True, look="Click two ellipses of similar size and read their contexts."),
    ]  # fmt: skip
    write_lesson(
        "Words as points and as clouds",
        "A word on a map is usually a point. Here it is a cloud.",
        steps,
        path,
    )


def lstm(path: Path) -> None:
    """How an LSTM remembers."""
    model = open_model("lstm-tiny")
    dogs, dog = capture(model, "the dogs near a cat"), capture(model, "the dog near a cat")
    picture = langscape.flow("lstm-tiny", "the dogs near a cat").view(title="the dogs near a cat")
    other = langscape.flow("lstm-tiny", "the dog near a cat").view(title="the dog near a cat")
    chance = {name: seen["softmax"][-1] for name, seen in (("dogs", dogs), ("dog", dog))}
    plural = [model.words.index(word) for word in ("bark", "chase", "sing", "sleep") if word in model.words]
    difference = abs(dogs["cell"][0, -1] - dog["cell"][0, -1])
    unit = int(difference.argmax())
    steps_of = dogs.tokens.labels
    swapped = dog["cell"][0, -1].copy()
    swapped[unit] = dogs["cell"][0, -1, unit]
    weights = model.weights()
    logits = weights["decoder"] @ (dog["output"][0, -1] * np.tanh(swapped)) + weights["decoder_bias"]
    after = np.exp(logits - logits.max())
    after /= after.sum()
    best = model.words[int(chance["dogs"].argmax())]
    steps = [
        Step("This network knows twenty words and has seven units. It reads one word after the other and says which word comes next. It has read: the dogs near a cat.",
             "Which word does it expect next?", best,
             f"It gives “{best}” {percent(chance['dogs'].max())} %. A cat chases, but the dogs chase: it remembers a word that it read three steps ago.",
             picture, tuple(dict.fromkeys(["chases", "chase", "cat", best])), look="Step to “cat” with the arrow keys. The expected words stand at the right end."),
        Step("All verbs of the network are singular or plural.", "How much does it give to all plural verbs together?", percent(chance["dogs"][plural].sum()),
             "It is sure of the number, and less of the verb.", picture, unit="%", within=10, shown=False, look="Add up the plural verbs."),
        Step("Now it reads: the dog near a cat. One letter less.", "How much does it give to plural verbs now?", percent(chance["dog"][plural].sum()),
             "So something inside differs between the two readings, and survived three words.", other, unit="%", within=10, look="Step to “cat” again."),
        Step("What survives is in the cell, seven numbers. Before the noun both readings are the same.",
             "In how many of the seven units do the cells differ by more than 1 after “cat”?", int((difference > 1).sum()),
             f"Unit {unit} differs most, by {difference[unit]:.1f}. What looks like one memory is kept in several places.", picture, unit="units", within=1, look="Compare the boxes “cell” of both readings; step with ← and →."),
        Step("The forget gate says how much of the old cell is kept: 1 is all, 0 is nothing.", f"How much of unit {unit} does the network keep at “near”, between noun and verb?",
             round(float(dogs["forget"][0, steps_of.index("near"), unit]), 2), "It holds on to what it needs. At the full stop that begins a sentence it keeps nothing.",
             picture, within=0.1, shown=True, look="Step to “near” and look at the box of the forget gate."),
        Step(f"Now exchange one number: put unit {unit} of the reading with “dogs” into the reading with “dog”, and leave everything else.",
             "How much does the network give to plural verbs now?", percent(after[plural].sum()),
             "One number out of seven turns singular into plural. That is a test; that the number differed was only a hint.", other, unit="%", within=15, shown=True, look="Think first: is one number enough?"),
    ]  # fmt: skip
    write_lesson(
        "How an LSTM remembers",
        "An LSTM reads word by word and keeps what it needs in a cell. Find the place.",
        steps,
        path,
    )


def trust(path: Path) -> None:
    """How far to trust a map."""
    words = samples.words(groups_only=True)
    made = {p: langscape.look(words, perplexity=p) for p in (5, 30, 100)}
    local = {p: float(one.quality["local"]) for p, one in made.items()}
    pictures = {
        p: views.scatter(one, color="group", title=f"631 words, perplexity {p}") for p, one in made.items()
    }
    row = made[30].labels.index("georgia")
    found = {p: neighbours_on(one) for p, one in made.items()}
    kept = {p: int(one.kept[row]) for p, one in found.items()}
    false = [made[30].labels[other] for other in found[30].near[row][found[30].false[row]]]
    noise = langscape.look(np.random.default_rng(0).normal(size=(631, 100)), perplexity=30)
    best = max(local, key=lambda p: local[p])
    never = int(
        sum(bool(max(int(one.kept[i]) for one in found.values()) <= 2) for i in range(len(words.words)))
    )
    steps = [
        Step("631 words with 100 numbers each, drawn on a plane. Of the ten words that are most like a word, some are among its ten nearest here: these were kept. The others that lie near are false neighbours.",
             "What share of their ten neighbours do words keep on this map, on average?", percent(local[30]),
             f"A layout without the data keeps {percent(float(made[30].quality['local_null']))} %. So the map is far better than nothing, and nearly every second neighbour on it is false.",
             pictures[30], unit="%", within=8, shown=True, look="Now the scores stand on the picture: “local” is the one."),
        Step("“georgia” is a country and a state. It has ten true neighbours among the 631 words.", "How many of them lie near it on the map?", kept[30],
             f"It lies among {', '.join(false[:3])}. Conclude nothing from where it lies.", pictures[30], unit="of 10", within=1, shown=False, look="Search for georgia and click it: solid lines are kept, dashed ones missing, crosses false."),
        Step("t-SNE has a setting, perplexity: about how many neighbours count. The same words at perplexity 5.", "Does this map keep more of ten neighbours, or fewer?",
             "more" if local[5] > local[30] else "fewer", f"{percent(local[5])} % instead of {percent(local[30])} %. The islands have other shapes: shapes come from the setting as much as from the words.",
             pictures[5], ("more", "fewer"), shown=True, look="Compare the islands with those before."),
        Step("And at perplexity 100.", "Which of the three maps keeps most?", f"perplexity {best}",
             f"5: {percent(local[5])} %, 30: {percent(local[30])} %, 100: {percent(local[100])} %. Try several and measure; do not take the prettiest.",
             pictures[100], tuple(f"perplexity {p}" for p in made), shown=True, look="Look at the score on the picture."),
        Step("Perhaps another setting mends “georgia”?", "How many of its ten neighbours does the best of the three maps keep?", max(kept.values()),
             f"5: {kept[5]}, 30: {kept[30]}, 100: {kept[100]}. And {never} of the 631 words keep two or fewer on all three maps. A plane has no room for a word that belongs to two places; no setting mends that.",
             pictures[100], unit="of 10", within=1, shown=False, look="Click georgia again."),
        Step("Last, 631 rows of random numbers. There is nothing to find.", "What share of neighbours does t-SNE keep of nothing?", percent(float(noise.quality["local"])),
             "It draws together what it can, even by chance, and the picture has lumps. That is why every score stands beside that of a picture without the information.",
             views.scatter(noise, title="Random numbers"), unit="%", within=5, shown=True, look="Would you have known?"),
    ]  # fmt: skip
    write_lesson(
        "How far to trust a map",
        "A map of words always looks convincing. Find out how much of it is true.",
        steps,
        path,
    )


LESSONS = {"attention": attention, "sinks": sinks, "clouds": clouds, "lstm": lstm, "trust": trust}
"""What makes each lesson, by its name."""


def main(folder: Path, names: list[str]) -> None:
    """Write the lessons, those of `names` or all."""
    from langscape.models import get_model

    folder.mkdir(parents=True, exist_ok=True)
    get_model("default")
    for name in names or LESSONS:
        print(name, file=sys.stderr, flush=True)
        LESSONS[name](folder / f"{name}.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
