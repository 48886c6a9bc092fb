# SPDX-License-Identifier: Apache-2.0
"""Section B, events: the WebSocket with the package `ws`, Socket.IO with `socket.io-client` and its default settings."""
import datetime
import json
import os
import re
import socket
import struct
import time

import pytest
import shapes
from conftest import PATIENCE, eventually
from world import World, needs_world

STATUS = {"connected": bool, "sources": [str], "interval_seconds": shapes.NUMBER, "devices": [shapes.DEVICE], "summary": shapes.SUMMARY}
STATS = {**shapes.STATS_ROW, "timestamp": shapes.TIME}
ALERT = {"gpu_index": int, "gpu_name": str, "utilization_percent": shapes.NUMBER, "limit_percent": shapes.NUMBER, "processes": [shapes.PROCESS],
         "timestamp": shapes.TIME}
SAMPLE = ["gpu_status_update", "gpu_stats", "gpu_stats"]


def clients(daemon):
    """The same tests for both kinds of clients."""
    return [("ws.mjs", f"ws://127.0.0.1:{daemon.port}/ws"), ("socketio.mjs", daemon.url)]


@pytest.fixture(params=["ws.mjs", "socketio.mjs"])
def listen(request, node):
    def run(daemon, *options):
        url = f"ws://127.0.0.1:{daemon.port}/ws" if request.param == "ws.mjs" else daemon.url
        return node(request.param, url, *options)

    run.is_ws = request.param == "ws.mjs"
    return run


def say(listen, client, type, data=None):
    if listen.is_ws:
        client.send(message={"type": type, **(data or {})})
    else:
        client.send(emit=type, args=[data] if data else [])


def skipped_so_far(d):
    return int(re.search(r"^whirr_live_samples_missed_total\{.*\} (\d+)", d.get("/metrics").body.decode(), re.M).group(1))


def messages(client):
    return [e for e in list(client.events) if e[0] not in ("open", "connect", "transport", "ping")]


def of_samples(client):
    """Without what happens to come between two samples: in a long run, a checkpoint of the training is over, and the load is high again."""
    return [e for e in messages(client) if e[0] in ("gpu_status", "gpu_status_update", "gpu_stats", "error")]


def test_a_gpu_of_which_nothing_can_be_read_is_listed_and_sends_no_row(start, listen):
    d = start("--interval", "0.2", source="sim:gpus=2,scenario=idle,fault=lost@0")
    with listen(d) as client:
        client.wait("gpu_stats", 3)
        assert {row["gpu_index"] for row in client.named("gpu_stats")} == {1}
        assert [g["state"] for g in client.named("gpu_status_update")[-1]["gpus"]] == ["lost", "ok"]
        assert [g["is_available"] for g in client.named("gpu_status")[0]["devices"]] == [False, True]


def test_events_of_a_connection(daemon, listen):
    with listen(daemon) as client:
        client.wait("gpu_stats", 4)
        got = of_samples(client)
        assert got[0][0] == "gpu_status", got[0]
        status = shapes.check(got[0][1], STATUS)
        assert status["connected"] is True and status["interval_seconds"] == 0.5 and len(status["devices"]) == 2
        names = [e[0] for e in got[1:]]
        assert names[:6] == SAMPLE * 2
        assert client.named("gpu_status")[1:] == []
        for summary in client.named("gpu_status_update"):
            shapes.check(summary, shapes.SUMMARY)
        rows = client.named("gpu_stats")
        for row in rows:
            shapes.check({k: float(v) if isinstance(v, int) and k != "gpu_index" else v for k, v in row.items()}, STATS)
        assert [r["gpu_index"] for r in rows[:4]] == [0, 1, 0, 1]
        assert rows[0]["timestamp"] == rows[1]["timestamp"] == got[1][1]["timestamp"]


@pytest.mark.slow
def test_every_sample_comes_once(daemon, listen):
    with listen(daemon) as client:
        client.wait("gpu_status_update", 5)
        times = [s["timestamp"] for s in client.named("gpu_status_update")]
        assert len(set(times)) == len(times) and times == sorted(times)


def test_a_client_may_ask_for_an_update(start, listen):
    d = start("--interval", "600")
    d.wait_sampled()
    with listen(d) as client:
        client.wait("gpu_status")
        assert client.named("gpu_status_update") == []
        d.wait_age(1)
        first = d.json("/api/system/gpu-stats")["gpus"][0]["recorded_at"]
        say(listen, client, "request_gpu_update")
        update = shapes.check(client.wait("gpu_status_update")[0], shapes.SUMMARY)
        # Asked on demand is sampled on demand; for no other client, and not as the sample of an interval.
        assert datetime.datetime.fromisoformat(update["timestamp"]) - datetime.datetime.fromisoformat(first) >= datetime.timedelta(seconds=1)
        assert client.named("gpu_stats") == [] and len(client.named("gpu_status_update")) == 1


def test_one_client_cannot_keep_the_driver_busy_with_updates(start):
    """Every request is answered; those beyond its share from the newest sample."""
    d = start("--interval", "600", WHIRR_SERVER_MAX_AGE_MS="0")
    s, _ = handshake(d, *GOOD)

    def samples():
        return d.json("/api/health")["gpu_monitoring"]["samples_total"]

    before, began = samples(), time.monotonic()
    for _ in range(100):
        s.sendall(frame(b'{"type": "request_gpu_update"}'))
        while b"gpu_status_update" not in read_frame(s)[1]:
            pass
    passed = time.monotonic() - began
    assert 1 <= samples() - before <= 5 * (passed + 1) + 1 < 100
    s.close()


@pytest.mark.slow
def test_a_client_may_choose_events(daemon, listen):
    with listen(daemon) as client:
        client.wait("gpu_status")
        say(listen, client, "subscribe", {"events": ["gpu_stats"]})
        # Two GPUs: the third in a row belongs to a sample of which nothing else came.
        eventually(lambda: [e[0] for e in of_samples(client)][-3:] == ["gpu_stats"] * 3)
        before = len(client.named("gpu_status_update"))
        client.wait("gpu_stats", len(client.named("gpu_stats")) + 4)
        assert len(client.named("gpu_status_update")) == before
        say(listen, client, "subscribe", {"events": ["gpu_stats", "gpu_status_update"]})
        client.wait("gpu_status_update", before + 1)
        say(listen, client, "subscribe", {"events": ["no_such_event"]})
        assert client.wait("error")[0]["code"] == "unknown_event"


@pytest.mark.slow
def test_a_client_may_have_an_interval_of_its_own(start, listen):
    d = start("--interval", "0.1")
    with listen(d) as client:
        client.wait("gpu_status_update")
        say(listen, client, "subscribe", {"interval_seconds": 0.5})

        def apart():
            """How long after one another the last ones were taken; a busy machine may send one late, and then the next soon."""
            times = [datetime.datetime.fromisoformat(s["timestamp"].replace("Z", "+00:00")).timestamp() for s in client.named("gpu_status_update")]
            return [b - a for a, b in zip(times, times[1:])][-4:]

        # Never much sooner; later where the machine is busy, but not always.
        eventually(lambda: len(a := apart()) == 4 and 0.35 < min(a) < 0.75, explain=apart)
        say(listen, client, "subscribe", {"interval_seconds": -1})
        client.wait("error")


@pytest.mark.slow
def test_high_usage_is_told_once_per_rise(start, listen):
    """The load of this scenario goes up and down: one alert for each way up, and none while it stays up."""
    d = start("--interval", "0.1", source="sim:gpus=1,scenario=bursty,speed=40")
    with listen(d) as client:
        client.wait("high_gpu_usage_alert", 2)
        above, rises, first, got = False, 0, True, messages(client)
        for name, data, _ in got:
            if name == "gpu_stats":
                now = data["gpu_utilization_percent"] > 50
                rises += now and not above and not first
                above, first = now, False
            elif name == "high_gpu_usage_alert":
                shapes.check(data, ALERT)
                assert data["utilization_percent"] > 50 and data["limit_percent"] == 50 and len(data["processes"]) <= 5
        # The first rise may have been before this client came.
        assert abs(len([e for e in got if e[0] == "high_gpu_usage_alert"]) - rises) <= 1


@pytest.mark.slow
def test_alerts_come_behind_the_stats_of_their_sample(start, node):
    d = start("--interval", "0.1", source="sim:gpus=2,scenario=bursty,speed=40")
    with node("ws.mjs", f"ws://127.0.0.1:{d.port}/ws") as client:
        client.wait("high_gpu_usage_alert")
        got = messages(client)
        at = next(i for i, e in enumerate(got) if e[0] == "high_gpu_usage_alert")
        before = [e for e in got[:at] if e[0] != "high_gpu_usage_alert"][-3:]
        assert [e[0] for e in before] == SAMPLE
        assert all(e[1]["timestamp"] == got[at][1]["timestamp"] for e in before)


@pytest.mark.slow
def test_driver_events_reach_listeners_however_many_ask(nvml, node, tmp_path):
    """What the driver reports is found once; a sample that was taken for a request must not swallow it."""
    card = "gpu NVIDIA GeForce RTX 4090\n"
    d = nvml(card, "--interval", "2.5")
    with node("ws.mjs", f"ws://127.0.0.1:{d.port}/ws") as client:
        client.wait("gpu_status")
        (tmp_path / "new").write_text(card + "  event xid 79\n")
        (tmp_path / "new").rename(tmp_path / "script")
        event = eventually(lambda: d.get("/api/gpu/devices?max_age_ms=0") and client.named("gpu_event"), explain=d.log)[0]
        assert event["kind"] == "xid" and event["code"] == 79 and event["gpu_index"] == 0
        client.wait("gpu_status_update", len(client.named("gpu_status_update")) + 2)
        assert len([e for e in client.named("gpu_event") if e["kind"] == "xid"]) == 1
    d.wait_log("event=xid")
    assert sum("event=xid" in line for line in d.lines) == 1


@pytest.mark.slow
def test_a_slow_client_skips_and_is_told(start, node):
    """A client that stops reading: everybody else goes on, and it gets the newest, and before it how many it missed."""
    d = start("--interval", "0.1", source="sim:gpus=64,scenario=training")
    url = f"ws://127.0.0.1:{d.port}/ws"
    with node("ws.mjs", url) as slow, node("ws.mjs", url) as quick:
        slow.wait("gpu_status_update", 2)
        quick.wait("gpu_status_update", 2)
        slow.send(pause=True)
        # Its socket buffers take some megabytes of samples; then it is behind, and the quick one is not.
        eventually(lambda: skipped_so_far(d) >= 5)
        assert quick.named("missed") == []
        slow.send(resume=True)
        missed = slow.wait("missed")
        assert missed[0]["samples"] > 0
        eventually(lambda: messages(slow)[-1][0] != "missed")
        got = messages(slow)
        at = next(i for i, e in enumerate(got) if e[0] == "missed")
        assert got[at + 1][0] == "gpu_status_update"
        gap = [e for e in got[:at] if e[0] == "gpu_status_update"][-1][1]["timestamp"], got[at + 1][1]["timestamp"]
        times = eventually(lambda: gap[1] in (seen := [s["timestamp"] for s in quick.named("gpu_status_update")]) and seen)
        skipped = times.index(gap[1]) - times.index(gap[0]) - 1
        assert skipped == missed[0]["samples"], (skipped, missed)


@pytest.mark.slow
@needs_world
def test_a_client_that_never_reads_costs_little_and_is_dropped(start, tmp_path):
    world = World(tmp_path / "world")
    d = start("--interval", "0.05", source="sim:gpus=64,scenario=training", **world.environment)

    def resident():
        with open(f"/proc/{d.process.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def connections():
        return d.json("/api/health")["server"]["connections"]

    begin, sockets = time.monotonic(), []
    for _ in range(20):
        s = socket.create_connection(("127.0.0.1", d.port))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                  b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        sockets.append(s)
    eventually(lambda: skipped_so_far(d) > 5 * len(sockets))  # what buffers hold is full
    before, skipped = resident(), skipped_so_far(d)
    eventually(lambda: skipped_so_far(d) > skipped + 40 * len(sockets) or connections() < 20)
    if not os.environ.get("WHIRR_SANITIZED"):  # a sanitizer keeps what was freed for a while
        assert resident() - before < 20 * 1024  # kB; nothing piles up with the samples
    # Not before the half minute is over, which a slow machine may have taken by now.
    assert connections() >= 20 or time.monotonic() - begin > 29
    eventually(lambda: world.skip(1) or connections() <= 1)
    for s in sockets:
        s.close()


def test_clients_are_told_of_the_end(start, listen):
    d = start()
    with listen(d) as client:
        client.wait("gpu_status")
        assert d.stop()[0] == 0
        if listen.is_ws:
            assert client.wait("close")[0][0] == 1001
        else:
            client.wait("disconnect")


# ---- the WebSocket protocol itself ----

def handshake(daemon, *fields, path="/ws", method="GET", version="HTTP/1.1"):
    s = socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE)
    lines = [f"{method} {path} {version}", "Host: localhost", *fields]
    s.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
    head = b""
    while b"\r\n\r\n" not in head:
        piece = s.recv(1)
        if not piece:
            break
        head += piece
    return s, head.decode()


GOOD = ["Upgrade: websocket", "Connection: keep-alive, Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]


def frame(payload=b"", first=0x81, mask=b"\x01\x02\x03\x04"):
    head = bytes([first])
    bit = 0x80 if mask else 0
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", len(payload))
    return head + mask + bytes(b ^ mask[i % 4] if mask else b for i, b in enumerate(payload))


def read_frame(s):
    def take(n):
        data = b""
        while len(data) < n:
            piece = s.recv(n - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    first, length = take(2)
    if length == 126:
        length, = struct.unpack(">H", take(2))
    elif length == 127:
        length, = struct.unpack(">Q", take(8))
    return first, take(length)


def closing_code(s):
    while True:
        try:
            first, payload = read_frame(s)
        except EOFError:
            return None
        if first & 15 == 8:
            return struct.unpack(">H", payload[:2])[0]


def test_handshake(daemon):
    s, head = handshake(daemon, *GOOD)
    assert head.startswith("HTTP/1.1 101 ") and "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
    first, payload = read_frame(s)
    assert first == 0x81 and json.loads(payload)["type"] == "gpu_status"
    s.close()
    for fields, status in (([], 426), (GOOD[:3], 400), (GOOD[:2] + ["Sec-WebSocket-Version: 8", GOOD[3]], 426),
                           (GOOD[:3] + ["Sec-WebSocket-Key: short"], 400)):
        s, head = handshake(daemon, *fields)
        assert head.startswith(f"HTTP/1.1 {status} "), head
        s.close()


@pytest.mark.parametrize("data, code", [
    (frame(b"hello", mask=b""), 1002),                                     # not masked
    (frame(b"x", first=0xc1), 1002),                                       # a reserved bit
    (frame(b"x", first=0x83), 1002),                                       # a reserved opcode
    (frame(b"x", first=0x80), 1002),                                       # a continuation of nothing
    (frame(b"a", first=0x01) + frame(b"b", first=0x81), 1002),             # a new message inside of one
    (frame(b"x", first=0x09), 1002),                                       # a ping in parts
    (frame(b"x" * 126, first=0x89), 1002),                                 # a long ping
    (frame(b"\xff\xfe"), 1007),                                            # not UTF-8
    (frame(b"\xe2\x82", first=0x01) + frame(b"x", first=0x80), 1007),      # nor over two frames
    (frame(b"x", first=0x82), 1003),                                       # binary
    (frame(b"x" * 70000), 1009),                                           # too big
    (frame(b"x" * 40000, first=0x01) + frame(b"x" * 40000, first=0x80), 1009),
    (frame(b"\x03\xe8bye", first=0x88), 1000),                             # a proper end
    (frame(b"", first=0x88), 1000),
    (frame(b"\x03", first=0x88), 1002),                                    # half a code
    (frame(b"\x03\xee", first=0x88), 1002),                                # a code that is not for the wire
])
def test_frames_that_end_the_connection(daemon, data, code):
    s, _ = handshake(daemon, *GOOD)
    s.sendall(data)
    assert closing_code(s) == code
    s.close()


def test_fragments_pings_and_frames_in_pieces(daemon):
    s, _ = handshake(daemon, *GOOD)
    s.sendall(frame(b"are you there", first=0x89))
    text = b'{"type": "subscribe", "events": []}'
    for i in range(0, len(text), 5):  # with a ping in the middle, as allowed
        last = i + 5 >= len(text)
        s.sendall(frame(text[i:i + 5], first=(0x80 if last else 0) | (1 if i == 0 else 0)) + frame(b"", first=0x89))
    for byte in frame(b'{"type": "request_gpu_update"}'):
        s.sendall(bytes([byte]))
    got = {}
    while "gpu_status_update" not in got or b"are you there" not in got.get("pong", []):
        first, payload = read_frame(s)
        if first == 0x8a:
            got.setdefault("pong", []).append(payload)
        elif first == 0x81:
            got.setdefault(json.loads(payload)["type"], []).append(1)
    s.close()


def test_bad_messages_are_answered_not_punished(daemon, node):
    with node("ws.mjs", f"ws://127.0.0.1:{daemon.port}/ws") as client:
        client.wait("gpu_status")
        for text in ("nonsense", "[]", "{}", '{"type": 5}', '{"type": "dance"}', '{"type": "subscribe", "events": "gpu_stats"}'):
            client.send(text=text)
        assert len(client.wait("error", 6)) == 6
        client.send(message={"type": "request_gpu_update"})
        client.wait("gpu_status_update")


def test_query_of_a_listening_client(daemon):
    s, head = handshake(daemon, *GOOD, path="/ws?events=gpu_stats&interval_seconds=0")
    assert " 101 " in head
    types = [json.loads(read_frame(s)[1])["type"] for _ in range(4)]
    assert types == ["gpu_status"] + ["gpu_stats"] * 3
    s.close()
    for query in ("events=nope", "interval_seconds=x", "interval_seconds=-1"):
        s, head = handshake(daemon, *GOOD, path="/ws?" + query)
        assert " 400 " in head
        s.close()


# ---- Socket.IO ----

@pytest.fixture(params=["socket.io-client", "socket.io-client-3"])
def package(request):
    """Both versions that speak protocol 5."""
    return request.param


def test_default_settings_upgrade_to_a_websocket(daemon, node, package):
    with node("socketio.mjs", daemon.url, "{}", package) as client:
        client.wait("connect")
        eventually(lambda: "websocket" in client.named("transport"), explain=lambda: str(client.events))
        client.wait("gpu_stats", 4)


@pytest.mark.parametrize("transport", ["polling", "websocket"])
def test_either_transport_alone(daemon, node, transport, package):
    with node("socketio.mjs", daemon.url, json.dumps({"transports": [transport]}), package) as client:
        client.wait("gpu_stats", 6)
        assert client.named("transport") == [transport]
        names = [e[0] for e in of_samples(client)]
        assert names[:7] == ["gpu_status"] + SAMPLE * 2
        client.send(emit="request_gpu_update", acknowledged=True)
        client.wait("acknowledged")
        client.send(close=True)
        assert client.wait("disconnect")[0] == "io client disconnect"


def test_a_poll_that_comes_behind_the_probe_is_not_kept_waiting(start):
    """A client changes to its WebSocket only when its last poll has ended."""
    d = start("--interval", "60")
    d.wait_sampled()
    sid = json.loads(d.get("/socket.io/?EIO=4&transport=polling").body[1:])["sid"]
    s, head = handshake(d, *GOOD, path=f"/socket.io/?EIO=4&transport=websocket&sid={sid}")
    assert " 101 " in head
    s.sendall(frame(b"2probe"))
    assert read_frame(s) == (0x81, b"3probe")
    assert d.get(f"/socket.io/?EIO=4&transport=polling&sid={sid}").body == b"6"  # not the ping, which would come after 25 s
    s.sendall(frame(b"5") + frame(b"40"))
    assert read_frame(s)[1].startswith(b"40{") and read_frame(s)[1].startswith(b'42["gpu_status"')
    s.close()


def test_other_namespaces_are_refused(daemon, node):
    with node("socketio.mjs", daemon.url + "/admin") as client:
        assert client.wait("connect_error")[0] == "Invalid namespace"


def test_engine_io_by_hand(daemon):
    opened = daemon.get("/socket.io/?EIO=4&transport=polling")
    assert opened.status == 200 and opened.headers["content-type"] == "text/plain; charset=UTF-8"
    facts = json.loads(opened.body[1:])
    assert opened.body[:1] == b"0" and facts["upgrades"] == ["websocket"] and facts["pingInterval"] > 0 and facts["maxPayload"] > 0
    session = f"/socket.io/?EIO=4&transport=polling&sid={facts['sid']}"
    assert daemon.ask("POST", session, body="40").body == b"ok"
    packets = daemon.get(session).body.split(b"\x1e")
    assert packets[0].startswith(b"40{") and packets[1].startswith(b'42["gpu_status",')
    # Behind it the samples; how many come at once depends on how long we were away.
    eventually(lambda: packets.extend(daemon.get(session).body.split(b"\x1e")) or any(p.startswith(b'42["gpu_status_update",') for p in packets))
    assert packets[2].startswith(b'42["gpu_status_update",')
    assert daemon.ask("POST", session, body="1").body == b"ok"
    assert daemon.get(session).status == 400
    for query in ("", "?EIO=3&transport=polling", "?EIO=4", "?EIO=4&transport=carrier-pigeon", "?EIO=4&transport=polling&sid=unknown"):
        assert daemon.get("/socket.io/" + query).status == 400
    assert daemon.get("/socket.io/?EIO=4&transport=websocket").status == 426


def opened(daemon, connection=None):
    connection = connection or daemon.connection()
    connection.request("GET", "/socket.io/?EIO=4&transport=polling")
    reply = connection.getresponse()
    body = reply.read()
    return reply.status, json.loads(body[1:])["sid"] if reply.status == 200 else json.loads(body)["error"]["code"]


def test_one_client_cannot_open_all_sessions(start):
    """Sessions that are opened and left make room for others of the same address; those in use stay, and then it is enough."""
    d = start("--interval", "60")
    d.wait_sampled()
    path = "/socket.io/?EIO=4&transport=polling&sid="
    _, mine = opened(d)
    assert d.ask("POST", path + mine, body="40").body == b"ok"
    greedy = d.connection()
    sids = [opened(d, greedy) for _ in range(600)]  # 256 may be open
    assert {status for status, _ in sids} == {200}
    alive = [sid for _, sid in sids[::50] + sids[-1:] if d.ask("POST", path + sid, body="3").status == 200]
    assert alive and sids[-1][1] in alive and sids[0][1] not in alive
    assert d.get(path + mine).status == 200  # it has joined, and was never in danger
    # All of them join: then there is no room for one more from here, and a clear answer.
    statuses = []
    for _ in range(300):
        status, sid = opened(d, greedy)
        statuses.append(status)
        if status != 200:
            assert sid == "too_many_sessions"
            break
        greedy.request("POST", path + sid, body="40")
        assert greedy.getresponse().read() == b"ok"
    assert statuses[-1] == 429 and len(statuses) < 260
    # One of them goes, and there is room again.
    assert d.ask("POST", path + mine, body="1").status == 200
    eventually(lambda: opened(d)[0] == 200)


@pytest.mark.slow
def test_clients_that_leave_while_they_poll_leave_nothing_behind(start):
    """Hung up in the middle of a poll, closed by a packet while one waits, or polled twice: the session is over, and the address has its places back."""
    d = start("--interval", "60")
    path = "/socket.io/?EIO=4&transport=polling&sid="

    def gone():
        return "whirr_live_clients" in (text := d.get("/metrics?max_age_ms=0").body.decode()) and re.search(r"^whirr_live_clients\S* 0$", text, re.M)

    def poll(sid):
        s = socket.create_connection(("127.0.0.1", d.port), timeout=PATIENCE)
        s.sendall(f"GET {path}{sid} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return s

    def leave(how):
        status, sid = eventually(lambda: (found := opened(d))[0] == 200 and found)  # those that left are forgotten within a second
        assert d.ask("POST", path + sid, body="40").body == b"ok" and d.get(path + sid).status == 200
        with poll(sid) as waiting:
            if how == "packet":
                assert d.ask("POST", path + sid, body="1").status == 200
                assert waiting.recv(65536)
            elif how == "twice":
                with poll(sid) as second:
                    answers = [waiting.recv(65536), second.recv(65536)]  # which of them was heard first is the server's choice
                    assert [b" 400 " in a for a in answers].count(True) == 1 and all(answers), answers

    for i in range(600):
        leave(["hangup", "packet", "twice"][i % 3])
    eventually(gone)
    assert opened(d)[0] == 200


def test_a_poll_never_has_more_packets_than_python_takes(start):
    """python-engineio ends the connection at an answer of more than 16 packets; a sample of 40 GPUs has 41."""
    d = start("--interval", "0.2", source="sim:gpus=40,scenario=training")
    path = "/socket.io/?EIO=4&transport=polling&sid=" + opened(d)[1]
    assert d.ask("POST", path, body="40").body == b"ok"
    seen, most = [], 0
    while len([p for p in seen if p.startswith('42["gpu_stats"')]) < 120:
        packets = d.get(path).body.decode().split("\x1e")
        most = max(most, len(packets))
        assert len(packets) <= 16
        if "2" in packets:
            d.ask("POST", path, body="3")
        seen += packets
    assert most == 16
    # Whole, in order, none twice.
    rows = [json.loads(p[2:])[1] for p in seen if p.startswith('42["gpu_stats"')][:120]
    assert [r["gpu_index"] for r in rows] == list(range(40)) * 3


@pytest.mark.parametrize("transport", ["polling", "websocket"])
def test_a_binary_event_does_not_end_the_connection(daemon, node, transport):
    with node("socketio.mjs", daemon.url, json.dumps({"transports": [transport]})) as client:
        client.wait("gpu_status")
        client.send(binary="upload")
        assert client.wait("error")[0]["code"] == "unknown_type"
        client.wait("gpu_stats", len(client.named("gpu_stats")) + 4)
        assert client.named("disconnect") == []
