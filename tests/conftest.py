"""Shared set-up: kernels compiled by tests are cached in a folder of their own, from one run to the next."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

# Before NumPy: the runs share two cores already, and BLAS's own threads on small matrices only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# The same examples in every run: chance has commands of its own (`make fuzz`).
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
sys.path.insert(0, str(Path(__file__).parent))
BROWSER_SECONDS = 240


class Tenths:
    """Ten numbers instead of a dot for each of thousands of tests; failures are told as ever."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.done, self.total = config, 0, 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.total = self.total or len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.total = len(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        silent = report.skipped or (report.passed and report.when == "call")
        return (report.outcome, "", "") if silent else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown" or not self.total:
            return
        self.done += 1
        tenth = 10 * self.done // self.total
        if tenth > 10 * (self.done - 1) // self.total:
            self.config.get_terminal_writer().write(f"{tenth}0 % ", flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tenths", action="store_true", help="say each tenth of the tests, not a dot per test")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("tenths") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tenths(config))


@pytest.fixture(scope="session", autouse=True)
def _kernel_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Keep compiled kernels for the next run; a kernel's name is a hash of its source. `make clean` removes them.

    `-p no:cacheprovider` turns pytest's cache off; then the kernels live as long as the run."""
    if "DALEMBERT_CACHE" not in os.environ:
        cache = getattr(request.config, "cache", None)
        os.environ["DALEMBERT_CACHE"] = str(cache.mkdir("kernels") if cache else tmp_path_factory.mktemp("kernels"))


@pytest.fixture(autouse=True)
def _no_browser_hangs(request: pytest.FixtureRequest):
    """A page that stops drawing would hold up everything: some calls to a browser know no time limit of their own."""
    group = request.node.get_closest_marker("xdist_group")
    if group is None or group.args != ("browser",) or not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(*_: object) -> None:
        raise TimeoutError(f"the browser did not answer within {BROWSER_SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(BROWSER_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
