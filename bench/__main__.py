"""Pin every library to one thread before any of them is imported, then run."""

import os

for name in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "DAAL_NUM_THREADS",
):
    os.environ[name] = "1"

from bench.run import main  # noqa: E402

main()
