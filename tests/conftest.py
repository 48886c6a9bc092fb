# SPDX-License-Identifier: Apache-2.0
"""What holds for every test: a home of its own, and a watch over the socket of the host's daemon. Tests import from here what is
in support/."""
import contextlib
import os
import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import decoy  # noqa: E402
import isolation  # noqa: E402
from daemons import Daemon, Starter  # noqa: E402, F401
from isolation import AS_ROOT, BUILD, NO_OVERRIDE, ROOT, WHIRR, environment, run_whirr  # noqa: E402, F401
from waiting import PATIENCE, eventually, patience, throughout  # noqa: E402, F401


def forget_dead_clocks():
    """faketime names its memory by PID, and refuses one that a killed process has left: with thousands of them, tests fail by chance."""
    for path in pathlib.Path("/dev/shm").glob("*faketime_s*_*"):
        if not pathlib.Path("/proc", path.name.rsplit("_", 1)[1]).exists():
            with contextlib.suppress(OSError):
                path.unlink()


def pytest_configure(config):
    forget_dead_clocks()
    # A shell starts what runs in its background with these ignored, and they stay so for all that is started from there.
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    # And nohup this one. A handler, which programs do not inherit: they have the default, and the end of a terminal still ends nothing here.
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
    config.whirr_decoy = decoy.start()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The slow ones first, so that nobody waits for the last of them alone. Where tests run side by side, those of a module that use the PostgreSQL
    server stay together: they fill and empty the one of their process."""
    url = os.environ.get("WHIRR_TEST_POSTGRES")
    for item in items:
        if url and url in [value for value in vars(item.module).values() if isinstance(value, str)]:
            item.add_marker(pytest.mark.xdist_group(f"postgres-{item.module.__name__}"))
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


HANGS_AFTER_S = 10 * PATIENCE  # far beyond the slowest on a busy machine


@contextlib.contextmanager
def ended_when_it_hangs(what):
    """Raises in what hangs, and again in what waits for it on the way out (`with Popen`), so that one test never keeps all others from being counted."""
    def hangs(*_):
        signal.setitimer(signal.ITIMER_REAL, 10)
        raise TimeoutError(f"{what} hangs")
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, hangs)
    signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    with ended_when_it_hangs(item.nodeid):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    isolation.enter_home()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    isolation.leave_home()


@pytest.fixture
def host_daemon(pytestconfig):
    """The decoy that stands where a daemon of the host would."""
    if not pytestconfig.whirr_decoy:
        pytest.skip("only root can put a decoy where the daemon of the host would be")
    return pytestconfig.whirr_decoy


@pytest.fixture(autouse=True)
def nobody_asks_the_host(pytestconfig):
    yield
    if pytestconfig.whirr_decoy:
        asked = pytestconfig.whirr_decoy.taken()
        assert not asked, f"this test reached the daemon of the host: {asked}"
