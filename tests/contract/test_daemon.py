# SPDX-License-Identifier: Apache-2.0
"""The daemon's life: logs (section F), stop, reload, release, systemd, and commands that ask it."""
import json
import os
import re
import signal
import socket
import subprocess
import threading

import pytest
import shapes
from conftest import PATIENCE, WHIRR, environment, eventually, throughout
from isolation import ON_WINDOWS, STOP, linux_only


# ---- logs ----

def test_text_log(start):
    d = start("--interval", "0.2")
    line = d.wait_log("source started")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info +source started source=sim count=2", line), line


def test_json_log(start):
    d = start("--log-format", "json", "--log-level", "debug", source=None)
    d.wait_log("GPU features disabled")
    entries = [json.loads(line) for line in d.lines]
    assert all({"time", "level", "message"} <= set(e) for e in entries)
    warning = next(e for e in entries if "disabled" in e["message"])
    assert warning["level"] == "warning" and "nvml" in warning["reason"]
    eventually(lambda: any(json.loads(l)["level"] == "debug" for l in d.lines))


def test_a_repeating_error_is_logged_once_then_counted(start):
    d = start("--interval", "0.05", source="sim:gpus=1,fault=error:0.3")
    d.wait_log("query failed|cannot read GPU")
    d.wait_log("suspended")

    def often_and_aside():
        source = d.json("/api/health")["gpu_monitoring"]["sources"][0]
        return source["errors_total"] > 5 and source["state"] == "set aside"

    eventually(often_and_aside, explain=d.log)
    errors = [l for l in d.lines if " error " in l]
    assert 1 <= len(errors) <= 4, errors


def test_a_lost_gpu_is_told_and_its_return(start):
    # Again and again: a daemon that was not scheduled for seconds sees the next one.
    times = ",".join(f"fault=lost@1:{begin}-{begin + 3}" for begin in range(1, 73, 9))
    d = start("--interval", "0.1", source=f"sim:gpus=2,scenario=idle,{times}")
    lost, back = r"error +GPU is lost gpu=1", r"info +GPU can be read again gpu=1"
    d.wait_log(lost)
    d.wait_log(back)
    d.wait_log(r"alert fires: .*alert=lost")
    # Once as what happened, once as an alert.
    first = "\n".join(d.lines).split("GPU can be read again", 1)[0]
    for pattern in (lost, r"alert fires: .*alert=lost"):
        assert len(re.findall(pattern, first)) == 1, (pattern, d.lines)


# ---- stop and reload ----

@pytest.mark.parametrize("how", [pytest.param(signal.SIGTERM, marks=linux_only("Ctrl+C is its only signal")), signal.SIGINT])
def test_clean_stop(start, how):
    d = start()
    connections = [socket.create_connection(("127.0.0.1", d.port)) for _ in range(50)]
    for s in connections[:25]:
        s.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    eventually(lambda: d.json("/api/health")["server"]["connections"] >= 50)
    assert d.stop(how)[0] == 0
    assert d.lines[-1].endswith("stopped") and not os.path.exists(d.sock)
    for s in connections:
        s.close()


@linux_only("it has no guard")
def test_a_driver_that_hangs_does_not_delay_the_stop(nvml, tmp_path):
    """Long before the source is given up; a keeper of the guard waits for the same driver."""
    config = tmp_path / "whirr.toml"
    config.write_text('[guard.worker.model]\nmatch = { name = "no-such-worker" }\nmethods = ["signal"]\n')
    d = nvml("hang nvmlDeviceGetTemperature\nhang nvmlDeviceGetTemperatureV\ngpu NVIDIA H200\n  profile h200\n", "--config", str(config))
    d.wait_log("guarding a worker")
    assert d.stop()[0] == 0
    assert d.lines[-1].endswith("stopped")


@linux_only("it has no guard")
def test_a_guard_that_goes_by_simulated_gpus_says_so(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[guard.worker.model]\nmatch = { name = "no-such-worker" }\nmethods = ["signal"]\n')
    d = start("--interval", "0.2", "--config", str(config))
    eventually(lambda: d.whirr("guard", "status").stdout.startswith("SIMULATED\nmodel  absent"), explain=lambda: d.whirr("guard", "status").stdout)
    assert json.loads(d.whirr("guard", "status", "--json").stdout)["workers"][0]["simulated"] is True


@linux_only("what names its place is gone with a daemon")
def test_a_socket_left_behind_by_a_crash_is_replaced(start):
    d = start()
    d.process.kill()
    d.process.wait()
    assert os.path.exists(d.sock)
    again = subprocess.Popen([WHIRR, "serve", "--listen", "127.0.0.1:0", "--source", "sim", "--store", "none"], env=d.env, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: d.whirr("status", "--json").returncode == 0 and owner_gets(d) == 200)
    finally:
        again.send_signal(STOP)
        assert again.wait(PATIENCE) == 0


def owner_gets(d):
    try:
        return d.ask("GET", "/api/health", unix=True).status
    except OSError:
        return 0


@linux_only("it has no SIGHUP")
def test_reload(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("[sampling]\ninterval_seconds = 60\n")
    d = start("--config", str(config))
    d.wait_sampled()
    first = d.json("/api/health")["gpu_monitoring"]["last_sample_at"]
    config.write_text("[sampling]\ninterval_seconds = 0.2\n[server]\nmax_clients = 99\n[log]\nlevel = \"debug\"\n")
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("needs a restart setting=server.max_clients")
    d.wait_log("reloaded")
    eventually(lambda: d.json("/api/health")["gpu_monitoring"]["last_sample_at"] != first)
    # A bad file keeps the old settings, and says where the mistake is.
    config.write_text("[sampling]\nintervall_seconds = 1\n")
    d.process.send_signal(signal.SIGHUP)
    d.wait_log(r"whirr.toml:2")
    d.wait_log("keeping the old settings")
    before = d.json("/api/health")["gpu_monitoring"]["last_sample_at"]
    eventually(lambda: d.json("/api/health")["gpu_monitoring"]["last_sample_at"] != before)


def test_a_bad_configuration_keeps_it_from_starting(tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("[server]\nlissten = \"127.0.0.1:1\"\n")
    done = subprocess.run([WHIRR, "serve", "--config", str(config)], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "whirr.toml:2" in done.stderr and "listen" in done.stderr


def test_the_worker_table_of_the_contract_is_accepted(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("""[worker]
enable_nvml = true
require_nvml = false                 # true: refuse to start without NVML
auto_evict_for_user_apps = true
process_check_interval_secs = 5
enable_health_monitoring = true
health_check_interval_secs = 10
temperature_threshold_celsius = 85
enable_capacity_tracking = true
""")
    assert start("--config", str(config)).get("/api/health").status == 200


def test_require_nvml_refuses_to_run_without(tmp_path):
    done = subprocess.run([WHIRR, "serve", "--listen", "127.0.0.1:0", "--store", "none"], env=environment(tmp_path, WHIRR_WORKER_REQUIRE_NVML="true"),
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "NVML is required" in done.stderr


# ---- systemd ----

@linux_only("it has no systemd")
def test_systemd_is_told(start, tmp_path):
    path = str(tmp_path / "notify")
    heard = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(PATIENCE)

        def listen():
            try:
                while True:
                    heard.append(s.recv(4096).decode())
            except OSError:
                pass

        threading.Thread(target=listen, daemon=True).start()
        d = start("--interval", "0.2", NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
        eventually(lambda: any("READY=1" in h for h in heard))
        eventually(lambda: any("STATUS=2 GPUs" in h for h in heard))
        eventually(lambda: sum("WATCHDOG=1" in h for h in heard) >= 3)
        d.process.send_signal(signal.SIGHUP)
        eventually(lambda: any(re.match(r"RELOADING=1\nMONOTONIC_USEC=\d+", h) for h in heard))
        d.stop()
        eventually(lambda: any("STOPPING=1" in h for h in heard))


# ---- release ----

def test_what_was_released_on_request_is_no_fault(start):
    d = start("--interval", "0.2", source="sim:scenario=training")
    eventually(lambda: d.json("/api/why")["gpus"], explain=d.log)
    d.whirr("release", "--for", "1m")
    why = eventually(lambda: (b := d.json("/api/why"))["gpus"][0]["causes"][0]["code"] == "source_released" and b, explain=d.log)
    assert why["severity"] == "info" and "released on request" in why["answer"] and "doctor" not in str(why["gpus"][0]["suggestions"])
    for command in ("status", "why", "health", "--line", "top --once"):
        text = d.whirr(*command.split()).stdout
        assert not [w for w in ("▲", "FAILING", "error:", "dmesg", "failures in a row") if w in text], text
    eventually(lambda: all(g["state"] == "unknown" and "on request" in g["reason"] for g in d.json("/api/gpu/health")["gpus"]),
               explain=lambda: d.get("/api/gpu/health").body)
    assert not [line for line in d.get("/metrics").body.decode().splitlines() if line.startswith("whirr_finding{") and 'severity="info"' not in line]


def test_release_and_return(start):
    d = start("--interval", "0.2")
    d.wait_sampled()
    told = d.whirr("release", "--for", "1m")
    assert told.returncode == 0 and "has released the GPU driver" in told.stdout and d.sock in told.stdout
    eventually(lambda: d.json("/api/health")["gpu_monitoring"]["sources"][0]["state"] == "released", explain=d.log)
    eventually(lambda: d.json("/api/health")["status"] == "ok", explain=d.log)
    devices = d.json("/api/gpu/devices")["devices"]
    assert len(devices) == 2 and not any(x["is_available"] for x in devices) and all("released" in x["error_message"] for x in devices)
    assert d.whirr("release", "--for", "1s").returncode == 0
    eventually(lambda: all(x["is_available"] for x in d.json("/api/gpu/devices")["devices"]))
    d.whirr("release")
    eventually(lambda: d.json("/api/health")["gpu_monitoring"]["sources"][0]["state"] == "released", explain=d.log)
    assert d.whirr("release", "--end").returncode == 0
    eventually(lambda: d.json("/api/health")["gpu_monitoring"]["sources"][0]["state"] == "ok")
    assert d.whirr("release", "--for", "soon").returncode == 2
    # A GPU that was released is not ill, however often: it need not be replaced.
    for _ in range(2):
        assert d.whirr("release", "--for", "1m").returncode == 0
        eventually(lambda: {v["state"] for v in d.json("/api/gpu/health")["gpus"]} == {"unknown"})
        assert all("released" in v["reason"] for v in d.json("/api/gpu/health")["gpus"])
        assert d.whirr("release", "--end").returncode == 0
        eventually(lambda: {v["state"] for v in d.json("/api/gpu/health")["gpus"]} == {"healthy"})
    assert [a["name"] for a in d.json("/api/alerts")["alerts"] if a["severity"] == "critical"] == []
    for body in ("nonsense", '{"for_seconds": -1}', '{"for_seconds": "long"}', "[1]"):
        assert d.ask("POST", "/api/source/release", body=body, unix=True).status == 400


# ---- commands ask the daemon ----

def test_commands_ask_the_daemon(start):
    d = start("--interval", "0.5", source="sim:gpus=3,scenario=training")
    d.wait_sampled()
    for command in ("status", "ps", "why", "devices", "driver", "resources"):
        done = d.whirr(command, "--json")
        assert done.returncode == 0, done.stderr
    assert len(json.loads(d.whirr("devices", "--json").stdout)["devices"]) == 3
    shapes.check(json.loads(d.whirr("why", "--json").stdout), shapes.WHY)
    assert "SIMULATED" in d.whirr("status").stdout
    direct = json.loads(d.whirr("devices", "--json", "--direct").stdout)
    assert direct["devices"] == []
    assert len(json.loads(d.whirr("devices", "--json", "--source", "sim:gpus=1").stdout)["devices"]) == 1
    with subprocess.Popen([WHIRR, "status", "--json", "--watch=0.5"], env=d.env, stdout=subprocess.PIPE, text=True) as watching:
        first = json.loads(watching.stdout.readline())["timestamp"]
        eventually(lambda: json.loads(watching.stdout.readline())["timestamp"] > first)
        watching.terminate()


def test_json_of_the_daemon_is_json_of_the_command(start):
    d = start("--interval", "60")
    d.wait_sampled()
    for command, path in (("status", "/api/gpu/metrics"), ("ps", "/api/processes"), ("devices", "/api/gpu/devices?max_age_ms=60000"), ("driver", "/api/gpu/driver")):
        # Of one sample, which may be a quarter of a second old: on a slow machine, another one may come between the two.
        eventually(lambda: d.json(path) == json.loads(d.whirr(command, "--json").stdout), explain=command)


class Impostor:
    """Something at the daemon's socket that answers otherwise."""

    def __init__(self, path, answer):
        self.answer, self.asked, self.greeting = answer, 0, b""
        if ON_WINDOWS:  # a port of this host, which its file names, and what it says to who knows the key
            self.socket = socket.create_server(("127.0.0.1", 0))
            self.greeting = b"b" * 32 + b"\n"
            path.with_name(path.name + ".key").write_text("a" * 32)
            path.write_text(f"{self.socket.getsockname()[1]} {'b' * 32}\n")
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(str(path))
            self.socket.listen()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            self.asked += 1
            try:
                s.recv(4096)
                s.sendall(self.greeting)
                if self.answer is None:  # never answers
                    self.kept = s
                    continue
                s.sendall(self.answer)
                s.close()
            except OSError:
                pass


def http(status, body=b"", more=b""):
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n%s" % (status, len(body), more, body)


@pytest.mark.parametrize("answer", [
    b"", b"nonsense", http(404, b'{"error": {"code": "not_found", "message": "?"}}'), http(200, b"whirr-recording 9\nS"), http(200, b"whirr-recording 1\n"),
    http(200, b""), b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n", pytest.param(None, marks=pytest.mark.slow),
], ids=["closes", "not HTTP", "older daemon", "newer daemon", "cut", "empty", "huge", "hangs"])
def test_a_daemon_of_another_kind_does_not_hurt(tmp_path, answer):
    """The command samples by itself, soon."""
    place = tmp_path / "whirr.sock"
    impostor = Impostor(place, answer)
    done = subprocess.run([WHIRR, "devices", "--json", "--log", "info"], env=environment(tmp_path, WHIRR_SERVER_SOCKET=str(place)), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and json.loads(done.stdout) == {"devices": [], "count": 0}
    assert "without the daemon" in done.stderr and impostor.asked
    assert ("did not answer: " in done.stderr and "To restart the daemon" in done.stderr) == (answer is None), done.stderr
    impostor.socket.close()


def test_a_daemon_that_is_slow_is_waited_for(start):
    d = start()
    d.process.send_signal(signal.SIGSTOP)
    with subprocess.Popen([WHIRR, "devices", "--json"], env=d.env, stdout=subprocess.PIPE, text=True) as asking:
        try:
            throughout(2, lambda: asking.poll() is None)
        finally:
            d.process.send_signal(signal.SIGCONT)
        assert len(json.loads(asking.stdout.read())["devices"]) == 2


def test_a_watching_command_survives_the_end_of_the_daemon(start):
    d = start("--interval", "0.2")
    d.wait_sampled()
    with subprocess.Popen([WHIRR, "devices", "--json", "--watch=0.2"], env=d.env, stdout=subprocess.PIPE, text=True) as watching:
        assert len(json.loads(watching.stdout.readline())["devices"]) == 2
        d.stop()
        eventually(lambda: json.loads(watching.stdout.readline())["devices"] == [])
        watching.terminate()


@linux_only("each user has a directory for it")
def test_no_place_for_the_socket_is_said(tmp_path):
    env = environment(tmp_path, XDG_RUNTIME_DIR=None, WHIRR_SERVER_SOCKET="auto", WHIRR_SAMPLING_SOURCES="sim")
    (tmp_path / "system").mkdir(exist_ok=True)
    (tmp_path / "system" / "run").write_text("not a directory")
    process = subprocess.Popen([WHIRR, "serve", "--store", "none"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = []
    for line in process.stderr:  # until it listens, on the network alone
        said.append(line)
        if "listening" in line:
            break
    process.kill()
    process.communicate()
    assert any("no directory for the socket" in line for line in said) and any("listening" in line for line in said), said
