"""How the tests are shared out among the processes of `pytest -n 2`: whole files, the longest first.

A file stays in one process, since its fixtures (models, captures, runs) cost more than its tests; so do the
files that use the one studio of the browser tests, and those that have UMAP compiled.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Generator
from typing import Any

import hypothesis
import pytest

import langscape.kernels  # noqa: F401  names the cache of compiled code before a test moves the home folder
from langscape.models.tile_instructions import avoid_tiles

avoid_tiles()  # before a test imports torch itself

# A busy machine draws examples slowly, which says nothing of what is tested.
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")

# Of pytest in the background, or of a process of -n, the children would ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

STUDIO = ("tests/browser/test_studio",)
UMAP = ("tests/analyses/test_query_key", "tests/papers/test_query_key_paper")
# what takes longest begins first, so that both processes end together
FIRST = (
    *STUDIO,
    "tests/engine/test_peers",
    *UMAP,
    "tests/run/",
    "tests/models/",
    "tests/browser/",
    "tests/papers/",
    "tests/engine/",
    "tests/cli/",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            together = (starts[0] for starts in (STUDIO, UMAP) if nodeid.startswith(starts))
            return next(together, nodeid.partition("::")[0])

        def remove_node(self, node: Any) -> str | None:
            """Give the tests of a process that ended to another, without the one that ended it."""
            for unit in self.assigned_work[node].values():
                running = next((name for name, done in unit.items() if not done), None)
                if running is not None:
                    unit[running] = True
                    super().remove_node(node)
                    return running
            return super().remove_node(node)

    config.option.loadscopereorder = False  # it would go by the number of tests
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def turn(item: pytest.Item) -> int:
        starts = (at for at, start in enumerate(FIRST) if item.nodeid.startswith(start))
        return next(starts, len(FIRST))

    if hasattr(config, "workerinput"):  # a process of -n; alone, the order of the folders is easier to follow
        items.sort(key=turn)


class FailuresAtOnce:
    """Print a failure when it happens: a run that is ended half-way has told it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line("")
            terminal.write_line(f"FAILED {report.nodeid} ({report.when})")
            terminal.write_line("\n".join(report.longreprtext.splitlines()[-25:]))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(config))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """Say last what was left out, why, and how to get it."""
    yield
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if not reasons:
        return
    terminalreporter.section("left out")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} test{'s' * (count > 1)}: {reason}")
