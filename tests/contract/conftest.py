# SPDX-License-Identifier: Apache-2.0
"""Starts the daemon as users do, on ports and in folders of the test's own, and asks it with clients that others wrote."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WHIRR = os.environ.get("WHIRR_BIN", str(ROOT / "build" / "whirr"))
BUILD = pathlib.Path(WHIRR).resolve().parent
CLIENTS = HERE / "clients"


def environment(folder, **changes):
    """A machine without GPU libraries and without a daemon, whatever this one has."""
    env = {
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder), "TZ": "UTC",
        "XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"),
        "WHIRR_SERVER_SOCKET": str(folder / "whirr.sock"),
        "WHIRR_NVML_LIBRARY": "libnvidia-ml-not-here.so", "WHIRR_CUDA_LIBRARY": "libcuda-not-here.so",
        "WHIRR_NVIDIA_SMI": "/nonexistent/nvidia-smi",
    }
    for name in ("UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    # Looking for leaks takes seconds at the end of each process; test_soundness.py does it once for all.
    env["ASAN_OPTIONS"] = "detect_leaks=0"
    env.update(changes)
    return {name: value for name, value in env.items() if value is not None}


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.body = response.read()
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    def json(self):
        assert self.headers["content-type"].startswith("application/json"), self.headers
        return json.loads(self.body)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, folder, args, env):
        self.folder, self.env, self.lines, self.address = folder, environment(folder, **env), [], None
        self.started = time.monotonic()
        self.process = subprocess.Popen([WHIRR, "serve", "--store", "none", *args], env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        assert self.ready.wait(30), self.log()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            found = re.search(r'listening.*?((?:127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d+)', line)
            if found:
                self.address = found.group(1)
            if "listening" in line and "sock" in line or "--socket none" in line:
                self.ready.set()
        self.ready.set()

    def log(self):
        return "\n".join(self.lines)

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def sock(self):
        return self.env["WHIRR_SERVER_SOCKET"]

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def ask(self, method, path, body=None, unix=False, **headers):
        connection = UnixConnection(self.sock) if unix else self.connection()
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
            return Reply(connection.getresponse())

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def json(self, path, **headers):
        reply = self.get(path, **headers)
        assert reply.status == 200, (path, reply.status, reply.body)
        return reply.json()

    def raw(self, data, timeout=10, finish=False):
        """What comes back for these bytes, until the server closes the connection or the time is over."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            if finish:
                s.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(socket.timeout, ConnectionResetError):
                while piece := s.recv(65536):
                    answer += piece
            return answer

    def wait_log(self, pattern, timeout=20):
        return eventually(lambda: next((l for l in list(self.lines) if re.search(pattern, l)), None), timeout, self.log)

    def whirr(self, *args, **more):
        return subprocess.run([WHIRR, *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more)

    def stop(self, how=signal.SIGTERM, within=20):
        """The exit status, and how long it took."""
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("does not stop:\n" + self.log())
        took = time.monotonic() - begin
        self.reader.join(10)
        assert "Sanitizer" not in self.log() and "runtime error" not in self.log(), self.log()
        return code, took


def eventually(look, timeout=20, explain=lambda: ""):
    """The first true answer of look(); no longer than timeout seconds."""
    end = time.monotonic() + timeout
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {timeout} s: {explain()}")
        time.sleep(0.02)


class Starter:
    def __init__(self, folder):
        self.folder, self.running = folder, []

    def __call__(self, *args, source="sim:gpus=2,scenario=training", listen="127.0.0.1:0", **env):
        folder = self.folder / f"daemon{len(self.running)}"
        (folder / "config").mkdir(parents=True)
        more = ["--source", source] if source else []
        daemon = Daemon(folder, ["--listen", listen, *more, *args], env)
        self.running.append(daemon)
        return daemon

    def stop(self):
        for daemon in self.running:
            daemon.stop()


@pytest.fixture
def start(tmp_path):
    """Starts daemons; all of them end with the test."""
    starter = Starter(tmp_path)
    yield starter
    starter.stop()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One daemon for all tests of a file that only read."""
    starter = Starter(tmp_path_factory.mktemp("whirr"))
    yield starter("--interval", "0.5")
    starter.stop()


@pytest.fixture
def nvml(start, tmp_path):
    """A daemon on a fake NVIDIA driver that answers from a script."""
    library = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
    if not library.exists():
        pytest.skip("the fake NVML library was not built")

    def run(script, *args, **env):
        path = tmp_path / "script"
        path.write_text(script)
        return start(*args, source="nvml", WHIRR_NVML_LIBRARY=str(library), WHIRR_FAKE_NVML=str(path), **env)

    return run


@pytest.fixture(scope="session")
def node():
    """Runs a client of clients/ with node; its packages come from the registry, at the versions of package-lock.json."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed (tools/deps test)")
    if not (CLIENTS / "node_modules" / ".package-lock.json").exists():
        done = subprocess.run(["npm", "ci", "--silent"], cwd=CLIENTS, capture_output=True, text=True)
        if done.returncode:
            pytest.skip("npm ci failed: " + (done.stderr or done.stdout).strip()[-300:])

    @contextlib.contextmanager
    def run(script, *args):
        process = subprocess.Popen(["node", str(CLIENTS / script), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, cwd=CLIENTS)
        client = Client(process)
        try:
            yield client
        finally:
            process.kill()
            process.wait()
            client.reader.join(10)
            process.stdin.close()
            process.stdout.close()

    return run


class Client:
    """A client process: prints what happens to it as lines of JSON [what, value, milliseconds], and takes commands."""

    def __init__(self, process):
        self.process, self.events, self.other = process, [], []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                self.events.append(json.loads(line))
            except ValueError:
                self.other.append(line)

    def send(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def named(self, name):
        return [e[1] for e in list(self.events) if e[0] == name]

    def wait(self, name, count=1, timeout=20):
        return eventually(lambda: (found := self.named(name)) and len(found) >= count and found, timeout,
                          lambda: f"{name}: {self.events} {self.other}")
