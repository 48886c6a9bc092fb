# SPDX-License-Identifier: Apache-2.0
"""Starts the daemon as users do, on the test's own ports and directories, and queries it over HTTP."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

from isolation import ON_WINDOWS, STOP, WHIRR, environment
from waiting import PATIENCE, eventually


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
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        if os.path.isfile(self.path):
            self.sock = self.enter()
            return
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)

    def enter(self):
        """Without Unix sockets, a file has the address of the daemon and the key that it accepts."""
        place, key = pathlib.Path(self.path), pathlib.Path(self.path + ".key")
        port, answer = place.read_text().split()
        s = socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE)
        s.sendall(f"whirr {key.read_text()}\n".encode())
        heard = b""
        while len(heard) < len(answer) + 1 and (piece := s.recv(len(answer) + 1 - len(heard))):
            heard += piece
        assert heard.decode() == answer + "\n", heard
        return s


class Daemon:
    def __init__(self, folder, args, env, through=()):
        self.folder, self.lines, self.address = folder, [], None
        self.args, self.given, self.through = args, env, through
        self.env = environment(folder, **dict({"WHIRR_SERVER_SOCKET": str(folder / "whirr.sock")}, **env))
        self.started = time.monotonic()
        self.process = subprocess.Popen([*through, WHIRR, "serve", "--store", "none", *args], env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        assert self.ready.wait(PATIENCE), self.log()

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
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, unix=False, **headers):
        connection = UnixConnection(self.sock) if unix else self.connection()
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
            return Reply(connection.getresponse())

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def json(self, path, **headers):
        """The body of a successful answer. Asks again if a busy host makes the daemon refuse for now."""
        reply = eventually(lambda: (r := self.get(path, **headers)).status != 503 and r, explain=lambda: (path, self.log()))
        assert reply.status == 200, (path, reply.status, reply.body)
        return reply.json()

    def raw(self, data, timeout=PATIENCE, finish=False):
        """The response to these bytes, until the server closes the connection or the timeout ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            if finish:
                s.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(socket.timeout, ConnectionResetError):
                while piece := s.recv(65536):
                    answer += piece
            return answer

    def wait_log(self, pattern, timeout=PATIENCE):
        return eventually(lambda: next((l for l in list(self.lines) if re.search(pattern, l)), None), timeout, self.log)

    def wait_stored(self, count, path="/api/system/gpu-stats/history"):
        """Waits until this many rows are stored."""
        eventually(lambda: self.json(path)["count"] >= count, explain=self.log)

    def wait_sampled(self):
        """Waits for the first sample: an earlier request may get "whirr is starting"."""
        owner = "WHIRR_SERVER_SOCKET" in self.env  # needs neither token nor TLS
        eventually(lambda: self.ask("GET", "/api/health", unix=owner).json()["gpu_monitoring"]["last_sample_at"], explain=self.log)

    def wait_age(self, seconds):
        """Waits until the newest sample is this old."""
        eventually(lambda: (self.json("/api/health")["gpu_monitoring"]["sample_age_seconds"] or 0) >= seconds, explain=self.log)

    def whirr(self, *args, **more):
        return subprocess.run([WHIRR, *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, **more)

    def stop(self, how=STOP, within=40):
        """The exit status, and how long it took. Drivers that hang in a test hang longer than this timeout."""
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("does not stop:\n" + self.log())
        took = time.monotonic() - begin
        self.reader.join(PATIENCE)
        assert "Sanitizer" not in self.log() and "runtime error" not in self.log(), self.log()
        return code, took


class Starter:
    def __init__(self, folder):
        self.folder, self.running = folder, []

    def __call__(self, *args, source="sim:gpus=2,scenario=training", listen="127.0.0.1:0", through=(), sampled=None, **env):
        """A daemon with its first sample, if its simulated GPUs answer: before that, it tells every client that it is starting."""
        folder = self.folder / f"daemon{len(self.running)}"
        (folder / "config").mkdir(parents=True)
        more = ["--source", source] if source else []
        daemon = Daemon(folder, ["--listen", listen, *more, *args], env, through)
        self.running.append(daemon)
        if sampled if sampled is not None else source and source.startswith("sim") and "hang" not in source:
            daemon.wait_sampled()
        return daemon

    def again(self, daemon):
        """Starts the same daemon again in its directory, after it has ended."""
        fresh = Daemon(daemon.folder, daemon.args, daemon.given, daemon.through)
        self.running.append(fresh)
        return fresh

    def reload(self, daemon):
        """Applies the present configuration: reloads the daemon, or restarts it where there is no reload."""
        if ON_WINDOWS:
            daemon.stop()
            fresh = self.again(daemon)
            fresh.wait_sampled()
            return fresh
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_log("reloaded")
        return daemon

    def stop(self):
        for daemon in self.running:
            daemon.stop()
