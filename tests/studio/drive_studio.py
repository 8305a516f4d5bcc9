"""A studio over the store that is named, without examples or a model: what the tests start and kill."""

import sys

from langscape.store import Store
from langscape.studio.serve import serve


def ready(access):
    print(access.new_address(), flush=True)


if __name__ == "__main__":
    serve(Store(sys.argv[1]), "127.0.0.1", int(sys.argv[2]), ready,
          exact=True, workers=1, warm="", examples=False)  # fmt: skip
