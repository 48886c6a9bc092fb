# SPDX-License-Identifier: Apache-2.0
"""A real llama-server under whirr's eyes, with a model of random weights. Not among the tests of every change: `tools/release-check llama` runs it with
WHIRR_LLAMA_ROOT, a directory with a Debian that has llama.cpp."""
import contextlib
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.request

import gguf
from ports import free_port
from tripwires import process_of, script
from waiting import PATIENCE, eventually, throughout

ROOT = pathlib.Path(os.environ["WHIRR_LLAMA_ROOT"])
KEY = "sk-of-the-check"


@contextlib.contextmanager
def llama_server(*args):
    gguf.write_model(ROOT / "tmp" / "random-25m.gguf")
    port = free_port()
    with open(ROOT / "tmp" / f"log-{port}", "wb") as log:
        process = subprocess.Popen(["chroot", ROOT, "/usr/bin/llama-server", "-m", "/tmp/random-25m.gguf", "--port", str(port), "-t", "1", "-np", "1", "--api-key", KEY, *args], stdout=log, stderr=log)
    try:
        eventually(lambda: process.poll() is not None or answers(port), explain=lambda: (ROOT / "tmp" / f"log-{port}").read_text())
        assert process.poll() is None, (ROOT / "tmp" / f"log-{port}").read_text()
        yield process.pid, port
    finally:
        process.kill()
        process.wait(PATIENCE)


def ask(port, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body and json.dumps(body).encode(), {"Authorization": f"Bearer {KEY}"})
    return urllib.request.urlopen(request, timeout=PATIENCE)


def answers(port):
    with contextlib.suppress(OSError):
        return ask(port, "/health").status == 200


class Stream(threading.Thread):
    """Reads an answer as it comes, and remembers when each token did."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.answer = ask(port, "/completion", {"prompt": "hello", "n_predict": 14000, "ignore_eos": True, "stream": True})
        self.times = []
        self.start()

    def run(self):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            for line in self.answer:
                if line.startswith(b"data: "):
                    self.times.append((time.monotonic(), json.loads(line[6:])["tokens_predicted"]))

    def rate(self, seconds):
        now = time.monotonic()
        recent = [row for row in list(self.times) if row[0] > now - seconds]
        return (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0]) if len(recent) > 10 else 0

    def close(self):
        self.answer.fp.raw._sock.shutdown(2)
        self.join(PATIENCE)


def daemon_beside(nvml, tmp_path, pid):
    config = tmp_path / "whirr.toml"
    config.write_text(f'[serving.local]\nkind = "llama.cpp"\nkey = "{KEY}"\n')
    return nvml(script(pid), "--interval", "0.5", "--config", str(config))


def test_it_is_read_at_its_own_speed(nvml, tmp_path):
    with llama_server() as (pid, port):
        d = daemon_beside(nvml, tmp_path, pid)
        eventually(lambda: process_of(d, pid).get("requests_running") == 0, explain=lambda: (process_of(d, pid), d.log()))
        stream = Stream(port)
        eventually(lambda: process_of(d, pid).get("requests_running") == 1, explain=lambda: (process_of(d, pid), d.log()))
        seen = []

        def close_to_it():
            seen.append((process_of(d, pid)["tokens_per_second"] or 0, stream.rate(10)))
            return abs(seen[-1][0] - seen[-1][1]) < 0.1 * seen[-1][1]
        eventually(close_to_it, explain=lambda: seen[-20:])
        print(f"whirr {seen[-1][0]:.1f} tokens a second, counted {seen[-1][1]:.1f}")
        stream.close()
        eventually(lambda: process_of(d, pid).get("requests_running") == 0, explain=lambda: process_of(d, pid))
        assert process_of(d, pid)["display_name"] == "local" and process_of(d, pid)["model"] == "random-25m"


def test_a_model_that_may_sleep_falls_asleep_and_stays_so(nvml, tmp_path):
    with llama_server("--sleep-idle-seconds", "12") as (pid, port):
        d = daemon_beside(nvml, tmp_path, pid)
        eventually(lambda: process_of(d, pid), explain=d.log)
        eventually(lambda: json.load(ask(port, "/props"))["is_sleeping"])
        throughout(11, lambda: json.load(ask(port, "/props"))["is_sleeping"])  # two looks
        assert process_of(d, pid)["tokens_per_second"] is None
