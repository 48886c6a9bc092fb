# SPDX-License-Identifier: Apache-2.0
"""Leases as a daemon shows them."""
import json
import os
import re
import subprocess

import pytest
from isolation import WHIRR
from waiting import ended, eventually, throughout

SIM = "sim:scenario=training,gpus=2"


@pytest.fixture
def leased(start, tmp_path):
    """A daemon on two simulated GPUs that train, and commands with the same directory of leases."""

    class Leased:
        leases = tmp_path / "leases"
        daemon = start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/history.db", source=SIM, WHIRR_LEASE_DIR=str(leases))

        def run(self, *args):
            """On idle GPUs of the same names: programs that train without a lease would be in the way."""
            return self.daemon.whirr("--source", SIM.replace("training", "idle"), *map(str, args))

        def list(self):
            return self.daemon.json("/api/leases")["leases"]

        def of_another(self, lease):
            path = self.leases / f"{lease['id']}.json"
            path.write_text(json.dumps({**lease, "uid": 65534, "user": "bob"}))
            os.chown(path, 65534, 65534)

    return Leased()


def test_who_reserved_sees_it_at_once(start, tmp_path):
    """With a daemon that samples seldom and looks at leases every few seconds."""
    leases = str(tmp_path / "leases")
    d = start("--interval", "60", source=SIM, WHIRR_LEASE_DIR=leases)

    def shown():
        listed = [lease["id"] for lease in json.loads(d.whirr("lease", "--json").stdout)["leases"]]
        return listed, [lease["id"] for lease in d.json("/api/leases")["leases"]], "reserved for" in d.whirr("status").stdout

    for _ in range(3):
        made = d.whirr("--source", SIM.replace("training", "idle"), "reserve", "--gpu", "1", "--json")
        name = json.loads(made.stdout)["id"]
        assert shown() == ([name], [name], True)
        assert d.whirr("lease", "end", name).returncode == 0
        assert shown() == ([], [], False)


def test_a_reservation_is_everywhere_and_ends_by_request(leased):
    assert leased.list() == []
    done = leased.run("reserve", "--gpu", "1", "--for", "2h", "--note", "paper", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    (lease,) = eventually(leased.list)
    assert lease["id"] == made["id"] and lease["note"] == "paper" and lease["gpus"][0]["gpu_index"] == 1
    series = eventually(lambda: [line for line in leased.daemon.get("/metrics").body.decode().splitlines() if line.startswith("gpu_lease_held{")])
    assert len(series) == 1 and f'lease="{made["id"]}"' in series[0] and 'kind="reserve"' in series[0] and series[0].endswith(" 1")
    assert re.search(r"^gpu_lease_waiting(\{.*\})? 0$", leased.daemon.get("/metrics").body.decode(), re.M)
    asked = json.dumps({"id": made["id"]})
    assert leased.daemon.ask("POST", "/api/leases/end", body="{}", unix=True).status == 400
    assert leased.daemon.ask("POST", "/api/leases/end", body='{"id": "zzzzzzzz"}', unix=True).status == 404
    reply = leased.daemon.ask("POST", "/api/leases/end", body=asked, unix=True)
    assert reply.status == 200 and reply.json()["leases"] == []
    assert not list(leased.leases.glob("*.json"))


def test_the_lease_of_a_program_is_not_ended_by_request(leased, tmp_path):
    def events():
        return leased.daemon.json("/api/history/events?kind=lease")["events"]

    process = subprocess.Popen([WHIRR, "--source", SIM.replace("training", "idle"), "run", "--gpus", "1", "--", "sleep", "600"], env=leased.daemon.env, stderr=subprocess.DEVNULL)
    try:
        (lease,) = eventually(leased.list)
        eventually(events)  # the history has what a sample saw
        assert lease["kind"] == "run" and lease["state"] == "active"
        assert leased.daemon.ask("POST", "/api/leases/end", body=json.dumps({"id": lease["id"]}), unix=True).status == 409
        assert process.poll() is None
    finally:
        process.terminate()
        ended(process)
    eventually(lambda: leased.list() == [])
    eventually(lambda: len(events()) == 2, explain=events)
    assert {event["text"].split(" ")[2] for event in events()} == {"leased", "given"}, events()
    (held,) = leased.daemon.json("/api/report?since=1h")["leases"]
    eventually(lambda: all(gpu["leases"] == [] for gpu in leased.daemon.json("/api/gpu/metrics")["gpus"]))
    assert held["leases"] == 1 and held["open"] == 0 and 0 < held["hours"] < 1 and held["used_hours"] == 0, "simulated GPUs run no programs of ours"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of another user")
def test_programs_without_a_lease_on_a_reserved_gpu_are_found_and_left_alone(leased):
    """Those that train are alice's."""
    leased.of_another(json.loads(leased.run("reserve", "--gpu", "0", "--for", "2h", "--note", "paper", "--json").stdout))

    def found():
        why = json.loads(leased.daemon.whirr("why", "--json").stdout)
        return [f for f in why["findings"] if f["code"] == "lease_ignored"]

    finding = eventually(lambda: [f for f in found() if f["headline"].startswith('GPU 0 is reserved for nobody ("paper"), and ')], explain=found)[0]
    assert finding["gpu_index"] == 0 and finding["severity"] == "notice"
    assert "gpu_lease" in leased.daemon.get("/metrics").body.decode()


@pytest.mark.parametrize("given", ["true", "false"])
def test_a_reservation_on_which_nothing_runs_is_named_and_given_back_where_wanted(start, tmp_path, given):
    leases = tmp_path / "leases"
    d = start("--interval", "0.2", source="sim:scenario=idle,gpus=1", WHIRR_LEASE_DIR=str(leases), WHIRR_LEASE_IDLE_MINUTES="0.03", WHIRR_LEASE_GIVE_BACK=given)
    done = d.whirr("--source", "sim:scenario=idle,gpus=1", "reserve", "--for", "2h")
    assert done.returncode == 0, done.stderr
    eventually(lambda: d.json("/api/leases")["leases"])
    if given == "true":
        eventually(lambda: not list(leases.glob("*.json")))
    else:
        eventually(lambda: d.json("/api/leases")["leases"][0]["idle_since"])
        throughout(1, lambda: list(leases.glob("*.json")))
