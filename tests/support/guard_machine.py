# SPDX-License-Identifier: Apache-2.0
"""A host for the guard's tests: a fake NVIDIA driver, a fake libcuda, and stand-ins for inference servers."""
import collections
import contextlib
import fcntl
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import threading

import pytest
from isolation import BUILD, ROOT, WHIRR, environment
from ports import free_port
from waiting import PATIENCE, eventually, throughout  # noqa: F401

NVML = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
CUDA = BUILD / "tests" / "fakes" / "cuda" / "libcuda-fake.so"
SERVERS = ROOT / "tests" / "fakes" / "servers" / "servers.py"
needs_fakes = pytest.mark.skipif(not NVML.exists() or not CUDA.exists(), reason="the fake libraries were not built")


def wait_for(condition, what):
    return eventually(condition, explain=what)


class Machine:
    """One GPU of 40000 MiB, or several; processes are real, the memory they hold is declared."""

    def __init__(self, folder):
        self.dir = folder
        self.cuda = folder / "cuda"
        self.cuda.mkdir()
        self.held, self.children, self.servers, self.temperature, self.total, self.more, self.front = {}, [], [], 50, 40000, "", ""
        self.program = WHIRR
        self.gpus, self.on = 1, {}  # the GPU of a process, if it is not the first
        self.lock = threading.RLock()
        self.env = environment(folder, XDG_STATE_HOME=str(folder / "state"), WHIRR_NVML_LIBRARY=str(NVML), WHIRR_CUDA_LIBRARY=str(CUDA), WHIRR_FAKE_CUDA=str(self.cuda),
                               WHIRR_FAKE_NVML=str(folder / "nvml"), STATE_DIRECTORY=str(folder / "state"), RUNTIME_DIRECTORY=str(folder / "run"),
                               WHIRR_SERVER_SOCKET=str(folder / "whirr.sock"))
        self.config = folder / "whirr.toml"
        self.config.write_text("")
        self.show()

    def state(self, pid):
        path = self.cuda / f"{pid}.state"
        return int(path.read_text()) if path.exists() else 0

    @contextlib.contextmanager
    def alone(self):
        """Locks the declared state against our threads and helpers with the fake libcuda."""
        with self.lock, open(self.cuda / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def show(self):
        with self.alone():
            head = f"gpu NVIDIA H200\n  total {self.total}\n  temperature {self.temperature}\n{self.more}"
            line = "  process {} compute {}\n".format
            whole = shown = self.front
            for gpu in range(self.gpus):
                here = {p: m for p, m in self.held.items() if self.on.get(p, 0) == gpu}
                there = {p: m for p, m in here.items() if self.state(p) != 2}
                whole += head + "".join(line(p, m) for p, m in here.items())
                shown += head + "".join(line(p, m) for p, m in there.items()) + f"  used {sum(there.values())}\n"
            base = self.cuda / "base.new"
            base.write_text(whole)
            base.rename(self.cuda / "nvml.base")
            fresh = self.dir / "nvml.new"
            fresh.write_text(shown)
            fresh.rename(self.dir / "nvml")

    def hold(self, pid, mib):
        with self.lock:
            self.held[pid] = mib
        self.show()

    def forget(self, pid):
        with self.lock:
            self.held.pop(pid, None)
        self.show()

    def script(self, text):
        fresh = self.cuda / "script.new"
        fresh.write_text(text)
        fresh.rename(self.cuda / "script")

    def hang(self, call, how="hang"):
        """Makes this call hang, before it acts or after it ("late"), until go_on()."""
        (self.cuda / "hold").touch()
        self.script(f"{how} {call}\n")

    def go_on(self):
        (self.cuda / "hold").unlink()

    def calls(self):
        path = self.cuda / "calls"
        return [line.split()[0] for line in path.read_text().splitlines() if not line.startswith("state")] if path.exists() else []

    def start(self, argv, **more):
        child = subprocess.Popen([str(a) for a in argv], env=self.env, stdin=subprocess.DEVNULL, **more)
        self.children.append(child)
        return child

    def process(self, mib, gpu=0):
        child = self.start(["sleep", "600"])
        self.on[child.pid] = gpu
        self.hold(child.pid, mib)
        return child

    def end(self, child):
        child.kill()
        child.wait()
        self.forget(child.pid)

    def whirr(self, *argv, **more):
        return subprocess.run([WHIRR, *map(str, argv)], env=self.env, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, **more)

    def guard(self, *argv, pause="0s"):
        log = open(self.dir / "log", "a")
        word, rest = argv[0], argv[1:]
        return self.start([self.program, "--config", self.config, "--source", "nvml", "guard", word, "--interval", "0.2", "--clear-for", "300ms",
                           "--minimum-pause", pause, "--name", "w", *rest], stderr=log)

    def log(self):
        return (self.dir / "log").read_text()

    def serve(self, *argv):
        """The daemon, with the workers of its configuration."""
        return self.start([WHIRR, "--config", self.config, "--source", "nvml", "serve", "--listen", "127.0.0.1:0", "--socket",
                           self.dir / "whirr.sock", "--interval", "5", "--store", "none", *argv], stderr=open(self.dir / "log", "a"))

    def health(self):
        """The daemon's report on itself."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        with contextlib.closing(connection):
            connection.sock.connect(str(self.dir / "whirr.sock"))
            connection.request("GET", "/api/health")
            return json.loads(connection.getresponse().read())

    def workers(self):
        """The workers as their guards report them; asks again if a guard does not answer in time."""
        done = eventually(lambda: "did not answer" not in (done := self.whirr("guard", "status", "--json")).stderr and done, explain=self.log)
        return {w["name"]: w for w in json.loads(done.stdout)["workers"]} if done.returncode == 0 and done.stdout else {}

    def status(self):
        """The state of the only worker; {} while no guard reports one, so that callers can ask again."""
        workers = list(self.workers().values())
        return workers[0] if workers else collections.defaultdict(lambda: None, state="none", gate=collections.defaultdict(lambda: None))

    def until_all(self, *states):
        return wait_for(lambda: (w := self.workers()) and all(x["state"] in states for x in w.values()) and w, lambda: f"{states}; {self.workers()}\n{self.log()}")

    def until(self, state):
        return wait_for(lambda: (s := self.status())["state"] == state and s, lambda: f"{state}; {self.status()}\n{self.log()}")

    def journal(self):
        path = self.dir / "state" / "guard" / "w.journal"
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError):
            return {"state": "none", "step": "", "acted": None, "claimant": [None], "leader": [0]}

    def close(self):
        for server in self.servers:
            server.close()
        for child in reversed(self.children):
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
        for child in self.children:
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@pytest.fixture
def machine(tmp_path):
    m = Machine(tmp_path)
    yield m
    text = m.log() if (tmp_path / "log").exists() else ""
    m.close()
    assert "Sanitizer" not in text and "runtime error" not in text, text


def attach(m, worker, *more):
    return m.guard("attach", "--method", "checkpoint", *more, worker.pid)


FAST = 'process_check_interval_secs = 0.2\nclear_for = "300ms"\nminimum_pause = "0s"\n'
LOADED = {"lmstudio": ["m", "org/two"], "textgen": ["m"], "vllm": ["m"], "sglang": ["m"], "comfyui": ["m"], "webui": ["m"]}


class Server:
    """A stand-in server; the driver shows 8000 MiB for each loaded model, and 300 for the context."""

    def __init__(self, m, kind, **state):
        self.port = free_port()
        self.m, self.url, self.path = m, f"http://127.0.0.1:{self.port}", m.dir / f"{kind}-{self.port}.json"
        self.put(**dict({"loaded": LOADED.get(kind, ["m:1", "org/two"])}, **state))
        self.process = m.start([sys.executable if "/usr/" in sys.executable else "/usr/bin/python3", SERVERS, kind, self.port, self.path])
        wait_for(self.answers, "the server")
        self.shown, self.ended = None, threading.Event()
        self.follow()
        self.thread = threading.Thread(target=self.keep_following, daemon=True)
        self.thread.start()
        m.servers.append(self)

    def answers(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def get(self):
        return json.loads(self.path.read_text())

    def put(self, **changes):
        with open(f"{self.path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = dict(self.get() if self.path.exists() else {}, **changes)
            fresh = self.path.with_suffix(".t")
            fresh.write_text(json.dumps(state))
            fresh.rename(self.path)

    def follow(self):
        held = 300 + 8000 * len(self.get()["loaded"])
        if held != self.shown:
            self.m.hold(self.process.pid, held)
        self.shown = held

    def keep_following(self):
        while not self.ended.wait(0.03):
            self.follow()

    def unloaded(self):
        return self.get()["loaded"] == []

    def log(self):
        path = pathlib.Path(str(self.path) + ".log")
        return path.read_text().splitlines() if path.exists() else []

    def done(self):
        """Whether all received requests are finished."""
        path = pathlib.Path(str(self.path) + ".done")
        return len(self.log()) == (len(path.read_text().splitlines()) if path.exists() else 0)

    def close(self):
        self.ended.set()
        self.thread.join()


def fleet(m, states, more=""):
    """A daemon that guards one stand-in of each kind, named after the kind."""
    m.total = 400000
    servers = {kind: Server(m, kind, **state) for kind, state in states.items()}
    m.config.write_text(f"[worker]\n{FAST}{more}" + "".join(f'[guard.worker.{k}]\nmethods = ["{k}"]\nurl = "{s.url}"\n' for k, s in servers.items()))
    m.serve()
    m.until_all("running")
    return servers


def ask(port, path="/api/ps", timeout=PATIENCE):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("Retry-After")
    finally:
        connection.close()
