# SPDX-License-Identifier: Apache-2.0
"""A daemon through which everything went once: no errors of memory, no leaks (under the sanitizers), nothing left behind."""
import json
import os
import random
import signal
import socket
import threading

from conftest import eventually

from .test_live import GOOD, frame, handshake

PATHS = ["/", "/api/gpu/devices", "/api/gpu/devices?max_age_ms=0", "/api/gpu/driver", "/api/gpu/summary", "/api/gpu/metrics", "/api/gpu/metrics?gpu=1",
         "/api/processes", "/api/processes?user=alice&sort=memory", "/api/why", "/api/why?gpu=0", "/api/resources", "/api/system/gpu-stats", "/api/health",
         "/api/snapshot", "/metrics", "/openapi.json", "/docs", "/docs/swagger-ui-bundle.js", "/style.css", "/icon.svg", "/login", "/nope",
         "/socket.io/?EIO=4&transport=polling", "/ws"]


def everything(d):
    for path in PATHS:
        for more in ({}, {"Accept_Encoding": "gzip"}, {"If_None_Match": "*"}, {"Accept": "text/html"}):
            for method in ("GET", "HEAD", "OPTIONS", "POST"):
                d.ask(method, path, **more)
    d.ask("POST", "/api/source/release", body='{"for_seconds": 0}', unix=True)
    d.whirr("status"), d.whirr("why"), d.whirr("ps")


def hear(s, word=None):
    """Reads until the word came, or until the other side ends it."""
    said = b""
    while not (word and word in said) and (piece := s.recv(65536)):
        said += piece
    assert not word or word in said, said


def live(d):
    """Clients that come and go in every state."""
    for how in ("close", "silent", "bad", "subscribe", "poll", "upgrade"):
        if how in ("poll", "upgrade"):
            sid = json.loads(d.get("/socket.io/?EIO=4&transport=polling").body[1:])["sid"]
            session = f"/socket.io/?EIO=4&transport=polling&sid={sid}"
            d.ask("POST", session, body="40")
            d.get(session)
            if how == "upgrade":
                s, head = handshake(d, *GOOD, path=f"/socket.io/?EIO=4&transport=websocket&sid={sid}")
                assert " 101 " in head
                s.sendall(frame(b"2probe") + frame(b"5") + frame(b'42["request_gpu_update"]') + frame(b'42["subscribe",["gpu_stats"]]'))
                hear(s, b'42["gpu_stats')
                s.close()
            else:  # leaves in the middle of a poll
                with socket.create_connection(("127.0.0.1", d.port)) as s:
                    s.sendall(f"GET {session} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            continue
        s, _ = handshake(d, *GOOD)
        if how == "close":
            s.sendall(frame(b"\x03\xe8", first=0x88))
        elif how == "bad":
            s.sendall(b"\xff" * 100)
        elif how == "subscribe":
            s.sendall(frame(b'{"type": "subscribe", "events": ["gpu_stats"], "interval_seconds": 1}') + frame(b"nonsense"))
        if how in ("close", "bad"):
            hear(s)
        elif how == "subscribe":
            hear(s, b"gpu_stats")
        s.close()


def noise(d):
    """Bytes that are nearly requests, cut and bent at random places."""
    random.seed(7)
    whole = (b"POST /socket.io/?EIO=4&transport=polling&sid=x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n40x\r\n0\r\n\r\n"
             b"GET /api/gpu/metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
    for _ in range(150):
        data = bytearray(whole * random.randint(1, 3))
        for _ in range(random.randint(0, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(data[:random.randrange(len(data))])
            if random.random() < 0.3:
                s.shutdown(socket.SHUT_WR)
            if random.random() < 0.5:
                s.settimeout(0.05)
                try:
                    s.recv(100)
                except OSError:
                    pass


def test_everything_once_and_nothing_left_behind(start):
    d = start("--interval", "0.1", ASAN_OPTIONS="detect_leaks=1")
    d.wait_log("source started")
    threads = [threading.Thread(target=f, args=(d,)) for f in (everything, live, noise)]
    for t in threads:
        t.start()
    d.process.send_signal(signal.SIGHUP)
    for t in threads:
        t.join()
    before = len(os.listdir(f"/proc/{d.process.pid}/fd"))
    live(d)
    # Sessions that ended are cleared away once a second.
    eventually(lambda: len(os.listdir(f"/proc/{d.process.pid}/fd")) <= before + 1)
    # It ends in the middle of things.
    open_ones = [handshake(d, *GOOD)[0] for _ in range(20)] + [socket.create_connection(("127.0.0.1", d.port)) for _ in range(20)]
    for s in open_ones[20:30]:
        s.sendall(b"GET /api/gpu/devices?max_age_ms=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    code, _ = d.stop(within=120)
    assert code == 0, d.log()
    for s in open_ones:
        s.close()
