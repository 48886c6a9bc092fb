# SPDX-License-Identifier: Apache-2.0
"""For tools/mutate: gives every test a file in which the programs it starts mark the faults they come past, and lists how tests ended.

What a fixture starts for several tests has a file of its own, whose marks count for each of them."""
import os
import pathlib
import tempfile

import pytest

MAPS = os.environ.get("FAULT_MAPS")
_shared = {}  # of each fixture that several tests share, and what they are in: its file


def _new_map():
    handle, path = tempfile.mkstemp(dir=MAPS)
    os.write(handle, bytes(4096))
    os.fchmod(handle, 0o666)
    os.close(handle)
    return path


def _name(item):
    """What pytest takes as an argument: without the group that --dist loadgroup adds."""
    for marker in item.iter_markers("xdist_group"):
        return item.nodeid.removesuffix("@" + (marker.args[0] if marker.args else marker.kwargs["name"]))
    return item.nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if MAPS:
        item.fault_map = os.environ["FAULT_MAP"] = _new_map()


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef, request):
    before = os.environ.get("FAULT_MAP")
    if MAPS and fixturedef.scope != "function":
        os.environ["FAULT_MAP"] = _shared[fixturedef.argname, request.node] = _new_map()
    yield
    if MAPS and before:
        os.environ["FAULT_MAP"] = before


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if not MAPS:
        return
    if report.when == "call":
        item.fault_seconds, item.fault_passed = report.duration, report.passed
    elif report.when == "teardown" and hasattr(item, "fault_passed"):
        shared = [path for (name, node), path in _shared.items() if name in item.fixturenames and node in item.listchain()]
        maps = [pathlib.Path(path).read_bytes() for path in (item.fault_map, *shared)]
        pathlib.Path(item.fault_map).write_bytes(bytes(map(max, *maps, bytes(4096))))
        with open(f"{MAPS}/tests", "a") as listed:  # one write a line: workers share it
            listed.write(f"{'passed' if item.fault_passed else 'failed'} {item.fault_seconds} {item.fault_map} {_name(item)}\n")
