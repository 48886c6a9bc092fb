# SPDX-License-Identifier: Apache-2.0
"""Notifiers that stay connected: Debian's mosquitto as Home Assistant would read it, and notifications on a desktop's bus."""
import json
import signal
import subprocess

import brokers
import pytest
from conftest import PATIENCE, WHIRR, eventually
from contract.test_notifications import BUSY, IDLE, RULE, House, house, notifier  # noqa: F401

needs_broker = pytest.mark.skipif(not brokers.mosquitto(), reason="no mosquitto (tools/deps test)")
needs_desktop = pytest.mark.skipif(not brokers.have_desktop(), reason="no dbus-daemon or python3-dbus (tools/deps test)")


def whirr(config, *args):
    return subprocess.run([WHIRR, "--config", config, *args], capture_output=True, text=True, timeout=PATIENCE)


def lines(broker, **more):
    settings = {"type": "mqtt", "url": broker.url, "state_interval": "1s", **more}
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())


def base(broker):
    return next(t for t in broker.topics() if t.startswith("whirr/") and t.endswith("/status"))[: -len("/status")]


@needs_broker
def test_sensors_and_why_appear_in_home_assistant(house, tmp_path):  # noqa: F811
    broker = house.target(lambda: brokers.Broker(tmp_path))
    house.cards(IDLE, IDLE)
    house.configure({"home": lines(broker)})
    d = house.start()
    eventually(lambda: any(t.endswith("/status") for t in broker.topics()), explain=d.log)
    root = base(broker)
    eventually(lambda: len(broker.on(f"{root}/state")) >= 2, explain=d.log)  # of the first one, everything is there
    assert broker.on(f"{root}/status") == ["online"]
    state = broker.on(f"{root}/state")[-1]
    assert state["gpu_count"] == 2 and state["alerts_firing"] == 0 and "GPU" in state["why"] and state["power_watts"] > 0
    gpu = broker.on(f"{root}/gpu/1")[-1]
    assert gpu["utilization_percent"] == 1 and gpu["temperature_celsius"] > 0 and "GPU 1" in gpu["why"]

    # Each configuration leads to a value: what Home Assistant does with it.
    configs = {t: broker.on(t)[-1] for t in broker.topics() if t.startswith("homeassistant/")}
    retained = {m["topic"] for m in broker.messages if not m.get("retain")}  # a live subscriber sees the flag as 0
    assert set(configs) <= retained
    ids = [c["unique_id"] for c in configs.values()]
    assert len(set(ids)) == len(ids) and all(c["availability_topic"] == f"{root}/status" and c["device"]["identifiers"] for c in configs.values())
    sensors = [c for t, c in configs.items() if t.startswith("homeassistant/sensor/")]
    for c in sensors:
        key = c["value_template"].split("value_json.")[1].split(" ")[0].split("[")[0]
        assert key in broker.on(c["state_topic"])[-1], c
    names = {(c["device"]["name"], c["name"]) for c in sensors}
    host = state["host"]
    assert {(f"{host} GPUs", "Why"), (f"{host} GPU 0", "Why"), (f"{host} GPU 1", "Temperature"), (f"{host} GPU 1", "Power"), (f"{host} GPU 0", "VRAM used")} <= names
    assert {t.split("/")[1] for t in configs} == {"sensor", "binary_sensor", "event"}

    house.cards(BUSY, IDLE)
    alert = eventually(lambda: broker.on(f"{root}/alert"), explain=d.log)[0]
    assert alert["event_type"] == "firing" and alert["alert"] == "busy" and "GPU 0" in alert["why"]
    eventually(lambda: broker.on(f"{root}/state")[-1]["alerts_firing"] == 1, explain=d.log)
    eventually(lambda: broker.on(f"{root}/gpu/0")[-1]["utilization_percent"] == 90, explain=d.log)
    d.stop()
    eventually(lambda: broker.on(f"{root}/status")[-1] == "offline")


@needs_broker
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_host_that_vanishes_is_offline(house, tmp_path, how):  # noqa: F811
    broker = house.target(lambda: brokers.Broker(tmp_path))
    house.configure({"home": lines(broker)})
    d = house.start()
    eventually(lambda: any(t.endswith("/status") for t in broker.topics()), explain=d.log)
    d.stop(how)
    eventually(lambda: broker.on(f"{base(broker)}/status")[-1] == "offline")


@needs_broker
def test_alerts_wait_for_a_broker_that_is_away(house, tmp_path):  # noqa: F811
    broker = house.target(lambda: brokers.Broker(tmp_path, login=True, tls=True))
    house.configure({"home": lines(broker, user="whirr", password="p4ssw0rd", tls_ca=str(broker.ca))})
    d = house.start()
    eventually(lambda: any(t.endswith("/state") for t in broker.topics()), explain=d.log)
    root = base(broker)
    broker.stop()
    house.cards(BUSY)
    eventually(lambda: (n := notifier(d, "home"))["state"] == "retrying" and n["queued"], explain=d.log)
    broker.start()
    assert eventually(lambda: broker.on(f"{root}/alert"), explain=d.log)[0]["alert"] == "busy"
    eventually(lambda: f"{root}/state" in broker.topics() and broker.on(f"{root}/status") == ["online"], explain=d.log)
    eventually(lambda: any(t.startswith("homeassistant/") for t in broker.topics()), explain=d.log)  # a broker without a memory is told anew
    assert "p4ssw0rd" not in d.log()


@needs_broker
def test_a_test_message_needs_no_daemon_and_says_what_is_wrong(tmp_path, monkeypatch):
    broker = brokers.Broker(tmp_path, login=True)
    try:
        def send(**more):
            (tmp_path / "whirr.toml").write_text("[notify.home]\n" + lines(broker, **more))
            return whirr(tmp_path / "whirr.toml", "notify", "test", "home")

        fine = send(user="whirr", password="p4ssw0rd")
        assert fine.returncode == 0 and "delivered" in fine.stdout, fine.stderr
        alert = eventually(lambda: [m for m in broker.messages if m["topic"].endswith("/alert")])[0]
        assert json.loads(alert["payload"])["alert"] == "whirr_test"
        assert not any(t.endswith("/status") for t in broker.topics())  # the daemon did not come or go
        wrong = send(user="whirr", password="wr0ngwr0ng")
        assert wrong.returncode == 1 and "check user and password" in wrong.stderr and "wr0ng" not in wrong.stderr
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
        assert send(user="whirr", password="p4ssw0rd").returncode == 0, "a proxy for the web is none for messages"
        assert "http" not in send(url="https://h").stderr and "mqtt:// or mqtts://" in send(url="https://h").stderr
        assert "+ or #" in send(topic="a/#").stderr
    finally:
        broker.close()
    gone = send()
    assert gone.returncode == 1 and "connect" in gone.stderr.lower()


@needs_desktop
def test_the_desktop_shows_an_alert_and_answers_why(house):  # noqa: F811
    desktop = house.target(brokers.Desktop)
    house.environment = desktop.environment
    house.configure({"me": 'type = "desktop"'}, RULE.replace("warning", "critical"))
    d = house.start()
    house.cards(BUSY)
    note = eventually(lambda: desktop.shown, explain=d.log)[0]
    assert note["app"] == "whirr" and note["title"].startswith("FIRING: busy on GPU 0") and "Why: GPU 0" in note["body"] and note["urgency"] == 2
    assert note["actions"] == ["why", "Why?"]
    desktop.click(note, "why")
    answer = eventually(lambda: desktop.shown[1:], explain=d.log)[0]
    assert answer["replaces"] == note["id"] and answer["title"] == "whirr why --gpu 0" and "GPU 0" in answer["body"]
    house.cards(IDLE)
    over = eventually(lambda: desktop.shown[2:], explain=d.log)[0]
    assert over["title"].startswith("RESOLVED: busy") and over["urgency"] == 0


@needs_desktop
def test_a_desktop_without_a_session_or_a_server_is_said_and_waited_for(house, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    (tmp_path / "one.toml").write_text('[notify.me]\ntype = "desktop"\n')
    none = whirr(tmp_path / "one.toml", "notify", "test", "me")
    assert none.returncode == 1 and "systemctl --user" in none.stderr
    desktop = house.target(lambda: brokers.Desktop(server=False))
    house.environment = desktop.environment
    house.configure({"me": 'type = "desktop"'})
    d = house.start()
    house.cards(BUSY)
    down = eventually(lambda: (n := notifier(d, "me"))["state"] == "retrying" and n, explain=d.log)
    assert "no notification server" in down["last_error"]
    desktop.serve("body")
    note = eventually(lambda: desktop.shown, explain=d.log)[0]
    assert note["actions"] == [] and "busy" in note["title"]
