# SPDX-License-Identifier: Apache-2.0
"""Drills with hosts and their PostgreSQL in a world of their own, where time runs faster: the database is away for ten minutes, and an hour of calm.
A second of a busy machine is a minute there, so they want a machine of their own: WHIRR_DRILLS=1 (tools/release-check drills)."""
import json
import os
import pathlib
import signal
import tempfile

import pytest
from waiting import eventually
from world import World, needs_world

from .test_postgres import URL, control, empty_server, number, sql, stop_and_expect_all, store  # noqa: F401

pytestmark = [pytest.mark.slow, needs_world, pytest.mark.skipif(not os.environ.get("WHIRR_DRILLS"), reason="wants a machine of its own (tools/release-check drills)"),
              pytest.mark.skipif(not URL, reason="no PostgreSQL server (tools/with-postgres starts one)")]


@pytest.fixture
def shared_world():
    """A world in which the server lives, too."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # the server has a user of its own
        world = World(pathlib.Path(folder) / "world", speed=10)
        control("stop", "fast")
        control("start", **world.environment)
        yield world
        control("stop", "fast")


def test_a_database_that_is_away_for_ten_minutes_is_named_and_nothing_is_lost(start, shared_world):
    """Drill: what is away is named on every surface within 30 s, no host is blamed for it, and that it is over is said as soon."""
    world = shared_world
    ours = dict(world.environment, WHIRR_FLEET_URL=URL)
    d = start("--interval", "5", "--store", URL, source="sim:gpus=2,scenario=training", **ours)
    alert = lambda: next((a["state"] for a in d.json("/api/alerts")["alerts"] if a["alert"] == "store_failing"), None)  # noqa: E731
    fleet = lambda: json.loads(d.whirr("status", "--fleet", URL, "--json").stdout or "{}")  # noqa: E731
    eventually(lambda: store(d)["written_total"] >= 5 and fleet().get("gpu_count") == 2, explain=d.log)
    world.run_at(4)
    control("stop", "fast")
    away = world.now()
    eventually(lambda: store(d)["state"] == "away" and alert() == "pending" and d.json("/api/fleet")["error"], explain=d.log)
    assert world.now() - away < 30, d.log()
    health = d.json("/api/health")
    assert health["status"] == "degraded" and health["store"]["message"] and health["gpu_monitoring"]["available"], health
    world.run_at(80)
    for command in (("status", "--fleet", URL), ("why", "--fleet", URL), ("history",), ("report",)):
        done = d.whirr(*command)
        assert done.returncode == 1 and ("cannot connect to PostgreSQL" in done.stderr or "terminating connection" in done.stderr), (command, done)
    now = d.whirr("status")
    assert now.returncode == 0 and "2 GPUs" in now.stdout, now  # the present needs no database
    eventually(lambda: world.now() - away > 600)
    assert alert() == "firing" and 'whirr_alert_firing{alert="store_failing"' in d.get("/metrics").body.decode()
    assert store(d)["lost_total"] == 0 and store(d)["queued_rows"] >= 60, store(d)
    world.run_at(2)
    d.process.send_signal(signal.SIGSTOP)  # it has not written yet
    control("start", **world.environment)
    back, first = world.now(), fleet()
    d.process.send_signal(signal.SIGCONT)
    assert first["hosts_not_answering"] == 0 and "the database came back" in first["hosts"][0]["note"] and first["hosts"][0]["trouble"] == "not_judged", first

    def over():
        told = fleet()
        assert not told.get("hosts_not_answering"), told
        return d.json("/api/health")["status"] == "ok" and store(d)["queued_rows"] < 5 and told["gpu_count"] == 2
    eventually(over, explain=lambda: (fleet(), d.log()))
    assert world.now() - back < 30 and store(d)["lost_total"] == 0, d.log()
    world.run_at(20)
    eventually(lambda: alert() in (None, "resolved"), explain=lambda: d.json("/api/alerts"))
    stop_and_expect_all(d, lambda url, **more: start("--interval", "5", "--store", url, source="sim:gpus=2,scenario=training", **dict(ours, **more)))


CALM = {"desk": "sim:scenario=idle,gpus=4", "server": "sim:scenario=inference,gpus=2,model=rtx4090", "node": "sim:scenario=training,gpus=8,model=rtx4090"}


def test_nothing_is_told_in_an_hour_of_calm(start, shared_world):
    """Drill: three hosts with fourteen GPUs that rest, serve and train. No alert, no finding that asks for a look, no host that is missed, on no surface."""
    world = shared_world
    hosts = {name: start("--interval", "10", "--store", URL, source=source, WHIRR_STORE_HOST=name, **world.environment) for name, source in CALM.items()}
    one = hosts["desk"]
    fleet = lambda: json.loads(one.whirr("status", "--fleet", URL, "--json").stdout or "{}")  # noqa: E731
    eventually(lambda: fleet().get("gpu_count") == 14, explain=one.log)
    began = world.now()
    world.run_at(40)
    eventually(lambda: world.now() - began > 3600, timeout=600)
    world.run_at(4)
    for name, d in hosts.items():
        fired = [a for a in d.json("/api/alerts")["alerts"] if a["state"] != "pending"]
        assert not fired and d.json("/api/why")["severity"] == "info", (name, fired, d.json("/api/why")["answer"])
        text = d.get("/metrics").body.decode().splitlines()
        assert not [line for line in text if line.startswith("whirr_severity{") and not line.endswith(" 0")], (name, text)
        assert [line.split()[-1] for line in text if line.startswith("whirr_alerts_fired_total{")] == ["0"], (name, d.log())
    assert number("SELECT COUNT(*) FROM finding_episodes WHERE severity > 0") == 0, sql("SELECT * FROM finding_log WHERE severity <> 'info'")
    assert number("SELECT COUNT(*) FROM alert_log") == 0
    found = eventually(lambda: (f := fleet()).get("gpu_count") == 14 and f)
    assert (found["hosts_not_answering"], found["gpus_missing"], found["clocks_off"]) == (0, 0, 0) and {h["trouble"] for h in found["hosts"]} == {"fine"}, found
    assert one.whirr("why", "--fleet", URL).returncode == 0
