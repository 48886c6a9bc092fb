#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Alerts on a real GPU: tests/gpu/alert_check.py build/whirr

1. At rest no finding becomes an alert on a GPU that is fine, except for those about who is on it.
2. A rule that must hold (the card draws power) posts to a webhook within two samples, with the card's name and a believable value.
3. A rule that cannot be judged on this card says what is missing, instead of taking it for 0.
4. After a restart the alert still fires since the same moment, and no second notification is sent; when its rule goes, its end is notified.
"""
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

# Other programs may be at work, and health_check.py makes an XID, which stays in the kernel log.
QUIET = {"context_held", "vram_held", "clocks_held", "power_limit", "vram_full", "hidden_load", "xid"}
told = []


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def until(look, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    fail(f"did not come within {seconds} s")


def main():
    whirr = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/whirr")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder, "WHIRR_SERVER_SOCKET": f"{folder}/whirr.sock"}
        config = f"{folder}/whirr.toml"
        rule = f'[notify.ops]\ntype = "webhook"\nurl = "http://127.0.0.1:{server.server_address[1]}/hook"\n'
        rule += '[[alert]]\nname = "draws_power"\nwhen = "power_watts > 1W"\nnotify = ["ops"]\n'

        def ask(*args):
            done = subprocess.run([whirr, *args, "--json"], env=env, capture_output=True, text=True)
            return json.loads(done.stdout) if done.returncode == 0 else None

        def start():
            return subprocess.Popen([whirr, "serve", "--config", config, "--listen", "none", "--store", "none", "--interval", "0.5"], env=env)

        def firing(name=None):
            return [a for a in (ask("alert") or {"alerts": []})["alerts"] if a["state"] == "firing" and name in (None, a["alert"])]

        def samples(count):
            """So many more samples of the daemon: what does not fire in them, does not fire."""
            seen = set()

            def look():
                if answer := ask("status"):
                    seen.add(answer["timestamp"])
                return len(seen) > count
            until(look, 10 + 2 * count)

        with open(config, "w") as f:
            f.write(rule)
        d = start()
        began = time.monotonic()
        until(lambda: told)
        first = told[0]
        print(f"told after {time.monotonic() - began:.1f} s: {first['summary']}")
        if first["alert"] != "draws_power" or not 1 < first["value"] < 2000 or not first["gpu_name"]:
            fail(json.dumps(first))
        samples(30)
        loud = [a for a in firing() if a["alert"] not in QUIET | {"draws_power"}]
        print("built-in rules that fire:", [(a["alert"], a["summary"]) for a in loud] or "none")
        missing = ask("alert", "test", "fan_rpm > 100000 and fan_percent > 100000")["rules"][0]
        print("a rule about fans:", missing["condition"], missing["not_known"])
        if missing["condition"] == "true":
            fail("no fan turns that fast")
        since = firing("draws_power")[0]["started_at"]
        d.terminate()
        d.wait(20)
        d = start()
        until(lambda: firing("draws_power"))
        if firing("draws_power")[0]["started_at"] != since:
            fail("the restart was taken for a new beginning")
        with open(config, "w") as f:
            f.write(rule.split("[[alert]]")[0])
        samples(4)
        again = [t for t in told if t["status"] == "firing"]
        d.send_signal(signal.SIGHUP)
        until(lambda: [t for t in told if t["status"] == "resolved"])
        if len({(t["gpu_index"], t["started_at"]) for t in again}) != len(again):
            fail("told twice: " + json.dumps(again))
        d.terminate()
        d.wait(20)
        if loud:
            fail("a built-in rule fires at rest: is the card fine?")
    print("fine")


main()
