"""A worker process as its parent sees it: spawned, told and heard in lines of JSON, ended at once.

What runs inside is in `worker.py`. A process tells that it is `ready`, then answers what it is sent; it ends
with its parent. To cancel is to kill: nothing partial is ever in the store.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

ENVIRONMENT = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "RAYON")},
    "VECLIB_MAXIMUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "TOKENIZERS_PARALLELISM": "false",
}
"""One compute thread per worker; threads that wait must not spin on shared cores."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); from {} import {} as m; m()"
)

Heard = Callable[[dict[str, Any] | None], None]
"""Called, from a thread of the process, with everything that it says, and with None when it has ended."""


class WorkerProcess:
    """A new Python process that runs `function` of `module` with our import path; spawned, never forked.

    Its first two lines of input are the import path and `hello`. Without `heard` its output goes nowhere.
    """

    def __init__(
        self,
        function: str,
        hello: Mapping[str, Any],
        heard: Heard | None = None,
        *,
        module: str = "langscape.execution.worker",
        threads: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        limits = {
            name: str(threads) if name.endswith("_THREADS") else one for name, one in ENVIRONMENT.items()
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(module, function)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if heard else subprocess.DEVNULL,
            env={**os.environ, **limits, **(environment or {})},
            start_new_session=True,  # Ctrl-C in the terminal is for the parent alone
        )
        self._thread: threading.Thread | None = None
        if heard:
            self._thread = threading.Thread(target=self._listen, args=(heard,), daemon=True)
            self._thread.start()
        self.send([entry or os.getcwd() for entry in sys.path])
        self.send(hello)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How it ended: its exit code, or minus the signal that ended it; None while it runs."""
        return self._process.poll()

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        code = self._process.wait()
        if code >= 0:
            return f"exit code {code}"
        why = "; too little memory is the usual cause" if code == -9 else ""
        with suppress(ValueError):
            return f"signal {-code}, {signal.Signals(-code).name}{why}"
        return f"signal {-code}"

    def send(self, message: object) -> None:
        """One line of JSON to it; if it has died, its end is heard soon."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """End it now, without waiting."""
        self._process.kill()

    def end(self) -> None:
        """Kill it if it runs, wait for its end, and close its pipes."""
        self._process.kill()
        self._process.wait()
        if self._thread is not None:
            self._thread.join(timeout=5)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _listen(self, heard: Heard) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError, OSError):  # closed meanwhile
            for line in self._process.stdout:
                with suppress(ValueError):  # a line cut short by its death
                    heard(json.loads(line))
        heard(None)
