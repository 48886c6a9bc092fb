# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of model servers on the GPU, by their own counters: stand-ins that answer as the real ones do."""
import subprocess
import sys

import pytest
from isolation import WHIRR
from waiting import PATIENCE, eventually, throughout

# Writes its port, then counts 50 tokens at each question.
SERVER = """#!{python}
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    begun = time.monotonic()
    def do_GET(self):
        open({asked!r}, "a").write(self.path + "\\n")
        tokens = int((time.monotonic() - Handler.begun) * 200)
        found = self.path == {path!r}
        body = ({metrics!r} % tokens).encode() if found else b'{{"error": {{"code": 501}}}}'
        self.send_response(200 if found else 501)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
{before}
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
open({ready!r}, "w").write(str(os.getpid() if not {child} else child))
server.serve_forever()
"""
FORK = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: (os.kill(child, 9), os._exit(0)))\nchild = os.fork()\nif child == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_DFL)\n    signal.pause()\n    os._exit(0)\n"
VLLM = '# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{engine="0",model_name="Qwen/Qwen3-8B"} %d.0\n'
LLAMA = "# TYPE llamacpp:tokens_predicted_total counter\nllamacpp:tokens_predicted_total %d\nllamacpp:requests_processing 1\n"

SLOTS = '[{"id": 0, "id_task": 3, "n_ctx": 4096, "is_processing": true, "next_token": [{"has_next_token": true, "n_remain": -1, "n_decoded": %d}]}]'


@pytest.fixture
def server(tmp_path):
    """Starts a program of this name; its number on the GPU, and what it was asked."""
    running = []

    def start(name, metrics, *args, child=False):
        folder = tmp_path / str(len(running))
        folder.mkdir()
        path, ready, asked = folder / name, folder / "ready", folder / "asked"
        asked.write_text("")
        path.write_text(SERVER.format(python=sys.executable, asked=str(asked), ready=str(ready), metrics=metrics, child=child, path="/slots" if metrics == SLOTS else "/metrics", before=FORK if child else ""))
        path.chmod(0o755)
        running.append(subprocess.Popen([str(path), *args]))
        pid = eventually(lambda: ready.exists() and ready.read_text())
        return int(pid), asked

    yield start
    for process in running:
        process.terminate()
        process.wait(PATIENCE)


def script(*pids):
    return "gpu NVIDIA GeForce RTX 4090\n  gpu_util 60\n  used 9000\n" + "".join(f"  process {pid} compute 2000 20 10\n" for pid in pids)


def speed_of(d, pid):
    found = [p for p in d.json("/api/processes")["processes"] if p["pid"] == pid]
    return found and found[0]["tokens_per_second"]


@pytest.mark.slow
def test_a_model_servers_speed_stands_beside_its_process(nvml, server):
    """By any of the counters that servers have; also where the process on the GPU is a child of the one that listens."""
    pids = [server(name, metrics, *args, child=child)[0] for name, metrics, args, child in (
        ("llama-server", LLAMA, ("-m", "/m/qwen3-8b-q4_k_m.gguf", "--metrics"), False), ("llama-server", SLOTS, ("-m", "/m/qwen3-8b-q4_k_m.gguf"), False),
        ("vllm", VLLM, ("serve", "Qwen/Qwen3-8B"), True))]
    d = nvml(script(*pids), "--interval", "0.5")
    for pid in pids:
        # Where the machine was busy between a question and its answer, the next ones are better.
        eventually(lambda: 150 < (speed_of(d, pid) or 0) < 250, explain=lambda: (speed_of(d, pid), d.log()))
    done = d.whirr("ps", "--json")
    assert done.returncode == 0 and '"tokens_per_second": ' in done.stdout

    def table():
        return subprocess.run([WHIRR, "ps"], env=dict(d.env, COLUMNS="220"), capture_output=True, text=True, timeout=PATIENCE).stdout
    eventually(lambda: table().count(" tok/s") == len(pids), explain=table)


def test_it_can_be_turned_off(nvml, server):
    pid, asked = server("llama-server", LLAMA, "-m", "/m/x.gguf")
    d = nvml(script(pid), "--interval", "0.5", WHIRR_SAMPLING_MODEL_SERVERS="false")
    eventually(lambda: any(p["pid"] == pid for p in d.json("/api/processes")["processes"]))
    throughout(2, lambda: asked.read_text() == "" and not speed_of(d, pid))


def test_whoever_is_no_model_server_is_not_asked(nvml, server):
    pid, asked = server("trainer", LLAMA)
    d = nvml(script(pid), "--interval", "0.5")
    eventually(lambda: any(p["pid"] == pid for p in d.json("/api/processes")["processes"]))
    throughout(2, lambda: asked.read_text() == "")
    assert speed_of(d, pid) is None
