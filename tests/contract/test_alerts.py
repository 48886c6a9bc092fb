# SPDX-License-Identifier: Apache-2.0
"""Alerts in the daemon: from the rule of the configuration to those who hear of it, over reloads, silences and restarts."""
import json
import re
import signal

import pytest
import targets
from conftest import PATIENCE, Daemon, eventually

# As people write it; only the port is another.
AS_WRITTEN = """
[notify.ops]
type = "webhook"
url = "http://127.0.0.1:9000/hook"

[[alert]]
name = "busy"
when = "utilization_percent > 10"
for = "0s"
severity = "warning"
notify = ["ops"]
"""


@pytest.fixture
def ops():
    target = targets.Target()
    yield target
    target.close()


class House:
    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        (folder / "config").mkdir()

    def configure(self, text):
        (self.folder / "whirr.toml").write_text(text)

    def start(self, source, *args):
        d = Daemon(self.folder, ["--config", str(self.folder / "whirr.toml"), "--source", source, "--interval", "0.1", "--listen", "127.0.0.1:0", *args], {})
        self.daemons.append(d)
        return d


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path)
    yield house
    for daemon in house.daemons:
        daemon.stop()


def of(daemon, name, state=None):
    return [a for a in daemon.json("/api/alerts")["alerts"] if a["alert"] == name and state in (None, a["state"])]


def test_the_configuration_works_as_written(house, ops):
    house.configure(AS_WRITTEN.replace("9000", str(ops.port)))
    # Load for 8 s of every 20, of the simulated time.
    d = house.start("sim:gpus=1,scenario=bursty,speed=60")
    told = eventually(lambda: [b for b in ops.bodies() if b["status"] == "resolved"] and ops.bodies(), explain=d.log)
    first, last = told[0], next(b for b in told if b["status"] == "resolved")
    assert first["status"] == "firing" and first["alert"] == "busy" and first["severity"] == "warning"
    assert first["gpu_index"] == 0 and first["gpu_name"] == "NVIDIA GeForce RTX 4090" and first["value"] > 10
    assert "utilization_percent is" in first["summary"] and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["started_at"])
    assert last["started_at"] <= last["ended_at"] and last["fingerprint"] == first["fingerprint"]


@pytest.mark.slow
def test_what_fires_is_told_by_the_api_metrics_command_and_history(house, node):
    house.configure('[[alert]]\nname = "busy"\nwhen = "utilization_percent > 10"\nlabels = { team = "ml" }\n')
    d = house.start("sim:gpus=2,scenario=training,start=120", "--store", f"sqlite:{house.folder}/h.db")
    alert = eventually(lambda: of(d, "busy", "firing"), explain=d.log)[0]
    assert alert["labels"] == {"team": "ml"} and alert["value"] > 10 and alert["silenced"] is False and alert["ended_at"] is None
    body = d.json("/api/alerts")
    assert body["counts"]["firing"] >= 2 and body["silences"] == []
    known = json.loads(d.whirr("alert", "test", "health_level == 0 and xid == 0", "--json").stdout)["rules"]
    assert [r["condition"] for r in known] == ["true", "true"]
    rules = {r["name"]: r for r in d.json("/api/alerts/rules")["rules"]}
    assert rules["busy"]["state"] == "firing" and rules["lost"]["builtin"] and rules["lost"]["state"] == "inactive"
    metrics = d.get("/metrics").body.decode()
    assert re.search(r'^whirr_alert_firing\{alert="busy",severity="warning",gpu="0",host="[^"]+"\} 1$', metrics, re.M)
    assert "busy" in d.whirr("alert").stdout and json.loads(d.whirr("alert", "--json").stdout)["counts"]["firing"] >= 2
    event = eventually(lambda: [e for e in d.json("/api/history/events")["events"] if e["kind"] == "alert" and "busy fires" in e["text"]], explain=d.log)[0]
    assert event["severity"] == "warning"


@pytest.mark.slow
def test_clients_hear_of_alerts_behind_the_sample(house, node):
    """The limit goes up and down once the client listens: an alert that comes and goes for longer than a slow client takes to start is flapping, and says nothing."""
    rule = '[[alert]]\nname = "busy"\nwhen = "utilization_percent > {}"\n'
    house.configure(rule.format(1000))
    d = house.start("sim:gpus=1,scenario=training,start=120")

    def states(client):
        return [e[1]["state"] for e in list(client.events) if e[0] == "alert" and e[1]["alert"] == "busy"]
    with node("ws.mjs", f"ws://127.0.0.1:{d.port}/ws?events=alert") as client:
        client.wait("gpu_status")
        for limit, state in ((10, "firing"), (1000, "resolved"), (10, "firing")):
            house.configure(rule.format(limit))
            d.process.send_signal(signal.SIGHUP)
            eventually(lambda: states(client)[-1:] == [state], explain=lambda: (client.events, d.log()))
        assert [s for s in states(client) if s != "pending"] == ["firing", "resolved", "firing"]


def test_silences(house, ops):
    text = AS_WRITTEN.replace("9000", str(ops.port)) + 'labels = { team = "ml" }\n'
    house.configure(text.replace("> 10", "> 1000"))  # nothing fires before it is silenced
    d = house.start("sim:gpus=2,scenario=training,start=120")
    made = d.whirr("alert", "silence", "bus?", "gpu=1", "team=ML", "--for", "1h", "--comment", "new fans", "--json")
    assert made.returncode == 0 and made.stderr == "", made.stderr
    silence = json.loads(made.stdout)["silence"]
    assert silence["matchers"] == {"alert": "bus?", "gpu": "1", "team": "ML"} and silence["comment"] == "new fans"
    house.configure(text)
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: len(of(d, "busy", "firing")) == 2, explain=d.log)
    assert {a["gpu_index"]: a["silenced"] for a in of(d, "busy")} == {0: False, 1: True}
    assert "new fans" in d.whirr("alert", "silence", "list").stdout and "silenced by s1" in d.whirr("alert").stdout
    eventually(ops.bodies, explain=d.log)
    assert [b["gpu_index"] for b in ops.bodies()] == [0]
    # It still fires when the silence is over: then it is told.
    assert d.whirr("alert", "silence", "remove", silence["id"]).returncode == 0
    eventually(lambda: len(ops.bodies()) == 2, explain=d.log)
    assert ops.bodies()[1]["gpu_index"] == 1 and ops.bodies()[1]["status"] == "firing"
    second = json.loads(d.whirr("alert", "silence", "alert=*", "--until", "2999-01-01", "--json").stdout)["silence"]["id"]
    assert d.whirr("alert", "silence", "remove", second).returncode == 0
    for wrong, meant in (("bussy", "busy"), ("severity=warn", "warning")):  # it would keep nothing quiet
        slip = d.whirr("alert", "silence", wrong, "--for", "1h", "--json")
        assert slip.returncode == 2 and f"did you mean '{meant}'?" in slip.stderr and slip.stdout == "", slip.stderr
    nowhere = d.whirr("alert", "silence", "gpu=99", "--for", "1h")
    assert nowhere.returncode == 2 and "there is no GPU 99" in nowhere.stderr
    assert d.whirr("alert", "silence", "list").stdout == "No silences.\n"
    gone = d.whirr("alert", "silence", "remove", second)
    assert gone.returncode == 1 and "no such silence; `whirr alert silence list` lists them" in gone.stderr


@pytest.mark.parametrize("body, status", [
    ("x", 400), ("[]", 400), ("{}", 400), ('{"matchers": {"alert": "x"}}', 400), ('{"matchers": {}, "for_seconds": 5}', 400),
    ('{"matchers": ["x"], "for_seconds": 5}', 400), ('{"matchers": {"alert": "x"}, "for_seconds": -1}', 400),
    ('{"matchers": {"alert": "x"}, "until": "2001-01-01T00:00:00Z"}', 400), ('{"remove": 5}', 400), ('{"remove": "s9"}', 404),
    ('{"matchers": {"alert": "x", "gpu": 0}, "for_seconds": 1}', 201), ('{"matchers": ["alert=x"], "until": "2999-01-01T00:00:00Z"}', 201),
])
def test_wishes_for_silence_are_checked(daemon, body, status):
    assert daemon.ask("POST", "/api/alerts/silence", body=body).status == 401
    reply = daemon.ask("POST", "/api/alerts/silence", body=body, unix=True)
    assert reply.status == status, reply.body
    if status >= 400:
        assert reply.json()["error"]["message"].endswith(".")


def test_a_restart_forgets_nothing_and_tells_nothing_twice(house, ops):
    house.configure(AS_WRITTEN.replace("9000", str(ops.port)))
    source = "sim:gpus=1,scenario=training,start=120"
    d = house.start(source)
    eventually(lambda: d.json("/api/notifiers")["notifiers"][0]["sent_total"] == 1, explain=d.log)  # told, and noted that it was
    d.whirr("alert", "silence", "alert=nothing*", "--for", "1h")
    before = of(d, "busy")[0]
    for how in (signal.SIGTERM, signal.SIGKILL):
        eventually(lambda: "busy" in (house.folder / "whirr" / "alerts.json").read_text())
        d.process.send_signal(how)
        d.process.wait(PATIENCE)
        d = house.start(source)
        after = eventually(lambda: of(d, "busy"), explain=d.log)[0]
        assert after["state"] == "firing" and after["started_at"] == before["started_at"] and after["fingerprint"] == before["fingerprint"]
        assert [s["id"] for s in d.json("/api/alerts")["silences"]] == ["s1"]
    d.wait_sampled()
    assert len(ops.bodies()) == 1


def test_a_reload_takes_new_rules_and_keeps_the_old_ones_where_they_are_wrong(house, ops):
    text = AS_WRITTEN.replace("9000", str(ops.port))
    house.configure(text)
    d = house.start("sim:gpus=1,scenario=training,start=120")
    eventually(lambda: of(d, "busy", "firing"), explain=d.log)
    house.configure(text.replace("utilization_percent", "utilisation_percent"))
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("did you mean 'utilization_percent'")
    d.wait_log("keeping the old settings")
    assert of(d, "busy", "firing")
    house.configure(text.replace('"busy"', '"loaded"'))
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: of(d, "loaded", "firing"), explain=d.log)
    assert of(d, "busy", "resolved")
    told = eventually(lambda: len(ops.bodies()) >= 3 and ops.bodies(), explain=d.log)
    assert {(b["alert"], b["status"]) for b in told} == {("busy", "firing"), ("busy", "resolved"), ("loaded", "firing")}


def test_a_damaged_state_is_moved_away(house):
    house.configure("")
    (house.folder / "whirr").mkdir()
    (house.folder / "whirr" / "alerts.json").write_text('{"version": 1, "alerts"')
    d = house.start("sim:gpus=1,scenario=training,start=120")
    d.wait_log("cannot read the state of alerts")
    assert (house.folder / "whirr" / "alerts.json.damaged").exists()


def test_a_finding_is_told_as_the_host_says_it_and_a_reload_changes_it(house, ops):
    text = f'[notify.ops]\ntype = "webhook"\nurl = "http://127.0.0.1:{ops.port}/hook"\n[alerts]\nnotify = ["ops"]\n[finding.heat_limit]\nhold = "1s"\n'
    house.configure(text)
    d = house.start("sim:gpus=1,scenario=overheat,start=300")
    alert = eventually(lambda: of(d, "heat_limit", "firing"), explain=d.log)[0]
    why = d.json("/api/why")["findings"][0]
    assert alert["code"] == why["code"] == "heat_limit" and alert["severity"] == why["severity"] == "critical"
    told = eventually(lambda: [b for b in ops.bodies() if b["alert"] == "heat_limit"], explain=d.log)[0]
    assert told["status"] == "firing" and told["summary"].startswith("GPU 0")
    house.configure(text.replace("heat_limit]", "heat_limt]"))  # a mistake: the old settings stay
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("did you mean 'heat_limit'")
    d.wait_log("keeping the old settings")
    assert of(d, "heat_limit", "firing")
    house.configure(text + "mute = true\n")
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: of(d, "heat_limit", "resolved"), explain=d.log)
    muted = eventually(lambda: [f for f in d.json("/api/why")["findings"] if f["code"] == "heat_limit" and f["muted"]], explain=d.log)
    assert muted[0]["severity"] == "info" and 'code="heat_limit"' not in d.get("/metrics").body.decode()
