# SPDX-License-Identifier: Apache-2.0
"""/api/history, /api/history/processes, /api/history/events: any metric of the past, and downloads that stream."""
import csv
import datetime
import io
import json
import re
import socket
import sqlite3
import subprocess
import time

import pytest
import shapes
from conftest import BUILD, PATIENCE, WHIRR, Starter, environment, eventually, patience

PATH = "/api/history"
NUMBERS = [shapes.Null(shapes.NUMBER)]
SERIES = {"of": str, "host": str, "gpu_index": shapes.Null(int), "gpu_name": shapes.Null(str), "gpu_uuid": shapes.Null(str), "process": shapes.Null(str),
          "pid": shapes.Null(int), "times": [shapes.NUMBER], "limits": shapes.Null([shapes.Null(str)]), "metrics": [{"name": str, "unit": shapes.Null(str), "mean": NUMBERS, "min": NUMBERS, "max": NUMBERS}]}
HISTORY = {"since": shapes.Null(str), "until": str, "step_seconds": shapes.Null(shapes.NUMBER), "level": shapes.Null(str), "series": [SERIES]}
BIG_ROWS = 250_000
SANITIZED = "libasan" in subprocess.run(["ldd", WHIRR], capture_output=True, text=True).stdout
ALLOWED_KIB = (20 if SANITIZED else 8) * 1024  # a slice or two on the way and the cache of the database; far less than what is sent


def begin(starter, folder, **more):
    file = folder / "history.db"
    d = starter("--interval", "0.1", "--store", f"sqlite:{file}", **more)
    d.file = file
    d.wait_stored(24)
    return d


@pytest.fixture
def keeping(start, tmp_path):
    return begin(start, tmp_path)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """For tests that only read."""
    folder = tmp_path_factory.mktemp("kept")
    starter = Starter(folder)
    yield begin(starter, folder)
    starter.stop()


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Weeks of one GPU, for tests that only read."""
    folder = tmp_path_factory.mktemp("big")
    starter = Starter(folder)
    before = begin(starter, folder)
    before.stop()
    with sqlite3.connect(before.file) as db:
        gpu = db.execute("SELECT MIN(id) FROM gpus").fetchone()[0]
        first = db.execute("SELECT MIN(id) >> 14 FROM samples").fetchone()[0] - BIG_ROWS * 5000
        db.executemany("INSERT INTO samples (id, gpu_index, power_mw, temp_mdegc) VALUES (?, 0, ?, ?)",
                       (((first + i * 5000) << 14 | gpu, 100000 + i % 1000, 50000 + i % 7) for i in range(BIG_ROWS)))
        db.execute("UPDATE gpus SET first_seen_ms = ?", (first,))
    d = starter("--interval", "1", "--store", f"sqlite:{before.file}", WHIRR_STORE_RAW_DAYS="3650", ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=1")
    eventually(lambda: d.json("/api/health")["store"]["state"] == "ok")
    yield d
    starter.stop()


def check(body):
    shapes.check(body, HISTORY)
    for one in body["series"]:
        assert one["times"] == sorted(set(one["times"]))
        for metric in one["metrics"]:
            for values in zip(metric["mean"], metric["min"], metric["max"], strict=True):
                assert values == (None, None, None) or values[1] is None or values[1] - 1e-6 <= values[0] <= values[2] + 1e-6
            assert len(metric["mean"]) == len(one["times"])
    return body


def test_steps_are_what_the_rows_say(kept):
    # A step behind which there is another one: it gets no more rows.
    body = eventually(lambda: len((b := check(kept.json(f"{PATH}?metric=power_watts,temp,host.cpu_percent&since=-1m&step=2s")))["series"][0]["times"]) >= 3 and b)
    assert body["step_seconds"] == 2 and body["level"] == "samples"
    assert [(s["of"], s["gpu_index"]) for s in body["series"]] == [("gpu", 0), ("gpu", 1), ("host", None)]
    one = body["series"][0]
    assert [m["name"] for m in one["metrics"]] == ["power_watts", "temperature_celsius"] and [m["unit"] for m in one["metrics"]] == ["W", "°C"]
    at = len(one["times"]) - 2
    with sqlite3.connect(f"file:{kept.file}?mode=ro", uri=True) as db:
        rows = [r[0] for r in db.execute("SELECT power_watts FROM gpu_stats WHERE gpu_index = 0 AND recorded_at_ms >= ? AND recorded_at_ms < ?",
                                         (one["times"][at] * 1000, one["times"][at] * 1000 + 2000))]
    power = one["metrics"][0]
    assert (power["mean"][at], power["min"][at], power["max"][at]) == pytest.approx((sum(rows) / len(rows), min(rows), max(rows)), abs=1e-3)


def test_a_metric_that_the_card_does_not_know_is_null(kept):
    metric = check(kept.json(f"{PATH}?metric=gtt_used_mb&gpu=0&since=-1m&step=1s"))["series"][0]["metrics"][0]
    assert metric["mean"] and set(metric["mean"]) == {None}


def test_any_range_has_few_points(big):
    for query in ("since=all", "since=all&step=1s", "since=-30d", "since=-1h&points=50"):
        body = check(big.json(f"{PATH}?metric=power&gpu=0&{query}"))
        most = 50 if "points" in query else 5000
        assert 0 < len(body["series"][0]["times"]) <= most + 60, query


def test_gaps_are_gaps(keeping):
    """Nobody shall draw a line across the time in which nothing was stored."""
    with sqlite3.connect(keeping.file, timeout=PATIENCE) as db:
        oldest, gpu = db.execute("SELECT MIN(id) >> 14, MIN(id & 16383) FROM samples WHERE gpu_index = 0").fetchone()
        first = oldest // 1000 * 1000 - 3_600_000  # an hour before: ten samples, nothing for ten minutes, another one
        for at in [first + 1000 * i for i in range(10)] + [first + 600_000]:
            db.execute("INSERT INTO samples (id, gpu_index, power_mw) VALUES (?, 0, 5000)", (at << 14 | gpu,))
        db.execute("UPDATE gpus SET first_seen_ms = ?", (first,))
    span = [datetime.datetime.fromtimestamp(at / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (first - 60_000, first + 1_200_000)]
    metric = check(keeping.json(f"{PATH}?metric=power&gpu=0&since={span[0]}&until={span[1]}&step=1s"))["series"][0]["metrics"][0]
    assert metric["mean"] == [5] * 10 + [None, 5]


def test_processes_over_time(kept):
    name = kept.json("/api/processes")["processes"][0]["name"]
    body = check(eventually(lambda: (b := kept.json(f"{PATH}?process={name}&since=-5m&gpu=0"))["series"] and b))
    assert body["level"] == "minutes" and body["step_seconds"] == 60
    assert {m["name"] for m in body["series"][0]["metrics"]} == {"memory_mb", "utilization_percent", "power_watts"}
    assert body["series"][0]["metrics"][0]["mean"][-1] > 0
    assert kept.get(f"{PATH}?process=no-such-thing").status == 404
    lives = eventually(lambda: (b := kept.json(f"{PATH}/processes?since=-5m&process={name}"))["count"] >= 2 and b["processes"][0]["energy_joules"] > 0 and b, explain=kept.log)
    assert lives["sums_of"] == "time"
    pid = lives["processes"][0]["pid"]
    assert {p["pid"] for p in kept.json(f"{PATH}/processes?since=-5m&process={pid}")["processes"]} == {pid}


def test_tokens_and_requests_of_a_model_server_over_time(start, tmp_path):
    file = tmp_path / "past.db"
    subprocess.run([BUILD / "tests" / "fakes" / "history" / "make_history", f"sqlite:{file}", "30", "gpus=1,scenario=serving", "10"], check=True, timeout=120, env=environment(tmp_path))
    d = start("--interval", "1", "--store", f"sqlite:{file}", source="sim:gpus=1,scenario=serving", WHIRR_STORE_HOST="box")
    body = check(eventually(lambda: (b := d.json(f"{PATH}?process=python3&since=-30m&step=10m&metric=tokens_per_second,prompt_tokens_per_second,requests_running"))["series"] and b, explain=d.log))
    means = {m["name"]: [v for v in m["mean"] if v is not None][1] for m in body["series"][0]["metrics"]}
    assert means == {"tokens_per_second": pytest.approx(900, rel=0.05), "prompt_tokens_per_second": pytest.approx(2400, rel=0.05), "requests_running": pytest.approx(12, rel=0.05)}
    assert "tokens_per_second" in d.whirr("history", "tokens", "--process", "python3", "--since", "-30m", "--store", f"sqlite:{file}", "--csv").stdout


def test_minutes_with_the_same_limit_are_one_stretch(keeping):
    keeping.stop()
    hour = int(time.time()) // 3600 - 2
    minutes = {0: "disk", 1: "disk", 2: "compute", 3: None, 4: "compute", 59: "disk", 60: "disk", 61: "from_a_later_version"}
    with sqlite3.connect(keeping.file) as db:
        gpu = db.execute("SELECT id FROM gpus WHERE gpu_index = 0").fetchone()[0]
        lives = []
        for pid in (101, 102):  # side by side, so that minutes of both come mixed
            lives += [db.execute("INSERT INTO processes (gpu_id, pid, start_key, name, first_seen_ms, last_seen_ms, ended, samples, memory_sum_bytes, memory_count,"
                                 " sm_sum_permille, sm_count, energy_mj) VALUES (?, ?, 1, 'p', ?, ?, 1, 1, 1048576, 1, 500, 1, 1)",
                                 (gpu, pid, hour * 3600000, hour * 3600000 + 3700000)).lastrowid]
            for minute, code in minutes.items():
                db.execute("INSERT INTO process_minutes VALUES (?, ?, 1, 1048576, 1048576, 1, 500, 1, 1, ?, NULL, NULL, NULL, NULL, NULL, NULL, NULL)", (hour * 60 + minute, lives[-1], code))
    d = keeping.__class__(keeping.folder, ["--interval", "1", "--listen", "127.0.0.1:0", "--source", "sim:gpus=1,scenario=idle", "--store", f"sqlite:{keeping.file}"], {})
    try:
        until = datetime.datetime.fromtimestamp(hour * 3600 + 3700, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        ask = f"{PATH}/limits?since=-4h&until={until}"
        found = d.json(ask)
        shapes.check(found, {"since": str, "until": str, "stretches": [{"life": int, "host": str, "gpu_index": int, "since": str, "until": str, "code": str, "words": str,
                                                                                   "doing": str, "side": str}], "count": int, "complete": bool})
        begin = lambda text: int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) // 60 - hour * 60
        for life in lives:
            own = [(begin(s["since"]), begin(s["until"]), s["code"]) for s in found["stretches"] if s["life"] == life]
            assert own == [(0, 2, "disk"), (2, 3, "compute"), (4, 5, "compute"), (59, 61, "disk")]
        assert {s["life"] for s in d.json(f"{ask}&life={lives[1]}")["stretches"]} == {lives[1]}
        few = d.json(f"{ask}&limit=3")
        assert few["count"] == 3 and not few["complete"] and found["complete"]
        assert found["stretches"][0]["doing"] == "waits for disk" and found["stretches"][0]["side"] == "host"
        assert d.get(f"{ask}&format=csv").status == 400
    finally:
        d.stop()


def test_pages_of_processes_and_events(keeping):
    keeping.stop()
    now = int(time.time() * 1000)
    with sqlite3.connect(keeping.file) as db:
        gpu, host = db.execute("SELECT id, host_id FROM gpus WHERE gpu_index = 0").fetchone()
        for i in range(25):
            db.execute("INSERT INTO processes (gpu_id, pid, start_key, name, first_seen_ms, last_seen_ms, ended, samples, memory_sum_bytes, memory_count,"
                       " sm_sum_permille, sm_count, energy_mj) VALUES (?, ?, 1, ?, ?, ?, 1, 1, 1048576, 1, 500, 1, ?)", (gpu, 100 + i, f'p"{i},', now - 60000, now, i))
            life = db.execute("SELECT last_insert_rowid()").fetchone()[0]
            db.execute("INSERT INTO process_minutes VALUES (?, ?, 1, 1048576, 1048576, 1, 500, 1, ?, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)", (now // 60000, life, 1000 * i))
            db.execute("INSERT INTO events (at_ms, host_id, gpu_id, kind, severity, code, text, data) VALUES (?, ?, ?, 'xid', 'warning', ?, ?, '{\"n\": 1}')",
                       (now, host, gpu, 30 + i, f"XID {30 + i}"))
    d = keeping.__class__(keeping.folder, ["--interval", "1", "--listen", "127.0.0.1:0", "--source", "sim:gpus=1,scenario=idle", "--store", f"sqlite:{keeping.file}"], {})
    try:
        for path, key, wanted in (("processes", "pid", [100 + i for i in range(25)]), ("events", "code", [30 + i for i in range(25)])):
            seen, cursor = [], ""
            more = "&kind=xid" if path == "events" else ""
            while True:
                page = d.json(f"{PATH}/{path}?since=-10m&limit=7{more}{cursor}")
                assert page["count"] == len(page[path]) <= 7
                seen += [row[key] for row in page[path]]
                if page["next_cursor"] is None:
                    break
                cursor = f"&cursor={page['next_cursor']}"
            assert [s for s in seen if s in wanted] == wanted and len(seen) == len(set(seen))
            rows = list(csv.DictReader(io.StringIO(d.get(f"{PATH}/{path}?since=-10m&format=csv{more}").body.decode())))
            assert [int(r[key]) for r in rows if int(r[key]) in wanted] == wanted
            lines = [json.loads(line) for line in d.get(f"{PATH}/{path}?since=-10m&format=jsonl{more}").body.decode().splitlines()]
            assert [r[key] for r in lines if r[key] in wanted] == wanted
        assert json.loads(rows[0]["data"]) == {"n": 1} and lines[0]["data"] == {"n": 1}
        top = d.json(f"{PATH}/processes?since=-10m&sort=energy&limit=3")
        assert [p["pid"] for p in top["processes"] if p["pid"] < 1000][:3] == [124, 123, 122][:3] or top["processes"][0]["energy_joules"] >= 24
        assert top["next_cursor"] is None
        assert d.json(f"{PATH}/events?since=-10m&gpu=0&kind=xid")["count"] == 25
        assert d.json(f"{PATH}/events?since=-10m&kind=daemon")["count"] >= 1
    finally:
        d.stop()


def test_wrong_questions_are_told_what_is_right(kept):
    def message(query, status=400):
        reply = kept.get(f"{PATH}{query}")
        assert reply.status == status, (query, reply.status, reply.body)
        return reply.json()["error"]["message"]

    assert "'power_watts'" in message("?metric=powr_watts")
    assert "'host.cpu_percent'" in message("?metric=host.cpu_percnt")
    assert "memory_mb" in message("?metric=memory_mib&process=x")
    for query in ("since=yesteryear", "until=x", "step=0", "step=raw", "format=xml", "points=1", "points=5001", "metric=all", "pid=x", "life=0"):
        assert query.split("=")[0] in message(f"?{query}"), query
    assert "before" in message("?since=-1h&until=-2h")
    for query in ("limit=0", "limit=10001", "cursor=!", "sort=size"):
        assert query.split("=")[0] in message(f"/processes?{query}"), query
    assert "'9'" in message("?gpu=9", 404)
    assert "'nowhere'" in message("?host=nowhere", 404)
    assert message("?metric=power,host.cpu_percent&format=csv")


def test_without_a_store_there_is_nothing(daemon):
    assert daemon.json(PATH)["series"] == [] and daemon.json(f"{PATH}/processes")["processes"] == [] and daemon.json(f"{PATH}/events")["events"] == []
    assert daemon.get(f"{PATH}?format=csv").body == b""
    assert daemon.get(f"{PATH}?metric=x").status == 400


def resident(d):
    with open(f"/proc/{d.process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


@pytest.mark.slow
def test_a_long_download_streams_in_little_memory(big):
    big.get(f"{PATH}?since=-1h&step=raw&format=csv")
    before, most, length, tail = resident(big), 0, 0, b""
    connection = big.connection()
    connection.request("GET", f"{PATH}?since=all&step=raw&format=csv&metric=all&gpu=0")
    reply = connection.getresponse()
    assert reply.status == 200 and reply.getheader("transfer-encoding") == "chunked" and reply.getheader("content-type").startswith("text/csv")
    count = -1
    while piece := reply.read(1 << 18):
        length += len(piece)
        count += piece.count(b"\n")
        tail = piece
        most = max(most, resident(big))
    connection.close()
    assert count >= BIG_ROWS and length > 3 * (ALLOWED_KIB << 10) / 2 and tail.endswith(b"\n")
    assert most - before < ALLOWED_KIB, (before, most, length)


def test_a_client_that_stops_reading_delays_no_other_client(big):
    stalled = []
    for _ in range(4):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        s.connect(("127.0.0.1", big.port))
        s.sendall(f"GET {PATH}?since=all&step=raw&format=jsonl HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert s.recv(100).startswith(b"HTTP/1.1 200")
        stalled.append(s)
    before = resident(big)
    for _ in range(20):
        assert big.json(f"{PATH}?metric=power&since=-1m")["series"]  # the others are waited for much longer than this test waits
    assert resident(big) - before < ALLOWED_KIB
    # One goes on, and gets the rest.
    s = stalled[0]
    s.settimeout(PATIENCE)
    text = b""
    while not text.endswith(b"0\r\n\r\n"):
        piece = s.recv(1 << 20)
        assert piece
        text = (text + piece)[-100:] if len(text) > 1 << 22 else text + piece
    for s in stalled:
        s.close()
    # The others went away: their place is free again.
    for _ in range(3):
        assert big.get(f"{PATH}?since=-1m&step=raw&format=csv").status == 200


def test_a_download_breaks_off_with_its_token(big):
    token = big.whirr("token", "new", "loader", "--role", "admin").stdout.strip()
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        s.connect(("127.0.0.1", big.port))
        s.settimeout(PATIENCE)
        s.sendall(f"GET {PATH}?since=all&step=raw&format=jsonl HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert s.recv(100).startswith(b"HTTP/1.1 200")
        assert big.whirr("token", "remove", "loader").returncode == 0
        eventually(lambda: big.json("/api/health")["server"]["connections"] == 1, explain=big.log)  # the one that asks
        last = b""
        while piece := s.recv(1 << 20):
            last = (last + piece)[-10:]
        assert not last.endswith(b"0\r\n\r\n")


@pytest.mark.slow
def test_too_many_downloads_are_refused(big):
    clients = []

    def begun(i):
        """A download that goes on, or what it was refused with. Who is told that there was no time for the question asks again."""
        s = socket.create_connection(("127.0.0.1", big.port), timeout=patience(PATIENCE), source_address=(f"127.0.0.{2 + i // 8}", 0))
        s.sendall(f"GET {PATH}?since=all&step=raw&format=jsonl HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = s.recv(2000)
        if b" 200 " in answer[:20]:
            clients.append(s)
            return "begun"
        s.close()
        return answer.decode() if b"downloads" in answer else None
    for i in range(8):
        assert eventually(lambda: begun(i), explain=big.log) == "begun"
    assert " 429 " in eventually(lambda: begun(7))  # one address may have eight
    # 32 in all; more are let in only where one of them has ended meanwhile, on a machine that is slow.
    for i in range(8, 96):
        said = eventually(lambda: begun(i), explain=big.log)
        if said != "begun":
            break
    assert len(clients) >= 32 and " 503 " in said and "Too many downloads are running already" in said, (len(clients), said)
    for s in clients:
        s.close()
    eventually(lambda: big.get(f"{PATH}?since=-1m&step=raw&format=csv").status == 200)


def test_http_1_0_clients_get_the_plain_body(kept):
    answer = kept.raw(f"GET {PATH}?since=-1m&step=raw&format=csv HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"chunked" not in head and body.startswith(b"time,host,gpu_index,gpu_uuid,") and body.endswith(b"\n")


def test_steps_can_be_downloaded(kept):
    rows = list(csv.DictReader(io.StringIO(kept.get(f"{PATH}?since=-1m&step=1s&format=csv&metric=power").body.decode())))
    assert {r["gpu_index"] for r in rows} == {"0", "1"}
    assert all(float(r["power_watts_min"]) <= float(r["power_watts"]) <= float(r["power_watts_max"]) for r in rows)
    for r in rows:
        datetime.datetime.fromisoformat(r["time"].replace("Z", "+00:00"))
    host = [json.loads(line) for line in kept.get(f"{PATH}?since=-1m&step=raw&format=jsonl&metric=host.all").body.decode().splitlines()]
    assert len(host) > 5 and host[-1]["memory_total_mb"] > 0


def test_nothing_is_left_behind(start, tmp_path):
    """Whoever asks, stops reading or goes away in the middle: under the sanitizers, no memory is lost."""
    d = begin(start, tmp_path, ASAN_OPTIONS="detect_leaks=1")
    name = d.json("/api/processes")["processes"][0]["name"]
    for query in ("", "?metric=power&step=1s", "?metric=x", "?gpu=9", f"?process={name}", "?format=csv&step=raw&metric=all", "?format=jsonl", f"?format=csv&process={name}",
                  "/processes", "/processes?format=csv", "/processes?sort=energy", "/events", "/events?format=jsonl", "/events?gpu=9&format=csv"):
        for method in ("GET", "HEAD"):
            assert d.ask(method, f"{PATH}{query}").status in (200, 400, 404)
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(f"GET {PATH}{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    with socket.create_connection(("127.0.0.1", d.port)) as s:
        s.sendall(f"GET {PATH}?format=csv&step=raw HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert d.stop()[0] == 0
