#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model nobody asks for leaves a real GPU and comes back for the next request: guard run --method checkpoint --gate --idle-after. Needs torch.

    tests/gpu/idle_check.py build/whirr
"""
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

SERVER = """
import http.server, sys, torch
torch.manual_seed(7)
weights = torch.randn(4, 16384, 16384, device="cuda", dtype=torch.bfloat16)  # 2 GiB
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = f"{(weights[1] @ weights[2][:, :64]).float().sum().item()!r}".encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
IDLE_S, PATIENCE_S = 15, 90


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def used_mib():
    out = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"], capture_output=True, text=True, check=True)
    return int(out.stdout.split()[0])


def ask(port):
    begin = time.monotonic()
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/", data=b"{}", method="POST"), timeout=PATIENCE_S) as reply:
        return reply.read(), time.monotonic() - begin


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            if condition():
                print(f"ok    {what}")
                return
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit(f"FAIL  {what}: not within {PATIENCE_S} s; {used_mib()} MiB in use")


def main():
    whirr, before = os.path.abspath(sys.argv[1]), used_mib()
    own, gate = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        places = {name: f"{folder}/{name}" for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "WHIRR_SYSTEM_ROOT")}
        for place in places.values():
            os.makedirs(place, mode=0o700)
        script = f"{folder}/server.py"
        with open(script, "w", encoding="ascii") as file:
            file.write(SERVER)
        guard = subprocess.Popen([whirr, "guard", "run", "--method", "checkpoint", "--url", f"http://127.0.0.1:{own}", "--gate", f"127.0.0.1:{gate}", "--idle-after",
                                  f"{IDLE_S}s", "--interval", "1", "--", sys.executable, script, str(own)], env=dict(os.environ, **places))
        try:
            wait_for("the model answers through the gate", lambda: ask(gate)[0])
            first, took = ask(gate)
            held = used_mib() - before
            print(f"      {held} MiB held, an answer takes {took * 1000:.0f} ms")
            wait_for(f"unused for {IDLE_S} s it is off the GPU", lambda: used_mib() - before < held / 10)
            again, took = ask(gate)
            print(f"      the next answer took {took:.1f} s, {used_mib() - before} MiB held again")
            if again != first:
                sys.exit(f"FAIL  {first!r} before, {again!r} afterwards")
            print("ok    the same answer, and none lost")
            wait_for("it leaves again", lambda: used_mib() - before < held / 10)
        finally:
            guard.terminate()
            guard.wait(60)
    print("fine")


if __name__ == "__main__":
    main()
