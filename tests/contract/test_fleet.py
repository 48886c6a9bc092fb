# SPDX-License-Identifier: Apache-2.0
"""--fleet: hundreds of hosts from a real Prometheus, on one screen and worst first."""
import http.server
import json
import re
import resource
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest
import targets
from isolation import WHIRR, environment
from ptys import Pty
from terminals import needs_tmux, terminal  # noqa: F401
from tsdb import Prometheus, VictoriaMetrics
from waiting import PATIENCE, eventually

HOSTS, GPUS, GIB = 300, 4, 2**30

pytestmark = pytest.mark.slow


FINDINGS = {  # of host and GPU: the code, and what goes with it
    (17, 0): [("ecc", "critical", "", "very likely"), ("power_limit", "notice", "", "very likely")],
    (17, 3): [("lost", "critical", "", "very likely")],
    (42, 1): [("heat_limit", "critical", "python3", "very likely"), ("airflow", "warning", "", "likely")],
    (42, 2): [("heat_limit", "critical", "python3", "very likely")],
    (60, 2): [("mining", "warning", "xmrig", "very likely")],
    (61, 1): [("pcie_link", "warning", "", "likely"), ("loud", "warning", "", "possible")],
    (62, 0): [("from_the_future", "critical", "", "very likely")],
}


def exposition(now):
    """What 300 hosts of 4 GPUs would say: gpu17 has lost one and another has memory errors, gpu42 throttles on two, gpu60 mines, gpu61 has lost
    lanes, gpu62 is of a newer whirr and gpu7 of an older one, gpu99 has been held but idle for long and gpu98 for a moment, gpu200 has room for
    60 GiB, the GPUs of gpu5 are divided into instances, and those of gpu6 are to be. gpu301 has no driver, and gpu302 was there an hour ago."""
    lines = {}

    def add(name, labels, value, at=now):
        lines.setdefault(name, []).append("%s{%s} %s %d" % (name, ",".join(f'{k}="{v}"' for k, v in labels.items()), value, at))

    def find(labels, code, severity="info", process="", likelihood="very likely", held="false"):
        add("whirr_finding", dict(labels, code=code, severity=severity, process=process, likelihood=likelihood, held=held), 1)

    add("up", {"job": "whirr", "instance": "127.0.0.1:1"}, 0)
    add("up", {"job": "whirr", "instance": "gpu302:9447"}, 0)
    find({"host": "gpu301"}, "no_driver", "warning")
    add("whirr_build_info", {"host": "gpu302", "instance": "gpu302:9447", "version": "1"}, 1, now - 5400)
    add("whirr_build_info", {"host": "gpu303", "version": "1"}, 1, now - 5400)  # it pushed: there is no `up`
    for host in range(HOSTS):
        add("whirr_build_info", {"host": f"gpu{host}", "version": "1"}, 1, now - 5400)
        add("whirr_build_info", {"host": f"gpu{host}", "version": "1"}, 1)
        for gpu in range(GPUS):
            labels = {"host": f"gpu{host}", "gpu": gpu, "uuid": f"GPU-{host}-{gpu}", "name": "NVIDIA H100"}
            lost = host == 17 and gpu == 3
            add("gpu_up", labels, 0 if lost else 1)
            for code, severity, process, likelihood in FINDINGS.get((host, gpu), []):
                find(labels, code, severity, process, likelihood)
            idle = host in (98, 99)
            if idle:
                find(labels, "context_held", process="python3", held=str(host == 99).lower())
            elif (host, gpu) not in FINDINGS and host != 7:
                find(labels, "compute_load", process="python3", held="true")
            if lost:
                continue
            used = 70 if host != 200 else 10
            add("gpu_utilization_percent", labels, 0 if idle else 60 + host % 40)
            add("gpu_memory_used_bytes", labels, used * GIB)
            if host == 5:
                add("gpu_memory_used_bytes", dict(labels, mig_uuid="MIG-1", profile="1g.10gb"), GIB)
                add("gpu_memory_free_bytes", dict(labels, mig_uuid="MIG-1", profile="1g.10gb"), 9 * GIB)
                add("gpu_memory_free_bytes", dict(labels, mig_uuid="MIG-2", profile="1g.10gb"), 4 * GIB)
                add("gpu_utilization_percent", dict(labels, mig_uuid="MIG-2", profile="1g.10gb"), 100)
            if host in (5, 6):
                add("gpu_mig_enabled", labels, 1)
            add("gpu_memory_total_bytes", labels, 80 * GIB)
            add("gpu_memory_free_bytes", labels, (80 - used) * GIB)
            add("gpu_temperature_celsius", labels, 60 + gpu)
            add("gpu_power_watts", labels, 400)
            user = "alice" if host % 3 else "bob"
            process = dict(labels, process="python3", user=user, container="train", namespace="ml", pod=f"train-{host}", hpc_job=4000 + host % 2)
            add("gpu_process_memory_bytes", process, (used - 1) * GIB)
            add("gpu_process_utilization_percent", process, 50)
            add("gpu_process_power_watts", process, 300)
            # Of job 4001 all wait for a rank of gpu21; no rank waits in job 4000; older hosts report nothing.
            if host != 7:
                late = (host, gpu) == (21, 2)
                limit = "compute" if host % 2 == 0 else "loaders" if late else "kernel_wait" if host % 4 == 1 else "straggler_wait"
                add("gpu_process_limit", dict(process, limit=limit), 0.8)
                add("gpu_process_limit", dict(process, limit="pcie_in"), 0.1)
            add("gpu_process_memory_bytes", dict(labels, process="(unattributed)", user="", container=""), GIB)
    return "".join(f"# TYPE {name} gauge\n" + "\n".join(series) + "\n" for name, series in lines.items()) + "# EOF\n"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    prometheus = Prometheus(tmp_path_factory.mktemp("fleet") / "prometheus").filled(exposition(time.time())).start()
    yield prometheus
    prometheus.stop()


@pytest.fixture
def ask(tmp_path):
    def run(*args):
        return subprocess.run([WHIRR, *args], env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    return run


# Worst first: what hosts found, hosts that are silent, what is held for long, and what an older whirr does not judge.
WORST = ["gpu17", "gpu42", "gpu62", "127.0.0.1:1", "gpu302", "gpu303", "gpu60", "gpu301", "gpu61", "gpu99", "gpu7"]
NOTES = {
    "gpu17": "GPU 3 is lost", "gpu42": "2 GPUs are degraded: the GPU is at its temperature limit (python3)", "gpu62": "GPU 0: from_the_future",
    "127.0.0.1:1": "not answering", "gpu302": "not answering for 1h 30m", "gpu303": "not answering for 1h 30m",
    "gpu60": "GPU 2: a process known for mining is using the GPU (xmrig)", "gpu301": "The driver is not loaded",
    "gpu61": "GPU 1 is degraded: the PCIe link is narrower or slower than it could be", "gpu99": "4 GPUs are held but idle (280.0 GiB)",
    "gpu7": "4 GPUs are not judged"}


def test_hundreds_of_hosts_on_one_screen_worst_first(fleet, ask):
    done = ask("status", "--fleet", fleet.url)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == "" and len(lines) <= 43, done
    assert lines[0].startswith("300 hosts, 1200 GPUs, 78% utilized, ") and "479.6 kW" in lines[0]
    assert lines[0].endswith(": 1 lost, 1 failing, 3 degraded, 2 unusual, 4 held but idle, 4 not judged, 3 hosts not answering (127.0.0.1:1, gpu302, gpu303)"), lines[0]
    assert [line.split()[0] for line in lines[2:13]] == WORST, lines
    assert lines[2].endswith("GPU 3 is lost") and lines[3].split()[1:7] == ["4", "62%", "280/320", "63", "°C", "1600"], lines[1:4]
    assert "and 264 more hosts; --all shows them" in lines[-1]
    assert all(len(line) <= 120 for line in lines[1:])
    assert len(ask("status", "--fleet", fleet.url, "--all").stdout.splitlines()) == 306
    hosts = {h["host"]: h for h in json.loads(ask("status", "--fleet", fleet.url, "--json").stdout)["hosts"]}
    assert hosts["gpu5"]["memory_used_mb"] == 4 * 70 * 1024 and len(hosts) == HOSTS + 4  # an instance is a part of its GPU
    assert {h: hosts[h]["note"] for h in WORST} == NOTES
    assert (hosts["gpu98"]["trouble"], hosts["gpu98"]["note"], hosts["gpu98"]["code"]) == ("fine", None, "context_held")  # only for a moment


def test_what_a_host_says_of_its_gpus_is_what_the_fleet_says(fleet, ask):
    answer = json.loads(ask("status", "--fleet", fleet.url, "--json").stdout)
    gpus = {(g["host"], g["gpu_index"]): g for h in answer["hosts"] for g in h["gpus"]}
    for (host, gpu), findings in FINDINGS.items():
        g = gpus[f"gpu{host}", gpu]
        assert (g["code"], g["severity"], g["process"]) == (*findings[0][:2], findings[0][2] or None), g
    assert gpus["gpu17", 0]["trouble"] == "failing" and gpus["gpu17", 3]["trouble"] == "lost" and gpus["gpu60", 2]["trouble"] == "unusual"
    # One that has no verdict is not fine.
    assert {gpus["gpu7", g]["trouble"] for g in range(GPUS)} == {"not_judged"} and gpus["gpu7", 0]["severity"] is gpus["gpu7", 0]["code"] is None
    assert answer["hosts_not_answering"] == 3 and [h["host"] for h in answer["hosts"] if h["trouble"] == "silent"] == ["127.0.0.1:1", "gpu302", "gpu303"]


def test_why_names_only_what_is_unusual(fleet, ask):
    lines = ask("why", "--fleet", fleet.url).stdout.splitlines()
    assert len(lines) == 12 and lines[1].startswith("gpu17: GPU 3 is lost") and lines[1].endswith("whirr --host gpu17 why")
    found = json.loads(ask("why", "--fleet", fleet.url, "--json").stdout)
    assert [h["host"] for h in found["hosts"]] == WORST and [g["up"] for g in found["hosts"][0]["gpus"]] == [True, False]


def test_a_job_on_many_hosts_waits_for_one_of_its_ranks(fleet, ask):
    lines = ask("why", "--fleet", fleet.url, "--job", "4001").stdout.splitlines()
    assert lines[0] == "Job 4001, 599 processes on 150 hosts: 594 wait for GPU 2 of gpu21, where python3 is limited by its loader processes.", lines[0]
    assert lines[2].split()[:2] == ["gpu21", "2"] and lines[2].endswith("waits for its loaders"), lines[:4]
    assert lines[-2:] == ["and 559 more processes; --all shows them", "See what that rank is doing: whirr --host gpu21 why python3"], lines[-2:]
    found = json.loads(ask("why", "--fleet", fleet.url, "--job", "4001", "--json").stdout)
    assert [(p["host"], p["gpu"], p["limit"], p["limit_percent"]) for p in found["processes"] if p["waited_for"]] == [("gpu21", "2", "loaders", 80)]
    assert found["waiting"] == 594 and {p["limit"] for p in found["processes"] if p["host"] == "gpu7"} == {None}


def test_a_job_in_which_nobody_waits_and_one_that_is_not_there(fleet, ask):
    done = ask("why", "--fleet", fleet.url, "--job", "4000")
    assert done.returncode == 0 and done.stdout.splitlines()[0] == "Job 4000, 600 processes on 150 hosts: none waits for another.", done
    done = ask("why", "--fleet", fleet.url, "--job", "12")
    assert done.returncode == 1 and done.stdout == "No process of job 12 is in this database now.\n", done
    done = ask("why", "--fleet", fleet.url, "train.py")
    assert done.returncode == 2 and "a process is explained on its own host" in done.stderr, done


def test_where_do_60_gib_fit(fleet, ask):
    done = ask("fit", "60GiB", "--fleet", fleet.url)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == "60.0 GiB fits on 4 GPUs:", done
    assert lines[2].split()[:4] == ["gpu200", "0", "70.0", "60%"], lines
    # Not on the lost one, nor the failing one, nor on what a newer whirr calls critical, nor in instances of 9 GiB, nor where there are none yet.
    assert ask("fit", "10GiB", "--fleet", fleet.url).stdout.startswith("10.0 GiB fits on 1189 GPUs:")
    assert ask("fit", "9GiB", "--fleet", fleet.url).stdout.startswith("9.0 GiB fits on 1193 GPUs:")
    # An instance is a place of its own, with its own UUID, name, memory and load.
    found = [g for g in json.loads(ask("fit", "4GiB", "--fleet", fleet.url, "--json").stdout)["gpus"] if g["host"] == "gpu5"]
    assert sorted((g["gpu_index"], g["uuid"], g["name"], g["memory_free_mb"], g["memory_room_mb"], g["utilization_percent"]) for g in found) == sorted(
        (gpu, uuid, "NVIDIA H100 MIG 1g.10gb", free * 1024, free * 1024, util) for gpu in range(4) for uuid, free, util in (("MIG-1", 9, None), ("MIG-2", 4, 100))), found
    no = ask("fit", "79GiB", "--fleet", fleet.url)
    assert no.returncode == 1 and "fits nowhere" in no.stdout and "of gpu200" in no.stdout
    found = json.loads(ask("fit", "60GiB", "--fleet", fleet.url, "--json").stdout)
    assert found["fits"] and {g["host"] for g in found["gpus"]} == {"gpu200"} and len(found["gpus"]) == 4
    assert {k: v for k, v in found["gpus"][0].items() if k not in ("uuid", "name")} == {
        "host": "gpu200", "gpu_index": 0, "up": True, "trouble": "fine", "severity": "info", "code": "compute_load", "process": "python3",
        "headline": "GPU 0: one process is computing on the GPU (python3)", "work_may_go_there": True, "working": True, "utilization_percent": 60, "memory_used_mb": 10 * 1024,
        "memory_total_mb": 80 * 1024, "memory_free_mb": 70 * 1024, "memory_room_mb": 70 * 1024, "temperature_celsius": 60, "power_watts": 400, "absent": {}}
    # What is not judged comes last.
    places = json.loads(ask("fit", "10GiB", "--fleet", fleet.url, "--json").stdout)["gpus"]
    assert {g["host"] for g in places[-4:]} == {"gpu7"}


def test_who_has_the_memory(fleet, ask):
    lines = ask("ps", "--fleet", fleet.url).stdout.splitlines()
    assert len(lines) <= 42 and lines[1].split() == ["gpu0", "0", "bob", "69.0", "50%", "300", "python3", "train-0"], lines[:2]
    assert "(unattributed)" not in "".join(lines)
    users = json.loads(ask("ps", "--fleet", fleet.url, "--by", "user", "--json").stdout)["users"]
    assert [u["user"] for u in users] == ["alice", "bob"]
    assert users[0]["memory_mb"] == (69 * 799 - 60 * 4) * 1024 and users[0]["power_watts"] == 300 * 799  # one GPU is lost
    table = ask("ps", "--fleet", fleet.url, "--by", "user").stdout.splitlines()
    assert table[1].split()[0] == "alice" and table[1].split()[-1] == "200" and table[0].split()[-1] == "HOSTS"
    containers = json.loads(ask("ps", "--fleet", fleet.url, "--by", "container", "--json").stdout)["containers"]
    assert len(containers) == HOSTS and containers[0]["memory_mb"] == 4 * 69 * 1024
    hosts = ask("ps", "--fleet", fleet.url, "--by", "host", "--all").stdout.splitlines()
    assert len(hosts) == HOSTS + 1 and hosts[0].split()[0] == "HOST"
    pods = json.loads(ask("ps", "--by", "pod", "--fleet", fleet.url, "--json", "--all").stdout)["pods"]
    assert len(pods) == HOSTS and pods[-1] == {"pod": "ml/train-200", "memory_mb": 36864, "utilization_percent": 200, "power_watts": 1200, "absent": {}}
    jobs = ask("ps", "--by", "job", "--fleet", fleet.url).stdout.splitlines()
    assert jobs[0].split()[0] == "JOB" and {line.split()[0] for line in jobs[1:]} == {"4000", "4001"}
    assert ask("ps", "--by", "node", "--fleet", fleet.url).returncode == 2
    only = ask("ps", "--fleet", fleet.url, "--user", "bob", "--json", "--all").stdout
    assert {p["user"] for p in json.loads(only)["processes"]} == {"bob"}


def test_energy_and_cost_of_all_hosts(start, ask, tmp_path):
    """From real daemons: counters by host, the power of processes by user."""
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    hosts = [start("--interval", "0.5", "--config", named(tmp_path, name), source="sim:gpus=1,scenario=training,model=h100,speed=20") for name in ("a", "b")]
    prometheus = Prometheus(tmp_path / "prometheus", [f"127.0.0.1:{d.port}" for d in hosts]).start()
    try:
        def report(*args):
            done = ask("report", "--fleet", prometheus.url, "--since", "-2m", "--price", "0.5", "--json", *args)
            return json.loads(done.stdout) if done.returncode == 0 else {"hosts": [], "users": []}

        def counted():
            for d in hosts:  # the energy counter is read every 30 s, or when a client asks for everything
                d.get("/api/snapshot?groups=31&max_age_ms=0")
            return report()
        found = eventually(lambda: (r := counted()) and {h["host"] for h in r["hosts"] if h["energy_joules"] > 100} == {"a", "b"} and r, explain=prometheus.log)
        assert found["span_seconds"] == 120 and found["hosts"][0]["cost"] == pytest.approx(found["hosts"][0]["energy_joules"] / 3.6e6 * 0.5, rel=1e-3, abs=1e-6)
        assert found["energy_joules"] == pytest.approx(sum(h["energy_joules"] for h in found["hosts"]), rel=1e-3)
        eventually(lambda: "alice" in {u["user"] for u in report("--by", "user")["users"] if u["energy_joules"] > 100}, explain=prometheus.log)

        def told():
            text = ask("report", "--fleet", prometheus.url, "--since", "2m", "--price", "0.5").stdout.splitlines()
            return len(text) > 1 and re.search(r"\d k(Wh|J) in the last 2m, ", text[0]) and text[0].endswith("EUR") and text[1].split()[:2] == ["HOST", "kWh"]
        eventually(told, explain=prometheus.log)
    finally:
        prometheus.stop()
    assert ask("report", "--fleet", prometheus.url, "--since", "yesterday").returncode == 2
    assert ask("report", "--fleet", prometheus.url, "--by", "model").returncode == 2


def test_what_is_about_one_host_is_refused(ask):
    for command in ("status", "top"):
        for option in (("--gpu", "1"), ("--source", "sim"), ("--host", "gpu17")):
            done = ask(command, "--fleet", "http://127.0.0.1:1", *option)
            assert done.returncode == 2 and f"can't be combined with {option[0]}\n" in done.stderr, done


def test_a_web_server_that_is_no_database(ask):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        done = ask("status", "--fleet", f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 1 and done.stderr == "whirr: the fleet's database answered 404; is this the URL of Prometheus or VictoriaMetrics?\n", done


def test_the_power_of_processes_is_added_up_in_steps_that_suit_the_span(ask):
    """A minute; fewer in a month of hundreds of hosts, more where a minute would be much of it."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(urllib.parse.unquote_plus(self.path))
            body = b'{"status": "success", "data": {"resultType": "vector", "result": []}}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            asked.append(urllib.parse.unquote_plus(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.do_GET()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        for span, steps in (("-2m", "[120s:6s]"), ("-1h", "[3600s:60s]"), ("-30d", "[2592000s:2592s]")):
            ask("report", "--fleet", f"http://127.0.0.1:{server.server_port}", "--since", span, "--by", "user", "--json")
            assert any(steps in question for question in asked), (steps, asked)
    finally:
        server.shutdown()
        server.server_close()


def named(folder, name):
    config = folder / f"{name}.toml"
    config.write_text(f'[metrics]\nlabels = {{ host = "{name}" }}\n')
    return str(config)


def test_a_fleet_costs_little_here(fleet, ask):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ask("status", "--fleet", fleet.url)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2  # CPU seconds, not those of a busy machine


@pytest.mark.parametrize("args, status, words", [
    (("status", "--fleet", "http://127.0.0.1:1"), 1, "Connect"), (("status", "--fleet", "gpu1"), 2, "--fleet needs the URL"),
    (("fit", "24", "--fleet", "http://127.0.0.1:1"), 2, "has no unit"), (("why", "--fleet", "mysql://x"), 2, "--fleet needs the URL")])
def test_mistakes(ask, args, status, words):
    done = ask(*args)
    assert done.returncode == status and words.lower() in done.stderr.lower(), done


def test_a_server_that_is_no_database(fleet, ask, tmp_path):
    done = ask("status", "--fleet", fleet.url + "/graph")
    assert done.returncode == 1 and "database" in done.stderr, done


def test_victoria_metrics_answers_as_well(ask, tmp_path):
    if not VictoriaMetrics.installed():
        pytest.skip("no victoria-metrics (tools/deps test)")
    database = VictoriaMetrics(tmp_path / "vm").start()
    try:
        body = b'gpu_up{host="a",gpu="0",uuid="u",name="X"} 1\ngpu_memory_free_bytes{host="a",gpu="0",uuid="u",name="X"} 5368709120\n'
        urllib.request.urlopen(urllib.request.Request(database.url + "/api/v1/import/prometheus", data=body), timeout=PATIENCE)
        # It may show one series before the other.
        eventually(lambda: database.query("gpu_memory_free_bytes") and ask("fit", "4GiB", "--fleet", database.url).returncode == 0)
        eventually(lambda: "1 host, 1 GPU" in ask("status", "--fleet", database.url).stdout)
    finally:
        database.stop()


@needs_tmux
def test_the_live_view_shows_all_hosts_worst_first(fleet, terminal):  # noqa: F811
    t = terminal(f"top --fleet {fleet.url}", width=120, height=30)

    def rows():
        """Below the titles of the table."""
        lines = [line.split() for line in t.screen().replace("▲", " ").splitlines()[:-1] if line.strip()]
        titles = next((i for i, words in enumerate(lines) if words[0] == "HOST"), len(lines))
        return [words[0] for words in lines[titles + 1:]]

    def shows(*words):
        """All of it on one screen: what is captured may be a frame that is half drawn."""
        return all(word in t.screen() for word in words)

    eventually(lambda: shows("300 hosts, 1200 GPUs", "1 of 304", "alice", "GPU 3 is lost"), explain=t.screen)
    eventually(lambda: (r := rows())[:11] == WORST and len(r) == 23, explain=t.screen)

    t.keys("/")
    t.type("held")  # as it is typed
    eventually(lambda: rows() == ["gpu99"], explain=t.screen)
    t.keys("Escape", "s", "s")  # utilization, free memory
    eventually(lambda: rows()[:1] == ["gpu200"], explain=t.screen)
    t.keys("Enter")
    eventually(lambda: shows("whirr --host gpu200 top", "CONTAINER", "train-200") and rows().count("gpu200") == 8, explain=t.screen)
    t.keys("Escape")
    eventually(lambda: (r := rows())[:1] == ["gpu200"] and len(r) == 23, explain=t.screen)

    t.keys("v")
    eventually(lambda: rows() == ["gpu99"] * 4, explain=t.screen)
    t.keys("v")
    eventually(lambda: rows()[:5] == ["gpu200"] * 4 + ["gpu0"], explain=t.screen)
    t.keys("1")  # this host, in the same program
    eventually(lambda: "300 hosts" not in t.screen() and shows("Overview", "Hosts", "No GPU was found on this host."), explain=t.screen)
    t.keys("8", "v")
    t.wait("1 of 1199")
    t.type("\033[<0;3;8M\033[<0;3;8m")  # a click
    t.wait("2 of 1199")
    t.tmux("resize-window", "-x", "44", "-y", "12")
    eventually(lambda: (lines := t.screen().splitlines()) and max(map(len, lines)) <= 44 and "PROCESS" in t.screen(), explain=t.screen)
    t.keys("q")
    assert t.ended() == 0


def test_the_live_view_prints_a_frame_and_refuses_what_it_cannot_do(fleet, ask):
    done = ask("top", "--fleet", fleet.url, "--once", "--size", "100x20")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 20 and max(map(len, lines)) <= 100 and "gpu17" in lines[4], done
    assert ask("top", "--fleet", "prometheus").returncode == 2
    assert ask("--host", "a", "top", "--fleet", fleet.url).returncode == 2
    gone = ask("top", "--fleet", "http://127.0.0.1:1", "--once")
    assert gone.returncode == 1 and gone.stderr.startswith("whirr: "), gone


def test_the_daemon_shows_the_fleet_without_waiting_for_it(fleet, start):
    d = start(WHIRR_FLEET_URL=fleet.url, WHIRR_ENERGY_PRICE_PER_KWH="0.5")
    d.wait_sampled()
    first = d.json("/api/fleet")
    assert first["loading"] and first["fetched_at"] is first["fleet"] is first["error"] is None
    answer = eventually(lambda: (a := d.json("/api/fleet"))["fleet"] and a)
    hosts = answer["fleet"]["status"]["hosts"]
    assert answer["error"] is None and answer["fetched_at"] and [h["host"] for h in hosts[:11]] == WORST and len(hosts) == HOSTS + 4
    assert answer["fleet"]["status"]["answer"].startswith("300 hosts, 1200 GPUs, ")
    assert [u["user"] for u in answer["fleet"]["by_user"]["users"]] == ["alice", "bob"] and len(answer["fleet"]["by_container"]["containers"]) == HOSTS
    assert answer["fleet"]["energy_by_user"]["price_per_kwh"] == 0.5
    page = d.get("/fleet", Accept="text/html")
    if b"/app.js" in d.get("/", Accept="text/html").body:  # built with the dashboard
        assert page.status == 200 and b"/fleet.js" in page.body and "script-src 'self'" in page.headers["content-security-policy"]


def test_a_fleet_that_is_not_there_is_said_and_disturbs_nothing(start):
    d = start(WHIRR_FLEET_URL="http://127.0.0.1:1")
    d.wait_sampled()
    answer = eventually(lambda: (a := d.json("/api/fleet"))["error"] and a)
    assert answer["fleet"] is None and "nothing is listening there" in answer["error"], answer
    none = start()
    none.wait_sampled()
    assert none.get("/api/fleet").status == none.get("/fleet", Accept="text/html").status == 404


def test_what_an_old_database_answers_is_not_taken_for_the_new_ones(start, tmp_path):
    asked, released = threading.Event(), threading.Event()

    def hang(_):
        asked.set()
        released.wait(PATIENCE)
        return 500, {}, b"the old one"

    old = targets.Target(hang)
    try:
        config = tmp_path / "whirr.toml"
        config.write_text(f'[fleet]\nurl = "{old.url("")}"\n')
        d = start("--config", str(config))
        assert d.json("/api/fleet")["loading"]
        assert asked.wait(PATIENCE)
        config.write_text('[fleet]\nurl = "http://127.0.0.1:1"\n')
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("needing_restart=0")
        released.set()
        answer = eventually(lambda: (a := d.json("/api/fleet"))["error"] and a, explain=d.log)
        assert answer["fleet"] is None and "nothing is listening there" in answer["error"], answer
    finally:
        released.set()
        old.close()


@pytest.mark.parametrize("stopped", [False, True])
def test_a_report_that_takes_long_says_so_and_can_be_stopped(tmp_path, stopped):
    answers = threading.Event()

    def slow(request):
        answers.wait(PATIENCE)
        return 200, {}, b'{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"host": "a"}, "value": [1, "3600000"]}]}}'
    database = targets.Target(slow)
    terminal = Pty([str(WHIRR), "report", "--fleet", database.url(""), "--since", "-1d"], environment(tmp_path), 100, 24)
    try:
        terminal.wait_for(b"asking the fleet's database, ")
        if stopped:
            terminal.write(b"\x03")
            assert terminal.ended(PATIENCE) != 0
        answers.set()
        if not stopped:
            assert terminal.ended(PATIENCE) == 0 and b"1.00 kWh" in terminal.output.rpartition(b"\r\x1b[K")[2], terminal.output
    finally:
        answers.set()
        terminal.close()
        database.close()
