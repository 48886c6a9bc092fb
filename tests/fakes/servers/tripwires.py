# SPDX-License-Identifier: Apache-2.0
"""A program that takes the part of a model server or of one of its workers, and reports each touch.

What it does stands as JSON in TRIPWIRES: "log" (a line for each touch: the path of a request, or "wire" and the bytes that came), "ready"
(where it writes the PID of its innermost child when everything listens), "port" and "pages" (path: body; {tokens} counts 200 a second; or a list
of a body, how often it is repeated, with the number in place of {n}, and how many seconds it takes), "key" (without which it refuses), "wires"
(how many ports it opens that speak another protocol, as those of a process group do), "child" ("argv" and a plan of its own), "comm" (its name, if it is not the one of its file) and "beside", another
child, which is not on the GPU. While
there is a file of the log's name with ".hang" behind it, it answers nothing. Ends when its stdin does, and its children with it.
"""
import contextlib
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time

PLAN = json.loads(os.environ["TRIPWIRES"])
BEGUN = time.monotonic()
CHILDREN = []  # whose stdin stays open as long as this program runs


def note(line):
    with open(PLAN["log"], "a") as log:
        log.write(line + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        note(self.path)
        while os.path.exists(PLAN["log"] + ".hang"):
            time.sleep(0.05)
        if PLAN.get("key") and self.headers["Authorization"] != f"Bearer {PLAN['key']}":
            return self.send_error(401)
        page = PLAN["pages"].get(self.path)
        text, times, seconds = page if isinstance(page, list) else (page or "not found", 1, 0)
        time.sleep(seconds)
        self.send_response(404 if page is None else 200)
        self.end_headers()
        text = text.replace("{tokens}", str(int((time.monotonic() - BEGUN) * 200)))
        with contextlib.suppress(OSError):  # it has heard enough
            self.wfile.write("".join(text.replace("{n}", str(n)) for n in range(times)).encode())

    def log_message(self, *_):
        pass


def watch(wire):
    while True:
        connection, _ = wire.accept()
        note("wire")
        with connection:
            while data := connection.recv(4096):
                note(f"wire {data!r}")


def open_wires(count):
    for i in range(count):
        wire = socket.socket(socket.AF_INET6 if i % 2 else socket.AF_INET)
        wire.bind(("::1" if i % 2 else "127.0.0.1", 0))
        wire.listen(8)
        threading.Thread(target=watch, args=(wire,), daemon=True).start()


def main():
    if "comm" in PLAN:
        with open("/proc/self/comm", "w") as comm:
            comm.write(PLAN["comm"])
    open_wires(PLAN.get("wires", 0))
    if PLAN.get("port"):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", PLAN["port"]), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    inner = str(os.getpid())
    for kind in ("beside", "child"):
        if kind not in PLAN:
            continue
        plan = dict(PLAN[kind], log=PLAN["log"], ready=PLAN["ready"] + "." + kind)
        child = subprocess.Popen(plan.pop("argv"), executable=sys.executable, stdin=subprocess.PIPE, env=dict(os.environ, TRIPWIRES=json.dumps(plan)))
        CHILDREN.append(child)
        while not os.path.exists(plan["ready"]) and child.poll() is None:
            time.sleep(0.01)
        with open(plan["ready"]) as ready:
            inner = ready.read()
    with open(PLAN["ready"] + ".new", "w") as ready:
        ready.write(inner)
    os.rename(PLAN["ready"] + ".new", PLAN["ready"])
    sys.stdin.read()


main()
