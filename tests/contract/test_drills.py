# SPDX-License-Identifier: Apache-2.0
"""Drills with hosts and their PostgreSQL in a world of their own, whose time passes as fast as they are done with it: the database is away for ten
minutes, and an hour of calm."""
import json
import pathlib
import shutil
import signal
import tempfile

import pytest
from world import LIBRARY, World, needs_world

from .test_postgres import URL, control, empty_server, number, sql, stop_and_expect_all, store  # noqa: F401

pytestmark = [pytest.mark.slow, needs_world, pytest.mark.skipif(not URL, reason="no PostgreSQL server (tools/with-postgres starts one)")]


class SharedWorld(World):
    """A world in which the server lives, too."""

    def __init__(self, path):
        super().__init__(path, waiters=True)
        library = shutil.copy(LIBRARY, path.parent)  # where the server's user may read it, wherever the build is
        self.environment["LD_PRELOAD"] = str(library)
        self.daemons, self.server = [], None

    def server_starts(self):
        control("start", **self.environment)
        self.server = int((pathlib.Path(sql("SHOW data_directory")) / "postmaster.pid").read_text().split()[0])

    def server_stops(self):
        control("stop", "fast")
        self.server = None

    def go_on(self, seconds, step=1):
        self.let_pass(seconds, [d.process.pid for d in self.daemons] + ([self.server] if self.server else []), step)

    def until(self, look, within, explain=""):
        """The first true result of look(); `within`: of its own time."""
        began = self.now()
        while not (found := look()):
            assert self.now() - began < within, explain() if callable(explain) else explain
            self.go_on(1)
        return found


@pytest.fixture
def world():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)  # the server has a user of its own
        shared = SharedWorld(pathlib.Path(folder) / "world")
        shared.server_stops()
        shared.server_starts()
        yield shared
        shared.server_stops()


def test_a_database_that_is_away_for_ten_minutes_is_named_and_nothing_is_lost(start, world):
    """Drill: what is away is named on every surface within 30 s, no host is blamed for it, and that it is over is said as soon."""
    ours = dict(world.environment, WHIRR_FLEET_URL=URL)
    d = start("--interval", "5", "--store", URL, source="sim:gpus=2,scenario=training", **ours)
    world.daemons.append(d)
    alert = lambda: next((a["state"] for a in d.json("/api/alerts")["alerts"] if a["alert"] == "store_failing"), None)  # noqa: E731
    fleet = lambda: json.loads(d.whirr("status", "--fleet", URL, "--json").stdout or "{}")  # noqa: E731
    world.until(lambda: store(d)["written_total"] >= 5 and fleet().get("gpu_count") == 2, within=120, explain=d.log)
    world.server_stops()
    away = world.now()
    world.until(lambda: store(d)["state"] == "away" and alert() == "pending" and d.json("/api/fleet")["error"], within=30, explain=d.log)
    health = d.json("/api/health")
    assert health["status"] == "degraded" and health["store"]["message"] and health["gpu_monitoring"]["available"], health
    for command in (("status", "--fleet", URL), ("why", "--fleet", URL), ("history",), ("report",)):
        done = d.whirr(*command)
        assert done.returncode == 1 and ("cannot connect to PostgreSQL" in done.stderr or "terminating connection" in done.stderr), (command, done)
    now = d.whirr("status")
    assert now.returncode == 0 and "2 GPUs" in now.stdout, now  # the present needs no database
    world.go_on(away + 600 - world.now())
    assert alert() == "firing" and 'whirr_alert_firing{alert="store_failing"' in d.get("/metrics").body.decode()
    assert store(d)["lost_total"] == 0 and store(d)["queued_rows"] >= 60, store(d)
    d.process.send_signal(signal.SIGSTOP)  # it has not written yet
    world.server_starts()
    first = fleet()
    d.process.send_signal(signal.SIGCONT)
    assert first["hosts_not_answering"] == 0 and "the database came back" in first["hosts"][0]["note"] and first["hosts"][0]["trouble"] == "not_judged", first

    def over():
        told = fleet()
        assert not told.get("hosts_not_answering"), told
        return d.json("/api/health")["status"] == "ok" and store(d)["queued_rows"] < 5 and told["gpu_count"] == 2
    world.until(over, within=30, explain=lambda: (fleet(), d.log()))
    assert store(d)["lost_total"] == 0, d.log()
    world.until(lambda: alert() in (None, "resolved"), within=600, explain=lambda: d.json("/api/alerts"))
    stop_and_expect_all(d, lambda url, **more: start("--interval", "5", "--store", url, source="sim:gpus=2,scenario=training", **dict(ours, **more)))


CALM = {"desk": "sim:scenario=idle,gpus=4", "server": "sim:scenario=inference,gpus=2,model=rtx4090", "node": "sim:scenario=training,gpus=8,model=rtx4090"}


def test_nothing_is_told_in_an_hour_of_calm(start, world):
    """Drill: three hosts with fourteen GPUs that rest, serve and train. No alert, no finding that asks for a look, no host that is missed, on no surface."""
    hosts = {name: start("--interval", "10", "--store", URL, source=source, WHIRR_STORE_HOST=name, **world.environment) for name, source in CALM.items()}
    world.daemons.extend(hosts.values())
    one = hosts["desk"]
    fleet = lambda: json.loads(one.whirr("status", "--fleet", URL, "--json").stdout or "{}")  # noqa: E731
    world.until(lambda: fleet().get("gpu_count") == 14, within=120, explain=one.log)
    world.go_on(3600, step=2)
    for name, d in hosts.items():
        assert d.json("/api/health")["gpu_monitoring"]["samples_total"] >= 350, d.log()
        fired = [a for a in d.json("/api/alerts")["alerts"] if a["state"] != "pending"]
        assert not fired and d.json("/api/why")["severity"] == "info", (name, fired, d.json("/api/why")["answer"], d.log())
        text = d.get("/metrics").body.decode().splitlines()
        assert not [line for line in text if line.startswith("whirr_severity{") and not line.endswith(" 0")], (name, text)
        assert [line.split()[-1] for line in text if line.startswith("whirr_alerts_fired_total{")] == ["0"], (name, d.log())
    assert number("SELECT COUNT(*) FROM finding_episodes WHERE severity > 0") == 0, sql("SELECT * FROM finding_log WHERE severity <> 'info'")
    assert number("SELECT COUNT(*) FROM alert_log") == 0
    found = fleet()
    assert found["gpu_count"] == 14 and (found["hosts_not_answering"], found["gpus_missing"], found["clocks_off"]) == (0, 0, 0) and {h["trouble"] for h in found["hosts"]} == {"fine"}, found
    assert one.whirr("why", "--fleet", URL).returncode == 0
