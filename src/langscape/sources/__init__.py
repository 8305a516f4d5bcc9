"""Files and packages → words and vectors.

read_vectors     word vectors of seven formats, whole or a chosen few
write_vectors    the same, written back
read_word_list   the words to map, with their groups
match_words      which row of the vectors each word of a list means
sentences        a text cut into sentences
corpus           texts to look words up in, with the contexts of each
stream_texts     many texts one after another: sentences of files, rows of tables and lists
get_corpus       corpora that come in packages, fetched once
tables           a table with several rows per individual as Gaussians
samples          5,000 words with vectors, and texts, inside the package
"""

from langscape.sources import samples, tables
from langscape.sources.corpora import corpus_path, get_corpus, packaged_corpora
from langscape.sources.corpus import Corpus, corpus
from langscape.sources.sentences import sentences
from langscape.sources.texts import stream_texts
from langscape.sources.vectors import Vectors, read_vectors
from langscape.sources.word_lookup import Matches, match_words
from langscape.sources.wordlist import WordList, read_word_list
from langscape.sources.write import write_vectors

__all__ = [
    "Corpus",
    "Matches",
    "Vectors",
    "WordList",
    "corpus",
    "corpus_path",
    "get_corpus",
    "match_words",
    "packaged_corpora",
    "read_vectors",
    "read_word_list",
    "samples",
    "sentences",
    "stream_texts",
    "tables",
    "write_vectors",
]
