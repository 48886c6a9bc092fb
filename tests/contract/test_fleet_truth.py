# SPDX-License-Identifier: Apache-2.0
"""What a fleet says of hosts that are not there, not whole, or not who they seem to be."""
import glob
import json
import re
import signal
import sqlite3
import subprocess
import time
import urllib.request

import pytest
import targets
from daemons import Daemon
from isolation import WHIRR, environment
from tsdb import Prometheus, VictoriaMetrics
from waiting import PATIENCE, eventually

CLOCK = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib*/faketime/libfaketimeMT.so.1")), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Prometheus.installed(), reason="no prometheus (tools/deps test)")]


@pytest.fixture
def ask(tmp_path):
    def run(*args, config="", **more):
        file = tmp_path / "fleet.toml"
        file.write_text(config)
        file.chmod(0o600)
        return subprocess.run([WHIRR, "--config", str(file), *args], env=dict(environment(tmp_path), **more), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    return run


def status(ask, url, **more):
    done = ask("status", "--fleet", url, "--json", **more)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    return found, {h["host"]: h for h in found["hosts"]}


class Samples:
    """Text for promtool, in the order that it wants."""

    def __init__(self):
        self.lines, self.now = {}, time.time()

    def add(self, name, value, ago=0, /, **labels):
        text = ",".join(f'{k}="{v}"' for k, v in labels.items())
        self.lines.setdefault(name, []).append(f"{name}{{{text}}} {value} {self.now - ago:.3f}")

    def sums(self, name, watts, gpus=8, judged=8, held=0, **more):
        """What a host adds up itself."""
        where = dict({"host": name, "instance": name, "job": "whirr"}, **more)
        self.add("whirr_host_gpus", gpus, **dict({"set": name}, **where))
        for figure, value in (("s_judged", judged), ("s_with_utilization", gpus), ("_utilization_percent", 50), ("_memory_used_bytes", gpus * 2**30),
                              ("_memory_total_bytes", gpus * 2**31), ("_memory_held_idle_bytes", held), ("_temperature_celsius", 71), ("_power_watts", watts)):
            self.add("whirr_host_gpu" + figure, value, **where)
        return self

    def host(self, name, gpus=8, job="whirr", uuid=None, instance=None, skip=()):
        where = {"host": name, "instance": instance or name, "job": job}
        self.add("whirr_build_info", 1, version="1", **where)
        for gpu in range(gpus):
            labels = dict(where, gpu=gpu, uuid=f"GPU-{uuid or name}-{gpu}", name="H100")
            if gpu in skip:
                continue
            self.add("gpu_up", 1, **labels)
            self.add("gpu_power_watts", 100, **labels)
            self.add("gpu_memory_used_bytes", 2**30, **labels)
            self.add("whirr_finding", 1, code="compute_load", severity="info", process="", likelihood="likely", held="true", **labels)
            process = dict(labels, process="train.py", user="alice", container="")
            self.add("gpu_process_memory_bytes", 2**30, **process)
            self.add("gpu_process_power_watts", 90, **process)
        return self

    def __str__(self):
        return "".join(f"# TYPE {name} gauge\n" + "\n".join(rows) + "\n" for name, rows in self.lines.items()) + "# EOF\n"


def filled(folder, samples):
    return Prometheus(folder / "prometheus").filled(str(samples)).start()


def imported(folder, samples, **more):
    """A VictoriaMetrics with these samples."""
    database = VictoriaMetrics(folder / "victoria", **more).start()
    rows = "\n".join(re.sub(r" (\d+)\.(\d{3})$", r" \1\2", row) for rows in samples.lines.values() for row in rows)
    urllib.request.urlopen(database.url + "/api/v1/import/prometheus", data=rows.encode(), timeout=PATIENCE).close()
    urllib.request.urlopen(database.url + "/internal/force_flush", timeout=PATIENCE).close()
    return database


@pytest.mark.parametrize("fill", [filled, imported])
def test_a_host_that_was_killed_is_silent_before_its_last_numbers_are_forgotten(ask, tmp_path, fill):
    """By how often it came before: one that is scraped every five seconds and was last seen 50 s ago is gone, also where it came for half a minute; one every
    minute is not. Its GPUs are gone, too: what they did last is told as that. Once it is forgotten, it is not missed until it is heard again."""
    if fill is imported and not VictoriaMetrics.installed():
        pytest.skip("no VictoriaMetrics (tools/deps test)")
    samples = Samples()
    for host, every, first, last in (("killed", 5, 295, 50), ("young", 5, 80, 50), ("rare", 60, 295, 100), ("fine", 60, 295, 0)):
        for ago in range(first, last - 1, -every):
            where = {"host": host, "instance": host, "job": "whirr"}
            if host == "young":
                samples.add("whirr_time_seconds", samples.now - ago, ago, **where)
            samples.add("whirr_build_info", 1, ago, version="1", **where)
            samples.add("gpu_up", 1, ago, gpu=0, uuid=f"GPU-{host}", name="H100", **where)
            samples.add("gpu_memory_free_bytes", 2**36, ago, gpu=0, uuid=f"GPU-{host}", name="H100", **where)
            samples.add("gpu_power_watts", 100, ago, gpu=0, uuid=f"GPU-{host}", name="H100", **where)
            samples.add("whirr_host_gpus", 1, ago, set=host, **where)
            samples.add("whirr_host_gpus_judged", 1, ago, **where)
            samples.add("whirr_host_gpu_power_watts", 700 + ago, ago, **where)
    database = fill(tmp_path, samples)

    def forgotten_since():
        """As the daemon of this host tells it to the rule about silent hosts."""
        d = Daemon(tmp_path, ["--source", "sim:gpus=1", "--listen", "127.0.0.1:0"], {})
        try:
            text = eventually(lambda: "gpu_up" in (body := d.get("/metrics").body.decode()) and body, explain=d.log)
            return int(re.search(r'^whirr_host_forgotten_timestamp_seconds{forgotten="killed",host="[^"]+"} (\d+)$', text, re.M).group(1))
        finally:
            d.stop()
    try:
        found, hosts = eventually(lambda: len((s := status(ask, database.url))[1]) == 4 and s, explain=database.log)
        assert {n for n, h in hosts.items() if h["trouble"] == "silent"} == {"killed", "young"} and hosts["killed"]["note"].startswith("not answering for "), hosts
        assert hosts["killed"]["power_watts"] is None and hosts["killed"]["last_seen_at"] and hosts["rare"]["power_watts"] == hosts["fine"]["power_watts"] == 100
        room = ask("fit", "1GiB", "--fleet", database.url, "--json").stdout
        assert "rare" in room and "killed" not in room, room
        assert (hosts["killed"]["last_known"]["gpu_count"], hosts["killed"]["last_known"]["power_watts"], hosts["rare"]["last_known"]) == (1, 750, None), hosts["killed"]
        for command in (("status",), ("top", "--once", "--size", "140x20")):
            text = ask(*command, "--fleet", database.url, COLUMNS="200").stdout
            assert "(750)" in text and "(800)" not in text and ("last numbers" in text or command[0] == "top"), text
        forget = lambda *args: ask("fleet", "forget", *args, "--fleet", database.url, USER="alice")  # noqa: E731
        for args, code, said in ((("fine",), 1, "fine answers"), (("kiled",), 1, "no host that does not answer is called 'kiled'"), (("--undo", "killed"), 1, "no forgotten host"),
                                 (("killed", "--dry-run"), 0, "forget killed"), (("killed",), 0, "Forgotten: killed")):
            done = forget(*args)
            assert done.returncode == code and said in done.stdout + done.stderr, done
        found, hosts = status(ask, database.url)
        assert set(hosts) == {"rare", "fine", "young"} and found["hosts_not_answering"] == 1, found["answer"]
        kept = json.loads(forget("--json").stdout)["hosts"]
        assert [(h["host"], h["state"], (h["forgotten"] or {}).get("by")) for h in kept] == [("killed", "forgotten", "alice"), ("young", "silent", None)], kept
        assert forgotten_since() > samples.now - 60
        assert forget("--undo", "killed").returncode == 0 and status(ask, database.url)[1]["killed"]["trouble"] == "silent"
        assert forgotten_since() == 0
    finally:
        database.stop()


@pytest.mark.parametrize("fill", [filled, imported])
def test_a_host_is_its_machine_whatever_it_is_called(ask, tmp_path, fill):
    """One was renamed, one got a new system at its old address, of two that share a name one was killed, and of two that share the ID of a cloned disk, too."""
    if fill is imported and not VictoriaMetrics.installed():
        pytest.skip("no VictoriaMetrics (tools/deps test)")
    samples = Samples()
    for host, instance, machine, first, last in (
            ("before", "10.0.0.1", "m1", 290, 150), ("after", "10.0.0.1", "m1", 140, 0), ("anew", "10.0.0.2", "m2", 290, 150), ("anew", "10.0.0.2", "m3", 140, 0),
            ("shared", "10.0.0.3", "m4", 290, 0), ("shared", "10.0.0.4", "m5", 290, 90), ("clone1", "10.0.0.5", "m6", 290, 0), ("clone2", "10.0.0.6", "m6", 290, 90),
            ("name1", "10.0.0.7", "m7", 290, 200), ("name2", "10.0.0.7", "m7", 190, 100)):
        for ago in range(first, last - 1, -5):
            where = {"host": host, "instance": instance, "job": "whirr"}
            samples.add("whirr_build_info", 1, ago, version="1", machine=machine, **where)
            samples.add("gpu_up", 1, ago, gpu=0, uuid=f"GPU-{instance}", name="H100", **where)
            samples.add("whirr_host_gpus", 1, ago, set=instance, **where)
            samples.add("whirr_host_gpu_power_watts", {"m4": 400, "m5": 500}.get(machine, 100), ago, **where)
    database = fill(tmp_path, samples)
    try:
        found, hosts = eventually(lambda: len((s := status(ask, database.url))[1]) >= 4 and s, explain=database.log)
        silent = {n: h["last_known"]["power_watts"] for n, h in hosts.items() if h["trouble"] == "silent"}
        assert silent == {"shared (10.0.0.4)": 500, "clone2": 100, "name2": 100}, hosts
        assert set(hosts) == set(silent) | {"after", "anew", "shared", "clone1"} and [len(hosts[n]["gpus"]) for n in ("shared", "anew")] == [1, 1], hosts
        done = ask("fleet", "forget", "shared (10.0.0.4)", "--fleet", database.url)
        assert done.returncode == 0 and {n for n, h in status(ask, database.url)[1].items() if h["trouble"] == "silent"} == {"clone2", "name2"}, done
    finally:
        database.stop()


@pytest.mark.skipif(not VictoriaMetrics.installed(), reason="no VictoriaMetrics (tools/deps test)")
def test_a_host_that_has_just_come_is_not_silent(ask, tmp_path):
    """VictoriaMetrics lists it at once, and shows nothing of the last 30 s unless it is asked to."""
    samples = Samples()
    samples.now -= 5  # its last second is hidden in any case
    database = imported(tmp_path, samples.host("new", gpus=1), patient=True)
    try:
        found, hosts = status(ask, database.url)
        assert found["hosts_not_answering"] == 0 and hosts["new"]["trouble"] != "silent", found
    finally:
        database.stop()


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
@pytest.mark.parametrize("drop", [25e3, None, 0], ids=["corrected", "reset", "steady"])
def test_a_counter_that_goes_back_a_little_is_not_counted_from_zero(ask, tmp_path, kind, drop):
    """21.3 kWh of a GPU's life, and 100 W in the last hour; in its middle the driver corrects the counter by 7 Wh, or is loaded anew."""
    if not kind.installed():
        pytest.skip(f"no {kind.__name__} (tools/deps test)")
    samples, value = Samples(), 21.3 * 3.6e6
    for minute in range(62):
        where = {"host": "a", "instance": "a", "job": "whirr", "gpu": 0, "uuid": "GPU-a-0"}
        if minute == 31:
            value = 0 if drop is None else value - drop
        samples.add("gpu_power_watts", 100, (61 - minute) * 60, **where)
        samples.add("gpu_energy_joules_total", value, (61 - minute) * 60, **where)
        value += 6000
    database = (filled if kind is Prometheus else imported)(tmp_path, samples)
    try:
        done = ask("report", "--fleet", database.url, "--since", "-1h", "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["energy_joules"] == pytest.approx(360e3, rel=0.05), done
    finally:
        database.stop()


def test_the_odd_one_out_of_its_siblings_is_named_with_their_number(ask, tmp_path):
    """What the recording rules found (tests of theirs: whirr.test.yml), by one query."""
    samples = Samples().host("a", gpus=2).host("b", gpus=2)
    kind = {"host": "b", "gpu": 1, "uuid": "GPU-b-1", "name": "H100", "process": "train.py"}
    samples.add("gpu:odd_watts", 0.22, **kind)
    samples.add("gpu:odd_celsius", 14.2, **kind)
    samples.add("gpu:odd_siblings", 511, **kind)
    database = filled(tmp_path, samples)
    try:
        found, hosts = eventually(lambda: (s := status(ask, database.url))[1] and s, explain=database.log)
        said = "GPU 1 is 14 °C hotter and draws 22% more power than its 511 siblings (H100, train.py)"
        assert hosts["b"]["note"] == said and (hosts["b"]["trouble"], hosts["b"]["code"]) == ("unusual", "odd_one_out") and hosts["a"]["trouble"] == "fine", hosts
        for command in ("status", "why"):
            assert said[:40] in ask(command, "--fleet", database.url).stdout, command  # as much as there is room for
    finally:
        database.stop()


def push_settings(folder, name, url):
    file = folder / f"{name}.toml"
    file.write_text(f'[metrics]\nlabels = {{ host = "{name}" }}\n[push.db]\nurl = "{url}"\ninterval = "200ms"\n')
    file.chmod(0o600)
    return str(file)


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_hosts_that_are_gone_are_named_with_since_when(start, ask, tmp_path, kind):
    """Two push and one is scraped; of each kind one ends. A stop ends its series at once, five minutes before a kill would. Where one is scraped, one that
    pushes is paused: it is named by how often it came, however short it was there, and back when it goes on."""
    if not kind.installed():
        pytest.skip(f"no {kind.__name__} (tools/deps test)")
    scraped = start("--interval", "0.5", "--config", push_settings(tmp_path, "scraped", "http://127.0.0.1:1/"), source="sim:gpus=1") if kind is Prometheus else None
    database = (Prometheus(tmp_path / "db", [f"127.0.0.1:{scraped.port}"]) if scraped else VictoriaMetrics(tmp_path / "db")).start()
    try:
        hosts = {n: start("--interval", "0.5", "--config", push_settings(tmp_path, n, database.url + database.write), source="sim:gpus=2") for n in ("stays", "goes", *["pauses"] * bool(scraped))}
        there = set(hosts) | ({"scraped"} if scraped else set())
        eventually(lambda: database.query("up") is not None and there <= set(status(ask, database.url)[1]), explain=database.log)
        hosts["goes"].stop()
        if scraped:
            scraped.process.send_signal(signal.SIGKILL)
            hosts["pauses"].process.send_signal(signal.SIGSTOP)
        away = there - {"stays"}
        found, by_name = eventually(lambda: (s := (database.query("up"), status(ask, database.url))[1]) and {n for n, h in s[1].items() if h["trouble"] == "silent"} == away
                                    and all(s[1][n]["last_seen_at"] for n in away) and s, explain=lambda: [(h["host"], h["note"], h["last_seen_at"]) for h in status(ask, database.url)[0]["hosts"]])
        assert found["hosts_not_answering"] == len(away) and all(n in found["answer"] for n in away), found["answer"]
        assert all(h["note"].startswith("not answering for ") for n, h in by_name.items() if n in away) and by_name["stays"]["last_seen_at"] is None
        for command in (("status",), ("why",), ("top", "--once", "--size", "120x20")):
            text = ask(*command, "--fleet", database.url).stdout
            assert all(any(n in line and "not answering for" in line for line in text.splitlines()) for n in away), text
        daemon = start(WHIRR_FLEET_URL=database.url)
        daemon.wait_sampled()
        answer = eventually(lambda: daemon.json("/api/fleet")["fleet"])
        assert {h["host"] for h in answer["status"]["hosts"] if h["trouble"] == "silent" and h["last_seen_at"]} == away
        if scraped:
            hosts["pauses"].process.send_signal(signal.SIGCONT)
            eventually(lambda: status(ask, database.url)[1]["pauses"]["trouble"] != "silent", explain=hosts["pauses"].log)
    finally:
        database.stop()


def test_a_host_that_lived_for_an_hour_yesterday_is_silent_since_then_and_one_of_last_month_is_not(ask, tmp_path):
    samples = Samples().host("here")
    for ago in (20 * 3600 + 60, 20 * 3600):
        samples.add("whirr_build_info", 1, ago, host="brief", instance="brief", version="1")
    samples.add("whirr_build_info", 1, 30 * 86400, host="old", instance="old", version="1")
    database = filled(tmp_path, samples)
    try:
        found, hosts = status(ask, database.url)
        assert set(hosts) == {"here", "brief"} and hosts["brief"]["note"].startswith("not answering for 20h"), hosts["brief"]
        assert found["answer"].endswith(": 1 host not answering (brief)"), found["answer"]
    finally:
        database.stop()


def test_a_clock_that_is_off_is_neither_silence_nor_missing_gpus(ask, tmp_path):
    """Of a scraped host the scrape has the right time, of a pushing one its receiver had."""
    samples = Samples().host("right").host("slow").host("fast")
    for host, off in (("right", -29), ("slow", -600), ("fast", 45)):
        samples.add("whirr_time_seconds", f"{samples.now + off:.3f}", host=host, instance=host)
    for host, ahead in (("late", -7200), ("dead", -60)):
        for ago in (7260, 7200):
            samples.add("whirr_build_info", 1, ago, host=host, instance=host, version="1")
            samples.add("whirr_push_clock_ahead_seconds", ahead, ago, host=host, instance=host, target="central")
    database = filled(tmp_path, samples)
    try:
        found, hosts = status(ask, database.url, config='[fleet]\nexpect = ["late=8"]\n')
        assert {n: h["clock_ahead_seconds"] for n, h in hosts.items()} == {"right": None, "slow": -600, "fast": 45, "late": -7200, "dead": None}
        assert {n: (h["code"], h["trouble"], h["note"]) for n, h in hosts.items() if h["clock_ahead_seconds"]} == {
            "slow": ("clock_off", "unusual", "its clock is 10m behind the database's"), "fast": ("clock_off", "unusual", "its clock is 45s ahead of the database's"),
            "late": ("clock_off", "unusual", "its clock is 2h behind the database's: its readings are stored at the wrong time")}
        assert hosts["dead"]["trouble"] == "silent" and found["hosts_not_answering"] == 1 and found["clocks_off"] == 3 and found["gpus_missing"] == 0
        assert found["answer"].endswith(": 1 host not answering (dead), 3 hosts with a wrong clock"), found["answer"]
        assert "slow: its clock is 10m behind the database's" in ask("why", "--fleet", database.url).stdout
    finally:
        database.stop()


@pytest.mark.skipif(not CLOCK, reason="no libfaketime (Debian: faketime)")
def test_hosts_ten_minutes_behind_say_so_scraped_and_pushing(start, ask, tmp_path):
    behind = {"LD_PRELOAD": CLOCK, "FAKETIME": "-600s", "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
    scraped = start("--interval", "0.5", "--config", push_settings(tmp_path, "scraped", "http://127.0.0.1:1/"), source="sim:gpus=1", **behind)
    database = Prometheus(tmp_path / "db", [f"127.0.0.1:{scraped.port}"]).start()
    try:
        start("--interval", "0.5", "--config", push_settings(tmp_path, "pushing", database.url + database.write), source="sim:gpus=1", **behind)
        hosts = eventually(lambda: (h := status(ask, database.url)[1]) and {n for n in h if h[n]["code"] == "clock_off"} == {"scraped", "pushing"} and h,
                           explain=lambda: [(h["host"], h["note"]) for h in status(ask, database.url)[0]["hosts"]])
        assert all(-605 < hosts[n]["clock_ahead_seconds"] < -595 and hosts[n]["trouble"] == "unusual" for n in hosts), hosts
    finally:
        database.stop()


def test_what_is_expected_and_missing_is_named(ask, tmp_path):
    samples = Samples().host("gpu001").host("gpu002", skip=(3, 7)).host("gpu006", 4).host("odd", 4)
    samples.add("whirr_build_info", 1, host="gpu003", instance="gpu003", version="1")  # there, without a GPU
    samples.add("whirr_finding", 1, host="gpu003", instance="gpu003", code="no_driver", severity="warning", process="", likelihood="likely", held="true")
    samples.add("whirr_build_info", 1, 7200, host="gpu004", instance="gpu004", version="1")
    database = filled(tmp_path, samples)
    try:
        expect = '[fleet]\nexpect = ["gpu[001-005]=8", "*=4"]\n'
        found, hosts = status(ask, database.url, config=expect)
        assert {n: h["gpus_expected"] for n, h in hosts.items()} == {"gpu001": 8, "gpu002": 8, "gpu003": 8, "gpu004": 8, "gpu005": 8, "gpu006": 4, "odd": 4}
        assert hosts["gpu002"]["note"] == "2 of 8 GPUs are missing: 3, 7" and hosts["gpu002"]["trouble"] == "degraded" and hosts["gpu002"]["code"] == "gpus_missing"
        assert hosts["gpu005"]["note"] == "expected, but not seen in the last week" and hosts["gpu005"]["trouble"] == "silent"
        assert hosts["gpu004"]["note"].startswith("not answering for 2h") and hosts["gpu001"]["note"] is hosts["odd"]["note"] is None
        assert found["gpus_missing"] == 10 and "10 GPUs missing, 2 hosts not answering (gpu004, gpu005)" in found["answer"], found["answer"]
        assert "gpu005" in ask("why", "--fleet", database.url, config=expect).stdout
        # Without it that is not known, and the host without a GPU says what it found itself.
        found, hosts = status(ask, database.url)
        assert found["gpus_missing"] == 0 and hosts["gpu002"]["gpus_expected"] is None and hosts["gpu003"]["note"] == "The driver is not loaded"
    finally:
        database.stop()
    wrong = ask("config", "check", config='[fleet]\nexpect = ["gpu[5-1]=8"]\n')
    assert wrong.returncode == 1 and "fleet.expect: invalid entry 'gpu[5-1]=8'" in wrong.stdout + wrong.stderr, wrong


def test_one_host_under_two_jobs_is_one_and_two_hosts_of_one_name_are_two(ask, tmp_path):
    samples = Samples().host("twice", instance="10.0.0.1:9447", job="whirr").host("twice", job="pushed")
    samples.host("clash", 2, uuid="a", instance="10.0.0.2:9447").host("clash", 2, uuid="b", instance="10.0.0.3:9447")
    samples.host("merged", 2, uuid="c").host("merged", 2, uuid="d", job="other")  # two that push under one name: whose GPU is whose can't be known
    samples.host("strange", 1, uuid="x\u202ey")  # what would turn a line around is not shown, and its GPU is one all the same
    database = filled(tmp_path, samples)
    try:
        found, hosts = status(ask, database.url)
        assert len(hosts["twice"]["gpus"]) == 8 and hosts["twice"]["power_watts"] == 800, hosts["twice"]
        assert set(hosts) == {"twice", "merged", "clash (10.0.0.2:9447)", "clash (10.0.0.3:9447)", "strange"} and found["gpu_count"] == 8 + 4 + 4 + 1
        assert hosts["strange"]["power_watts"] == 100 and hosts["strange"]["gpus"][0]["uuid"] == "GPU-x?y-0", hosts["strange"]
        for host in set(hosts) - {"twice", "strange"}:
            assert hosts[host]["code"] == "name_shared" and hosts[host]["trouble"] == "unusual", hosts[host]
        assert hosts["merged"]["note"] == "two hosts are called merged: GPU 0 is GPU-c-0 and GPU-d-0" and len(hosts["merged"]["gpus"]) == 4
        found, hosts = status(ask, database.url, config='[fleet]\nexpect = ["clash=2"]\n')  # by the name that both have, not the one that they are shown with
        assert found["hosts_not_answering"] == found["gpus_missing"] == 0 and "clash" not in hosts, found["answer"]
        users = json.loads(ask("ps", "--fleet", database.url, "--by", "user", "--json").stdout)["users"]
        assert users == [{"user": "alice", "memory_mb": 17 * 1024, "utilization_percent": None, "power_watts": 17 * 90, "absent": {"utilization_percent": "unread"}}], users
        by_host = {h["host"]: h["memory_mb"] for h in json.loads(ask("ps", "--fleet", database.url, "--by", "host", "--json").stdout)["hosts"]}
        assert by_host["twice"] == 8 * 1024 and by_host["merged"] == 4 * 1024, by_host
    finally:
        database.stop()


def test_a_table_of_hosts_is_made_of_what_hosts_add_up_themselves(ask, tmp_path):
    """Watts that differ from those of the GPUs show which ones were asked for."""
    samples = Samples()
    for host in ("calm", "bad", "held", "lost"):
        samples.host(host).sums(host, 900, held=6 * 2**30 if host == "held" else 0)
    samples.host("new").sums("new", 900, judged=6)
    labels = {"instance": "bad", "job": "whirr", "name": "H100", "process": "", "likelihood": "very likely", "held": "true"}
    for gpu in (2, 5):
        samples.add("whirr_finding", 1, host="bad", gpu=gpu, uuid=f"GPU-bad-{gpu}", code="ecc", severity="critical", **labels)
    samples.add("whirr_finding", 1, host="held", gpu=1, uuid="GPU-held-1", code="vram_held", severity="info", **dict(labels, instance="held"))
    samples.add("gpu_up", 0, host="lost", instance="lost", job="whirr", gpu="", uuid="GPU-gone", name="H100")
    database = filled(tmp_path, samples)
    try:
        lines = ask("status", "--fleet", database.url, COLUMNS="200").stdout.splitlines()
        assert lines[0] == "5 hosts, 41 GPUs, 50% utilized, 4.5 kW: 1 lost, 2 failing, 1 held but idle, 2 not judged", lines[0]
        assert [(line.split()[:7], line.split("900")[1].strip()) for line in lines[2:]] == [
            ([host, gpus, "50%", "8/16", "71", "°C", "900"], note) for host, gpus, note in (
                ("lost", "9", "GPU GPU-gone is lost"), ("bad", "8", "2 GPUs are failing: memory errors could not be corrected"),
                ("held", "8", "GPU 1 is held but idle (6.0 GiB)"), ("new", "8", "2 GPUs are not judged"), ("calm", "8", ""))], lines
        why = ask("why", "--fleet", database.url).stdout
        assert "bad: 2 GPUs are failing" in why and "calm" not in why, why
        assert "3 of 11 GPUs are missing" in ask("status", "--fleet", database.url, config='[fleet]\nexpect = ["calm=11"]\n').stdout
        assert status(ask, database.url)[1]["calm"]["power_watts"] == 800  # JSON has every GPU
    finally:
        database.stop()


@pytest.mark.parametrize("how", ["old", "shared"])
def test_every_gpu_is_asked_for_where_sums_are_not_enough(ask, tmp_path, how):
    """An older whirr exports none, and of two hosts with one name they are not known to be two."""
    samples = Samples().host("a").sums("a", 900)
    if how == "old":
        samples.host("b")
    else:
        samples.host("a", uuid="other", instance="b").sums("a", 900, instance="b", set="other")
    database = filled(tmp_path, samples)
    try:
        lines = ask("status", "--fleet", database.url).stdout.splitlines()
        assert lines[0].startswith("2 hosts, 16 GPUs, 1.6 kW"), lines
    finally:
        database.stop()


def test_what_a_host_adds_up_is_what_its_gpus_say(start):
    d = start("--interval", "0.5", source="sim:gpus=4,scenario=mixed,model=h100")
    d.wait_sampled()
    series = {}
    for line in d.get("/metrics").body.decode().splitlines():
        if not line.startswith("#") and "mig_uuid" not in line:
            series.setdefault(line.split("{")[0].split()[0], []).append(float(line.rsplit(" ", 1)[1]))
    for name, of, how in (("power_watts", "power_watts", sum), ("memory_used_bytes", "memory_used_bytes", sum), ("memory_total_bytes", "memory_total_bytes", sum),
                          ("temperature_celsius", "temperature_celsius", max), ("utilization_percent", "utilization_percent", lambda v: sum(v) / len(v))):
        assert series["whirr_host_gpu_" + name] == [pytest.approx(how(series["gpu_" + of]), abs=0.11)], name
    assert series["whirr_host_gpus"] == series["whirr_host_gpus_judged"] == series["whirr_host_gpus_with_utilization"] == [4]


def test_one_setting_names_the_host_everywhere(start, ask, tmp_path):
    received = targets.Target(lambda request: (200, {}, b""))
    config = f"""[server]
host_name = "rack7"
[metrics]
sets = ["dcgm"]
[push.otel]
protocol = "otlp"
url = "{received.url('/v1/metrics')}"
interval = "200ms"
[notify.hook]
type = "webhook"
url = "{received.url('/alert')}"
[[alert]]
name = "always"
when = "temperature_celsius > 0"
notify = ["hook"]
"""
    file = tmp_path / "named.toml"
    file.write_text(config)
    file.chmod(0o600)
    try:
        d = start("--interval", "0.3", "--config", str(file), "--store", f"sqlite:{tmp_path}/history.db", source="sim:gpus=1", NODE_NAME="pod-node")
        metrics = eventually(lambda: (text := d.get("/metrics").body.decode()) and "DCGM_FI_DEV_GPU_TEMP_CELSIUS{" in text and text)
        lines = [line for line in metrics.splitlines() if not line.startswith("#")]
        assert all('host="rack7"' in line for line in lines) and any('hostname="rack7"' in line for line in lines if line.startswith("DCGM_")), lines[:3]
        otlp = eventually(lambda: [r.json() for r in list(received.requests) if r.path == "/v1/metrics"], explain=d.log)[0]
        assert {"key": "host.name", "value": {"stringValue": "rack7"}} in otlp["resourceMetrics"][0]["resource"]["attributes"]
        alert = eventually(lambda: [r.json() for r in list(received.requests) if r.path == "/alert"], explain=d.log)[0]
        assert "rack7" in json.dumps(alert) and d.json("/api/widget")["host"] == "rack7", alert
        eventually(lambda: d.json("/api/health")["store"]["written_total"] > 0)
        stored = sqlite3.connect(f"file:{tmp_path}/history.db?mode=ro", uri=True).execute("SELECT name FROM hosts").fetchall()
        assert stored == [("rack7",)], stored
    finally:
        received.close()
