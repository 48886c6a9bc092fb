# SPDX-License-Identifier: Apache-2.0
"""From an alert to those who are told: the daemon with stand-ins, and with Debian's Alertmanager."""
import datetime
import json
import re
import shutil
import signal
import subprocess
import time
import urllib.request

import pytest
import targets
from conftest import BUILD, PATIENCE, Daemon, eventually, throughout
from isolation import ROOT, linux_only, run_whirr
from ports import free_port
from tsdb import Prometheus

RULE = """
[alerts]
enabled = false

[[alert]]
name = "busy"
when = "utilization_percent > 10"
for = "0s"
severity = "warning"
notify = [{names}]
"""
BUSY, IDLE = "  gpu_util 90\n", "  gpu_util 1\n"


class House:
    """A daemon on a fake driver, whose cards are made busy and idle by the test."""

    def __init__(self, folder, library):
        self.folder, self.library, self.daemons, self.made, self.environment = folder, library, [], [], {}
        (folder / "config").mkdir()
        self.cards(IDLE)

    def target(self, kind=targets.Target):
        self.made.append(kind())
        return self.made[-1]

    def cards(self, *states):
        new = self.folder / "script.new"
        new.write_text("".join("gpu NVIDIA H200\n  profile h200\n" + state for state in states))
        new.rename(self.folder / "script")

    def configure(self, notifiers, rule=RULE):
        """notifiers: name -> lines of its table"""
        names = ", ".join(f'"{name}"' for name in notifiers)
        text = rule.replace("{names}", names) + "".join(f"\n[notify.{name}]\n{lines}\n" for name, lines in notifiers.items())
        (self.folder / "whirr.toml").write_text(text)

    def start(self, *args):
        env = {"WHIRR_NVML_LIBRARY": str(self.library), "WHIRR_FAKE_NVML": str(self.folder / "script"), **self.environment}
        d = Daemon(self.folder, ["--config", str(self.folder / "whirr.toml"), "--source", "nvml", "--interval", "0.1", "--listen", "127.0.0.1:0", *args], env)
        self.daemons.append(d)
        return d


@pytest.fixture
def house(tmp_path):
    library = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
    if not library.exists():
        pytest.skip("the fake NVML library was not built")
    h = House(tmp_path, library)
    yield h
    for d in h.daemons:
        d.stop()
    for t in h.made:
        t.close()


def webhook(target, path="/hook", **more):
    return "\n".join(['type = "webhook"', f'url = "{target.url(path)}"'] + [f"{k} = {v}" for k, v in more.items()])


def notifier(d, name):
    return next(n for n in d.json("/api/notifiers")["notifiers"] if n["name"] == name)


def test_firing_and_resolved_are_posted_as_documented(house):
    hook = house.target()
    house.configure({"ops": webhook(hook, "/hook/s3cretpath")})
    d = house.start()
    house.cards(BUSY)
    firing = eventually(hook.bodies, explain=d.log)[0]
    assert (firing["status"], firing["alert"], firing["severity"], firing["gpu_index"]) == ("firing", "busy", "warning", 0)
    assert firing["gpu_name"] == "NVIDIA H200" and firing["value"] == 90 and firing["summary"] and firing["ended_at"] is None
    house.cards(IDLE)
    resolved = eventually(lambda: hook.bodies()[1:], explain=d.log)[0]
    assert resolved["status"] == "resolved" and resolved["fingerprint"] == firing["fingerprint"]
    assert resolved["started_at"] == firing["started_at"] and resolved["ended_at"] > resolved["started_at"]
    told = eventually(lambda: (n := notifier(d, "ops"))["sent_total"] == 2 and n)
    assert told["queued"] == 0 and told["failed_total"] == 0 and told["last_error"] is None and told["target"] == hook.url("/...")
    metrics = d.get("/metrics").body.decode()
    assert re.search(r'^whirr_notifications_sent_total\{notifier="ops",type="webhook",host="[^"]+"\} 2$', metrics, re.M)
    assert "ops" in d.whirr("notify", "list").stdout
    d.stop()
    assert "s3cretpath" not in d.log()


def test_every_message_has_the_answer_of_why_and_a_link_to_the_moment(house, tmp_path):
    hook, chat = house.target(), house.target(targets.telegram)
    house.configure({"ops": webhook(hook), "chat": f'type = "telegram"\nurl = "{chat.url()}"\ntoken = "{targets.TELEGRAM_TOKEN}"\nto = "-1001234567890"'},
                    RULE + '\n[server]\ndashboard_url = "https://gpu.example.org/whirr/"\n')
    d = house.start()
    house.cards(BUSY)
    firing = eventually(hook.bodies, explain=d.log)[0]
    assert "GPU 0" in firing["why"] and "90%" in firing["why"]
    assert firing["link"] == f"https://gpu.example.org/whirr/?at={firing['started_at'][:19]}Z"
    text = eventually(chat.bodies, explain=d.log)[0]["text"]
    assert f"\nWhy: {firing['why']}\n" in text and text.endswith(firing["link"]) and firing["summary"] in text
    house.cards(IDLE)
    resolved = eventually(lambda: hook.bodies()[1:], explain=d.log)[0]
    assert resolved["link"].endswith(f"?at={resolved['ended_at'][:19]}Z") and resolved["why"] != firing["why"]


def test_mail_waits_for_a_dead_server_and_a_restart(house, tmp_path):
    pytest.importorskip("aiosmtpd")
    port = free_port()
    lines = f'type = "email"\nurl = "smtp://127.0.0.1:{port}"\nto = "me@example.org"\ntls_ca = "{tmp_path}/mail.pem"\nuser = "whirr"\npassword = "p4ssw0rd"'
    house.configure({"mail": lines})
    d = house.start()
    house.cards(BUSY)
    down = eventually(lambda: (n := notifier(d, "mail"))["state"] == "retrying" and n, explain=d.log)
    assert "connect" in down["last_error"].lower()
    d.stop()
    server = house.target(lambda: targets.Mail(tmp_path, port=port))
    again = house.start()
    sender, to, message, tls = eventually(lambda: server.letters, explain=again.log)[0]
    assert to == ["me@example.org"] and tls and "busy" in message["subject"] and "Why: " in message.get_content()
    assert "p4ssw0rd" not in d.log() + again.log() and "cannot be read" not in again.log()


def test_quiet_hours_hold_by_severity_and_are_shown(house):
    hook, calm = house.target(), house.target()
    hour = time.gmtime().tm_hour  # as it is for the daemons of tests
    quiet = f'"{(hour + 23) % 24:02}:00-{(hour + 2) % 24:02}:00"'
    urgent = """
[[alert]]
name = "urgent"
when = "utilization_percent > 10"
severity = "critical"
notify = [{names}]
"""
    rule = RULE.replace("enabled = false", f"enabled = false\nquiet = {quiet}") + urgent
    house.configure({"ops": webhook(hook), "calm": webhook(calm, quiet='["00:00-24:00 all"]')}, rule)
    d = house.start()
    house.cards(BUSY)
    eventually(lambda: [b["alert"] for b in hook.bodies()] == ["urgent"], explain=d.log)
    held = eventually(lambda: (n := notifier(d, "ops"))["held"] == 1 and n["queued"] == 1 and n, explain=d.log)
    assert held["held_until"] and held["quiet"] == [quiet.strip('"')] and held["digest"] == []
    eventually(lambda: notifier(d, "calm")["held"] == 2, explain=d.log)
    assert not calm.requests
    listed = d.whirr("notify", "list").stdout
    assert f"ops: quiet {quiet.strip(chr(34))}; 1 held until " in listed
    d.stop()
    house.configure({"ops": webhook(hook), "calm": webhook(calm)}, rule)
    again = house.start()
    eventually(lambda: notifier(again, "calm")["held"] == 1 and [b["alert"] for b in calm.bodies()] == ["urgent"], explain=again.log)
    house.configure({"ops": webhook(hook), "calm": webhook(calm)}, RULE + urgent)
    again.process.send_signal(signal.SIGHUP)
    eventually(lambda: [b["alert"] for b in calm.bodies()] == ["urgent", "busy"] and [b["alert"] for b in hook.bodies()] == ["urgent", "busy"], explain=again.log)


def test_a_digest_is_one_message(house):
    hook = house.target()
    house.cards(IDLE, IDLE, IDLE)
    later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=6)).strftime("%H:00")  # "hourly" would fail in the last moments of an hour
    house.configure({"ops": webhook(hook, digest=f'["{later}"]')})
    d = house.start()
    house.cards(BUSY, BUSY, BUSY)
    waiting = eventually(lambda: (n := notifier(d, "ops"))["held"] == 3 and n, explain=d.log)
    assert waiting["digest"] == [later] and waiting["held_until"].endswith(":00.000Z")
    assert not hook.requests
    house.configure({"ops": webhook(hook, quiet='["sat,sun 00:00-00:01 info"]')})  # messages that are held are sent together
    d.process.send_signal(signal.SIGHUP)
    body = eventually(hook.bodies, explain=d.log)[0]
    assert body["count"] == 3 and len(hook.requests) == 1


def test_a_dead_target_delays_no_other_and_is_notified_later(house):
    dead, slow, alive = house.target(), house.target(), house.target()
    slow.delay = 10 * PATIENCE
    port = dead.port
    dead.close()
    house.made.remove(dead)
    house.configure({"dead": webhook(dead), "slow": webhook(slow), "alive": webhook(alive)})
    d = house.start()
    house.cards(BUSY)
    eventually(lambda: alive.requests, explain=d.log)
    house.cards(IDLE)
    eventually(lambda: len(alive.requests) == 2, explain=d.log)
    assert not slow.requests  # it has not answered yet: sampling and the other target went on
    down = eventually(lambda: (n := notifier(d, "dead"))["errors_total"] and n["queued"] == 2 and n["state"] == "retrying" and n, explain=d.log)
    assert down["next_try_at"] and "connect" in down["last_error"]
    d.wait_log("notifier dead")
    assert sum("notifier dead" in line for line in d.lines) == 1  # one line an outage
    back = house.target(lambda: targets.Target(port=port))
    eventually(lambda: len(back.requests) == 2, explain=d.log)
    assert [b["status"] for b in back.bodies()] == ["firing", "resolved"]
    d.wait_log("notifier dead.*can be reached again")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_waits_survives_a_restart(house, how):
    dead = house.target()
    dead.close()
    house.made.remove(dead)
    house.configure({"ops": webhook(dead)})
    d = house.start()
    house.cards(BUSY)
    eventually(lambda: notifier(d, "ops")["errors_total"], explain=d.log)
    d.stop(how)
    kept = json.loads((house.folder / "whirr/notify/ops.json").read_text())
    assert [item["notice"]["alert"] for item in kept["queue"]] == ["busy"]
    there = house.target()
    house.configure({"ops": webhook(there)})
    again = house.start()
    eventually(there.bodies, explain=again.log)
    throughout(0.5, lambda: [b["status"] for b in there.bodies()] == ["firing"])  # once, though the rules begin anew
    house.cards(IDLE)
    assert eventually(lambda: there.bodies()[1:], explain=again.log)[0]["status"] == "resolved"


@pytest.mark.parametrize("forgotten", [False, True])
def test_an_alert_that_is_gone_after_a_restart_is_over_for_those_who_heard_of_it(house, forgotten):
    """Its rule is gone, or all that was known of the alerts."""
    hook = house.target()
    house.configure({"ops": webhook(hook)})
    d = house.start()
    house.cards(BUSY)
    eventually(lambda: notifier(d, "ops")["sent_total"], explain=d.log)
    d.stop()
    house.configure({"ops": webhook(hook)}, RULE.replace('"busy"', '"other"').replace("> 10", "> 99"))
    if forgotten:
        (house.folder / "whirr/alerts.json").unlink()
    again = house.start()
    assert eventually(lambda: hook.bodies()[1:], explain=again.log)[0]["status"] == "resolved"


def test_a_damaged_queue_is_moved_aside(house):
    hook = house.target()
    house.configure({"ops": webhook(hook)})
    (house.folder / "whirr/notify").mkdir(parents=True)
    (house.folder / "whirr/notify/ops.json").write_text('{"version": 1, "queue": [{')
    d = house.start()
    d.wait_log("was damaged")
    assert (house.folder / "whirr/notify/ops.json.damaged").exists()
    house.cards(BUSY)
    eventually(lambda: hook.requests, explain=d.log)


@pytest.mark.slow
def test_refusals_are_not_tried_for_ever_and_retry_after_is_heeded(house):
    refuses, busy = house.target(lambda: targets.Target(lambda r: (400, {}, b"no"))), house.target()
    busy.answers = [(429, {"Retry-After": "2"}, b"")]
    house.configure({"refuses": webhook(refuses), "busy": webhook(busy)})
    d = house.start()
    house.cards(BUSY)
    eventually(lambda: len(busy.requests) == 2, explain=d.log)
    first, second = busy.requests
    assert second.at - first.at >= 2 and second.status == 200
    gone = eventually(lambda: (n := notifier(d, "refuses"))["failed_total"] and n, explain=d.log)
    assert gone["queued"] == 0 and len(refuses.requests) == 4
    d.wait_log("notifier refuses: 1 notification dropped")
    # Who did not hear of the beginning does not hear of the end.
    house.cards(IDLE)
    eventually(lambda: len(busy.requests) == 3, explain=d.log)
    assert len(refuses.requests) == 4


@pytest.mark.parametrize("length, body", [(100, b"short"), (1 << 20, b"x" * (1 << 20))], ids=["short", "long"])
def test_what_was_acknowledged_is_not_sent_again(house, length, body):
    """The status is the acknowledgment; what follows it may be cut off or longer than anybody reads."""
    hook = house.target(lambda: targets.Target(lambda request: (200, {"Content-Length": str(length), "Connection": "close"}, body)))
    house.configure({"ops": webhook(hook)})
    d = house.start()
    house.cards(BUSY)
    eventually(lambda: (n := notifier(d, "ops"))["sent_total"] == 1 and n["queued"] == 0, explain=d.log)
    house.cards(IDLE)
    eventually(lambda: notifier(d, "ops")["sent_total"] == 2, explain=d.log)
    assert len(hook.requests) == 2 and notifier(d, "ops")["failed_total"] == 0


def test_groups_and_distances(house):
    grouped, spaced, once = house.target(), house.target(), house.target()
    house.configure({"grouped": webhook(grouped, group_wait='"1s"'), "spaced": webhook(spaced, min_interval='"2500ms"'),
                     "once": webhook(once, resolved="false")})
    house.cards(IDLE, IDLE, IDLE)
    d = house.start()
    house.cards(BUSY, BUSY, BUSY)
    body = eventually(grouped.bodies, explain=d.log)[0]
    assert body["count"] == 3 and sorted(a["gpu_index"] for a in body["alerts"]) == [0, 1, 2]
    house.cards(IDLE, IDLE, IDLE)
    eventually(lambda: {a["gpu_index"] for b in spaced.bodies() for a in b["alerts"] if a["status"] == "resolved"} == {0, 1, 2}, explain=d.log)
    times = [r.at for r in spaced.requests]
    assert len(times) >= 2 and all(later - earlier >= 1.5 for earlier, later in zip(times, times[1:]))
    eventually(lambda: sum(b["count"] for b in grouped.bodies()) == 6, explain=d.log)
    assert grouped.bodies()[-1]["status"] == "resolved" and len(grouped.requests) == 2
    eventually(lambda: len(once.requests) == 3, explain=d.log)
    assert {b["status"] for b in once.bodies()} == {"firing"}


def test_settings_can_change_while_it_runs(house):
    before, after, added = house.target(), house.target(), house.target()
    house.configure({"ops": webhook(before)})
    d = house.start()
    house.cards(BUSY)
    eventually(lambda: before.requests, explain=d.log)
    house.configure({"ops": webhook(after), "new": webhook(added)})
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("reloaded")
    house.cards(IDLE)
    assert eventually(after.bodies, explain=d.log)[0]["status"] == "resolved"  # it heard of the beginning under its old address
    house.cards(BUSY)
    eventually(lambda: added.requests, explain=d.log)


def test_chat_services_take_groups_of_many(house):
    kinds = {name: house.target(getattr(targets, name)) for name in ("slack", "discord", "ntfy")}
    house.configure({name: f'type = "{name}"\nurl = "{t.url("/topic")}"\ngroup_wait = "300ms"' for name, t in kinds.items()})
    house.cards(*[IDLE] * 12)
    d = house.start()
    house.cards(*[BUSY] * 12)
    for name in kinds:
        eventually(lambda: notifier(d, name)["sent_total"] == 12, explain=d.log)
        assert all(r.status in (200, 204) for r in kinds[name].requests)


# ---- the real Alertmanager ----

@pytest.fixture
def alertmanager(tmp_path):
    """Debian's Alertmanager with a receiver of ours; alerts that nobody repeats are over after 2 seconds."""
    program = shutil.which("prometheus-alertmanager")
    if not program:
        pytest.skip("no prometheus-alertmanager (tools/deps test)")
    receiver = targets.Target()
    port = free_port()
    (tmp_path / "am.yml").write_text(f"""
global: {{resolve_timeout: 2s}}
route: {{receiver: r, group_wait: 0s, group_interval: 1s, group_by: [alertname, gpu]}}
receivers: [{{name: r, webhook_configs: [{{url: "{receiver.url('/am')}", send_resolved: true}}]}}]
""")
    process = subprocess.Popen([program, f"--config.file={tmp_path}/am.yml", f"--storage.path={tmp_path}/am", f"--web.listen-address=127.0.0.1:{port}",
                                "--cluster.listen-address="], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    class Alertmanager:
        url = f"http://127.0.0.1:{port}"
        received = receiver

        @staticmethod
        def alerts():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/alerts", timeout=PATIENCE) as answer:
                return json.load(answer)

    def answers():
        try:
            return Alertmanager.alerts() == []
        except OSError:
            return False

    eventually(answers)
    yield Alertmanager
    process.kill()
    process.wait()
    receiver.close()


@pytest.mark.slow
def test_alertmanager_takes_alerts_and_their_end(house, alertmanager):
    house.configure({"am": f'type = "alertmanager"\nurl = "{alertmanager.url}"'},
                    RULE + 'labels = { team = "ml" }\n')
    d = house.start()
    house.cards(BUSY)
    alert, = eventually(lambda: [a for a in alertmanager.alerts() if a["status"]["state"] == "active"], explain=d.log)
    labels = alert["labels"]
    assert (labels["alertname"], labels["severity"], labels["gpu"], labels["team"]) == ("busy", "warning", "0", "ml")
    assert alert["annotations"]["summary"] and alert["annotations"]["value"] == "90"
    # It outlives the server's own resolve_timeout (2 s): its end is set ahead, and it is repeated before that.
    throughout(3, lambda: len(alertmanager.alerts()) == 1)
    house.cards(IDLE)
    ended = eventually(lambda: next((b for b in alertmanager.received.bodies() if b["status"] == "resolved"), None), explain=d.log)
    assert ended["alerts"][0]["labels"]["alertname"] == "busy" and ended["alerts"][0]["endsAt"] > ended["alerts"][0]["startsAt"]


@pytest.mark.slow
def test_alertmanager_keeps_one_alert_of_rules_and_notifier(start, alertmanager, tmp_path):
    """As the shipped rules have it in a real Prometheus, and as the daemon sends it by itself."""
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    (tmp_path / "whirr.toml").write_text(f'[alerts]\nnotify = ["am"]\n[notify.am]\ntype = "alertmanager"\nurl = "{alertmanager.url}"\n')
    (tmp_path / "whirr.toml").chmod(0o600)
    d = start("--interval", "0.3", "--config", str(tmp_path / "whirr.toml"), source="sim:scenario=idle,gpus=2,fault=lost@1")
    sent, = eventually(lambda: [a for a in alertmanager.alerts() if a["labels"]["code"] == "lost"], explain=d.log)
    assert sent["labels"]["alertname"] == "GpuLost" and "description" not in sent["annotations"], sent
    prometheus = Prometheus(tmp_path / "prometheus", [f"127.0.0.1:{d.port}"], rules=[ROOT / "packaging" / "prometheus" / "whirr.rules.yml"], alertmanager=alertmanager.url.removeprefix("http://")).start()
    try:
        # The rule has a description of its own, which takes the place of the notifier's until that is repeated.
        seen = eventually(lambda: [a for a in alertmanager.alerts() if "whirr why --gpu 1" in a["annotations"].get("description", "")], explain=prometheus.log)
        assert len(seen) == 1 and seen[0]["fingerprint"] == sent["fingerprint"] and seen[0]["annotations"]["runbook_url"] == sent["annotations"]["runbook_url"], (sent, seen)
        assert [a["labels"]["alertname"] for a in alertmanager.alerts()] == ["GpuLost"]
    finally:
        prometheus.stop()


def test_alertmanager_hears_again_of_what_fires_after_a_restart(house, alertmanager):
    house.configure({"am": f'type = "alertmanager"\nurl = "{alertmanager.url}/api/v2"'})
    first = house.start()
    house.cards(BUSY)
    before, = eventually(alertmanager.alerts, explain=first.log)
    first.stop()
    again = house.start()
    after, = eventually(lambda: [a for a in alertmanager.alerts() if a["updatedAt"] > before["updatedAt"]], explain=again.log)
    assert after["fingerprint"] == before["fingerprint"] and after["startsAt"] == before["startsAt"] and after["endsAt"] > before["endsAt"]


@linux_only("peers of sockets have a process")
def test_who_adds_a_notifier_is_told_how_the_daemon_learns_of_it(start, tmp_path):
    """A daemon started by hand, one of a service, and none."""
    def said(word, **environment):
        done = run_whirr("--config", tmp_path / "own.toml", "--sysroot", tmp_path, "notify", *word.split(), folder=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()[-1]

    new = "add ops webhook --url http://127.0.0.1:9/x --no-test"
    assert said(new) == "No daemon is running; one that starts uses it: whirr serve, or as a service: whirr setup"
    d = start()
    there = {"WHIRR_SERVER_SOCKET": d.sock}
    assert said("remove ops", **there) == f"To use it now: kill -HUP {d.process.pid}"
    group = tmp_path / "proc" / str(d.process.pid) / "cgroup"
    group.parent.mkdir(parents=True)
    group.write_text("0::/system.slice/whirr.service\n")
    assert said(new, **there).startswith("To use it now: systemctl ")
