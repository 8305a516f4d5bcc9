"""Neighbours of very many words looked for in parts, by processes or a Dask cluster, with the same bits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np

from langscape.analyses._placement import Count, First
from langscape.data import Progress
from langscape.declarations import Setting, analysis
from langscape.declarations.running import each
from langscape.declarations.settings import VectorFile
from langscape.io.tensor_file import read_header, read_tensors, write_tensors
from langscape.kernels.ivf_search import Cells
from langscape.kernels.neighbours import PART, SEARCH, neighbours_in
from langscape.store import Writes
from langscape.store.current import current_store

SHARD = 4 * PART
"""Rows whose neighbours one task looks for."""

Wanted = Annotated[int, Setting("Wanted", "How many neighbours of each row.", ge=1)]


@analysis(version=1, name="words.neighbours", hidden=True)
def shard_neighbours(vectors: VectorFile, *, k: Wanted, first: First = 0, count: Count = SHARD) -> Path:
    """A file with the k nearest of `count` rows from `first` on; `vectors` is a file of cells.

    The cells are read from the file as they are searched, so that workers of one machine share its pages.
    """
    index, squared = neighbours_in(_read_cells(Path(vectors)), first, count, k)  # type: ignore[arg-type]
    return Writes("file", lambda path: write_tensors(path, {"index": index, "squared": squared}))  # type: ignore[return-value]


def _write_cells(path: Path, cells: Cells) -> None:
    write_tensors(path, cells.arrays(), {"probes": str(cells.probes), "recall": str(cells.recall)})


def _read_cells(path: Path) -> Cells:
    header = read_header(path)
    matrix = header.tensors["vectors"]
    arrays = read_tensors(path, header, set(header.tensors) - {"vectors"})
    arrays["vectors"] = np.memmap(path, "<f4", "r", matrix.start, matrix.shape)
    return Cells.restored(arrays, int(header.metadata["probes"]), float(header.metadata["recall"]))


@contextlib.contextmanager
def searching_in_shards(workers: int | None, cluster: str | None) -> Iterator[None]:
    """Within, neighbours of more rows than are compared one by one are looked for by so many processes.

    Nothing changes where neither is given: the threads of this process look for them.
    """

    def search(
        cells: Cells, n: int, k: int, doing: str, progress: Progress | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        store = current_store()
        with store.receiving() as file:
            _write_cells(file, cells)
            kept = store.keep_file(file)
        calls = [
            {"vectors": kept, "k": k, "first": first, "count": min(SHARD, n - first)}
            for first in range(0, n, SHARD)
        ]
        for path in each(
            shard_neighbours, calls, title=doing, workers=workers, cluster=cluster, progress=progress
        ):
            found = read_tensors(path, read_header(path))
            yield found["index"], found["squared"]

    token = SEARCH.set(search if workers or cluster else None)
    try:
        yield
    finally:
        SEARCH.reset(token)
