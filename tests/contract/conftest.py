# SPDX-License-Identifier: Apache-2.0
"""Daemons for the tests of this folder, and clients that others wrote."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import threading

import postgres
import pytest
from daemons import Starter
from isolation import BUILD
from tripwires import Servers
from waiting import PATIENCE, eventually

postgres.start()  # before the tests are read: some are left out without a server
CLIENTS = pathlib.Path(__file__).resolve().parent / "clients"


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
    d = starter("--interval", "0.5")
    d.wait_sampled()
    yield d
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
        return start(*args, source="nvml", sampled="hang" not in script, WHIRR_NVML_LIBRARY=str(library), WHIRR_FAKE_NVML=str(path), **env)

    return run


@pytest.fixture
def server(tmp_path):
    """Starts stand-ins of model servers; all of them end with the test."""
    servers = Servers(tmp_path)
    yield servers
    servers.stop()


def install(folder):
    """The packages of a folder with clients, from the registry, at the versions of its package-lock.json."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed (tools/deps test)")
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run beside these want them as well
    try:
        installed, wanted = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
            done = subprocess.run(["npm", "ci", "--silent"], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                pytest.skip("npm ci failed: " + (done.stderr or done.stdout).strip()[-300:])
    finally:
        os.close(lock)


def runner(folder):
    @contextlib.contextmanager
    def run(script, *args):
        process = subprocess.Popen(["node", str(folder / script), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, cwd=folder)
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


@pytest.fixture(scope="session")
def node():
    """Runs a client of clients/ with node."""
    install(CLIENTS)
    return runner(CLIENTS)


@pytest.fixture(scope="session")
def node20():
    """The same for packages that need a newer node than Debian 12 has."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout if shutil.which("node") else "v0"
    if int(version[1:].split(".")[0]) < 20:
        pytest.skip(f"node is {version.strip()}; this package needs 20")
    install(CLIENTS / "node20")
    return runner(CLIENTS / "node20")


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

    def wait(self, name, count=1, timeout=PATIENCE):
        return eventually(lambda: (found := self.named(name)) and len(found) >= count and found, timeout,
                          lambda: f"{name}: {self.events} {self.other}")
