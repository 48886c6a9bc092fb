# SPDX-License-Identifier: Apache-2.0
"""idle_after: a model that nobody asks for is unloaded, and the next request brings it back; through every method."""
import http.client
import json
import signal
import sys
import threading
import time

import pytest
from guard_machine import FAST, PATIENCE, Server, ask, free_port, machine, needs_fakes, throughout, wait_for  # noqa: F401

pytestmark = [pytest.mark.slow, needs_fakes]

KINDS = ["ollama", "llamacpp", "llama-swap", "vllm", "sglang", "comfyui", "lmstudio", "webui", "textgen", "triton"]
LOADS_AT_A_REQUEST = {"llama-swap", "comfyui"}  # the stand-ins answer without it


def post(port, path="/v1/chat/completions", timeout=PATIENCE):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("POST", path, json.dumps({"model": "m"}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_every_server_is_unloaded_and_the_next_request_loads_it_again(machine):
    m = machine
    m.total = 400000
    servers = {kind: Server(m, kind) for kind in KINDS}
    gates = {kind: free_port() for kind in KINDS}
    m.config.write_text(f'[worker]\n{FAST}idle_after = "1s"\n' + "".join(
        f'[guard.worker.{k}]\nmethods = ["{k}"]\nurl = "{s.url}"\ngate = "127.0.0.1:{gates[k]}"\n' for k, s in servers.items()))
    m.serve()
    workers = m.until_all("paused")
    assert all(w["idle"] and w["idle_after_seconds"] == 1 and w["resumes_at"] is None for w in workers.values())
    assert all(s.unloaded() for s in servers.values())
    assert "no request for 1s" in m.log()
    throughout(0.8, lambda: all(w["state"] == "paused" for w in m.workers().values()), m.log)  # a free GPU is no reason to come back
    answers = {}
    threads = [threading.Thread(target=lambda k=k: answers.update({k: post(gates[k])})) for k in KINDS]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set(answers) == set(KINDS) and all(status not in (502, 503) for status, _ in answers.values()), answers
    assert all(w["resumes_total"] >= 1 and w["last_resume_seconds"] > 0 for w in m.workers().values())
    back = {k: s for k, s in servers.items() if k not in LOADS_AT_A_REQUEST}  # the others hold nothing that could be given back
    wait_for(lambda: all(m.workers()[k]["idle"] for k in back), m.log)  # and no client asks again


def idle_ollama(m, idle="1s", **more):
    server, port = Server(m, "ollama", **more), free_port()
    m.guard("attach", "--method", "ollama", "--idle-after", idle, "--gate", f"127.0.0.1:{port}", server.url)
    return server, port


def test_looking_is_not_asking(machine):
    m = machine
    server, port = idle_ollama(m)
    wait_for(lambda: m.status()["state"] != "none", m.log)
    stop, answers = threading.Event(), set()

    def watch():
        while not stop.wait(0.1):
            answers.add(ask(port)[0])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        m.until("paused")
        throughout(1, lambda: m.status()["state"] == "paused", m.log)
        assert server.unloaded() and "idle: the next request brings it back" in m.whirr("guard", "status").stdout
    finally:
        stop.set()
        thread.join()
    assert answers == {200}


def test_a_request_does_not_wait_for_the_next_check(machine):
    m = machine
    server, port = Server(m, "ollama"), free_port()
    settings = f'idle_after = "1s"\n[guard.worker.o]\nmethods = ["ollama"]\nurl = "{server.url}"\ngate = "127.0.0.1:{port}"\n'
    m.config.write_text(f"[worker]\n{FAST}{settings}")
    daemon = m.serve()
    m.until_all("paused")
    m.config.write_text(f"[worker]\n{FAST.replace('secs = 0.2', 'secs = 3600')}{settings}")
    daemon.send_signal(signal.SIGHUP)
    wait_for(lambda: "reloaded" in m.log(), m.log)
    assert post(port)[0] not in (502, 503)
    m.until_all("running")


def test_who_asks_keeps_it(machine):
    m = machine
    _, port = idle_ollama(m, "2s")
    wait_for(lambda: m.status()["state"] != "none", m.log)
    stop, at, answers = threading.Event(), [], set()

    def keep_asking():
        while not stop.wait(0.1):
            answers.add(post(port, "/api/show")[0])
            at.append(time.monotonic())

    def kept_for(seconds):
        """Whether it was asked often enough for so long; then it was not unloaded in that time. A busy machine may need another try."""
        begin, before = time.monotonic(), m.status()["evictions_total"]
        wait_for(lambda: time.monotonic() - begin > seconds, "time passes")
        times = [begin, *(t for t in list(at) if t > begin), time.monotonic()]
        often = max(b - a for a, b in zip(times, times[1:])) < 1.5
        assert not often or m.status()["evictions_total"] == before, m.log()
        return often

    thread = threading.Thread(target=keep_asking)
    thread.start()
    try:
        wait_for(lambda: at and kept_for(4), m.log)  # twice idle_after
    finally:
        stop.set()
        thread.join()
    assert not answers & {502, 503}
    m.until("paused")


def test_a_claim_while_idle_is_a_plain_pause_and_the_request_waits_for_it(machine):
    m = machine
    server, port = idle_ollama(m)
    m.until("paused")
    other = m.process(3000)
    wait_for(lambda: not m.status()["idle"], m.status)
    answer = []
    thread = threading.Thread(target=lambda: answer.append(post(port, "/api/show")))
    thread.start()
    throughout(0.8, lambda: not answer and server.unloaded(), m.log)
    m.end(other)
    thread.join()
    assert answer[0][0] not in (502, 503)


def test_without_a_gate_a_server_that_loads_itself_is_noticed(machine):
    m = machine
    server = Server(m, "ollama")
    m.guard("attach", "--method", "ollama", "--idle-after", "1s", server.url)
    m.until("paused")
    server.put(loaded=["m:1", "org/two"])  # a client asked it directly
    wait_for(lambda: m.status()["evictions_total"] == 2 and server.unloaded(), m.log)  # it was seen running, and then idle again
    refused = m.whirr("--config", m.config, "guard", "attach", "--method", "vllm", "--idle-after", "1s", "--name", "x", server.url)
    assert refused.returncode != 0 and "idle_after needs a gate" in refused.stderr


WEB = """import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"])); self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""


def test_any_cuda_process_by_checkpoint(machine):
    m = machine
    port, gate = free_port(), free_port()
    worker = m.start([sys.executable, "-c", WEB, port])
    m.hold(worker.pid, 9000)
    m.guard("attach", "--method", "checkpoint", "--idle-after", "1s", "--url", f"http://127.0.0.1:{port}", "--gate", f"127.0.0.1:{gate}", worker.pid)
    m.until("paused")
    assert m.state(worker.pid) == 2
    assert post(gate) == (200, b"ok")  # delayed, not lost
    assert m.calls()[:4] == ["lock", "checkpoint", "restore", "unlock"]
    wait_for(lambda: m.calls()[4:] == ["lock", "checkpoint"], m.calls)  # and no client asks again


def test_a_child_that_is_stopped_is_started_by_the_next_request(machine):
    m = machine
    port, gate = free_port(), free_port()
    pids = m.dir / "pids"
    m.guard("run", "--method", "process", "--idle-after", "1s", "--url", f"http://127.0.0.1:{port}", "--gate", f"127.0.0.1:{gate}", "--",
            "sh", "-c", f'echo $$ >> {pids}; exec "$@"', "sh", sys.executable, "-c", WEB, port)
    first = wait_for(lambda: pids.exists() and pids.read_text().split(), m.log)[0]
    m.hold(int(first), 9000)
    m.until("paused")
    m.forget(int(first))
    assert post(gate) == (200, b"ok")
    assert len(set(pids.read_text().split())) == 2


def test_an_idle_pause_survives_a_restart(machine):
    m = machine
    server, port = Server(m, "ollama"), free_port()
    more = ("attach", "--method", "ollama", "--idle-after", "1s", "--gate", f"127.0.0.1:{port}", server.url)
    guard = m.guard(*more)
    m.until("paused")
    guard.kill()
    guard.wait()
    m.guard(*more)
    wait_for(lambda: m.status().get("idle"), m.log)
    throughout(1, lambda: m.status()["state"] == "paused" and server.unloaded(), m.log)
    assert post(port, "/api/show")[0] not in (502, 503)
