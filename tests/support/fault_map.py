# SPDX-License-Identifier: Apache-2.0
"""For tools/mutate: gives every test a file in which the programs it starts mark the faults they come past, and lists how tests ended.

What a fixture of a whole module starts marks the file of the module's first test, so its marks count for all tests of the module."""
import os
import pathlib
import tempfile

import pytest

MAPS = os.environ.get("FAULT_MAPS")
_first = {}  # of each module: the file of its first test


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if MAPS:
        handle, path = tempfile.mkstemp(dir=MAPS)
        os.write(handle, bytes(4096))
        os.fchmod(handle, 0o666)
        os.close(handle)
        item.fault_map = os.environ["FAULT_MAP"] = path
        _first.setdefault(item.module, path)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if not MAPS:
        return
    if report.when == "call":
        item.fault_seconds, item.fault_passed = report.duration, report.passed
    elif report.when == "teardown" and hasattr(item, "fault_passed"):
        own, first = (pathlib.Path(path).read_bytes() for path in (item.fault_map, _first[item.module]))
        pathlib.Path(item.fault_map).write_bytes(bytes(a | b for a, b in zip(own, first)))
        with open(f"{MAPS}/tests", "a") as listed:  # one write a line: workers share it
            listed.write(f"{'passed' if item.fault_passed else 'failed'} {item.fault_seconds} {item.fault_map} {item.nodeid}\n")
