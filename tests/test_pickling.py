import pickle

import numpy as np

from langscape.data import Affinities, Capture, Items, Map, View


def test_nouns_come_back_from_a_pickle_equal_and_still_read_only():
    items = Items(["a", "b"], {"group": ["x", "y"]})
    nouns = [
        items,
        Capture(["a"], {"hidden": np.ones((1, 2))}, {"hidden": ("token", "dim")}, {"model": "m"}),
        Affinities(np.array([[0.0, 0.5], [0.5, 0.0]]), items, {"perplexity": 1.0}),
        Map(np.zeros((2, 2)), items, kl=0.1, settings={"seed": 0}, quality={"local": 1.0}),
        View("scatter", {"title": "t"}, {"xy": np.zeros((2, 2))}),
    ]
    for noun in nouns:
        again = pickle.loads(pickle.dumps(noun))
        assert type(again) is type(noun)
        assert repr(again) == repr(noun)
    again = pickle.loads(pickle.dumps(nouns[3]))
    assert not again.xy.flags.writeable
    assert again.quality == {"local": 1.0}
