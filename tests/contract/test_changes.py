# SPDX-License-Identifier: Apache-2.0
"""What changed on a GPU while the daemon was away: one event in the history, said by why, remembered over the next restart."""
import contextlib
import json
import sqlite3

import pytest
from conftest import eventually

BEFORE, AFTER = "575.57.08", "580.95.05"
WORDS = f"he driver went from {BEFORE} to {AFTER}"


def script(driver):
    return f"driver {driver}\ngpu NVIDIA GeForce RTX 4090\n  temperature 41\n  gpu_util 0\n  power 22000\n  power_limit 450000\n"


@pytest.fixture
def driven(nvml, tmp_path):
    """A daemon on this version of the driver, once it has written samples into the same file as those before it."""
    def run(driver, store=None):
        d = nvml(script(driver), "--interval", "0.2", "--store", store or f"sqlite:{tmp_path}/past.db", WHIRR_STORE_HOST="box")
        if not store:
            eventually(lambda: d.json("/api/health")["store"]["written_total"] >= 2, explain=d.log)
        return d
    return run


def finding(d):
    return next((f for f in d.json("/api/why")["findings"] if f["code"] == "driver_changed"), None)


@pytest.mark.slow
def test_another_driver_after_a_restart_is_one_change(driven, tmp_path):
    d = driven(BEFORE)
    assert d.json("/api/history/events?kind=change&since=-1h")["events"] == []
    d.stop()
    d = driven(AFTER)
    found = eventually(lambda: finding(d), explain=d.log)
    assert found["severity"] == "info" and "t" + WORDS in found["headline"], found
    assert "T" + WORDS + " at " in d.json("/api/why")["gpus"][0]["answer"]
    event, = d.json("/api/history/events?kind=change&since=-1h")["events"]
    assert event["severity"] == "info" and event["gpu_index"] == 0 and event["text"] == "GPU 0: t" + WORDS
    assert event["data"] == {"what": "driver", "before": BEFORE, "after": AFTER}
    body = d.json("/api/why?since=-1h")
    change, = body["changes"]
    assert (change["gpu_index"], change["what"], change["before"], change["after"]) == (0, "driver", BEFORE, AFTER)
    assert change["text"] == "t" + WORDS and change["since"] == event["at"]
    told = d.whirr("why", "--since", "-1h").stdout
    assert "What changed" in told and "GPU 0: t" + WORDS in " ".join(told.split()), told
    assert "t" + WORDS in d.whirr("history", "--events", "--since", "-1h").stdout
    d.stop()
    d = driven(AFTER)
    assert eventually(lambda: finding(d), explain=d.log)["headline"] == found["headline"]
    assert len(d.json("/api/history/events?kind=change&since=-1h")["events"]) == 1
    d.stop()
    with contextlib.closing(sqlite3.connect(tmp_path / "past.db")) as db:
        assert db.execute("SELECT COUNT(*) FROM event_log WHERE kind = 'change'").fetchone() == (1,)


def test_without_a_history_no_change_is_claimed(driven):
    driven(BEFORE, "none").stop()
    d = driven(AFTER, "none")
    d.wait_sampled()
    assert finding(d) is None and "went from" not in json.dumps(d.json("/api/why"))
