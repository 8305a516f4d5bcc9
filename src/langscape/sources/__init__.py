"""Files and packages → words and vectors.

read_vectors     word vectors of seven formats, whole or a chosen few
write_vectors    the same, written back
read_word_list   the words to map, with their groups
match_words      which row of the vectors each word of a list means
sentences        a text cut into sentences
samples          5,000 words with vectors, and texts, inside the package
"""

from langscape.sources import samples
from langscape.sources.matching import Matches, match_words
from langscape.sources.sentences import sentences
from langscape.sources.vectors import Vectors, read_vectors
from langscape.sources.wordlist import WordList, read_word_list
from langscape.sources.write import write_vectors

__all__ = [
    "Matches",
    "Vectors",
    "WordList",
    "match_words",
    "read_vectors",
    "read_word_list",
    "samples",
    "sentences",
    "write_vectors",
]
