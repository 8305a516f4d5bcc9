"""Make the pictures of the README and the docs again: `python scripts/build_pictures.py`."""

from pathlib import Path

from langscape import affinity, embed, insert, sources, views

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"


def main() -> None:
    words = sources.samples.words(groups_only=True)
    more = sources.samples.words().take(["money", "music", "king", "river", "winter"])
    mapped = embed(affinity.local(words.matrix, 25, items=words.items()))
    grown = insert(mapped, more.matrix, more.words)
    views.write(views.scatter(grown, color="group", title="Sample words"), PICTURES / "words.png")


if __name__ == "__main__":
    main()
