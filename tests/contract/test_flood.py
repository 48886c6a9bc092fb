# SPDX-License-Identifier: Apache-2.0
"""Whatever clients repeat, at once or patiently, from one address or from many: an ordinary client is answered promptly."""
import contextlib
import http.client
import os
import pathlib
import select
import socket
import sqlite3
import statistics
import time

import pytest
from waiting import PATIENCE, eventually, patience

PROMPT = 5 if os.environ.get("WHIRR_SANITIZED") else 1  # seconds, where nothing else runs
GPUS, SAMPLES = 8, 20000
STATS = "/api/system/gpu-stats/history"
# Every sample of every GPU, and a whole day of explanations.
EXPENSIVE = [f"{STATS}?step=20s&limit=10000", "/api/why?since=-30h", "/api/report?since=-30h", "/api/history?metric=power_watts&since=-30h&points=10000",
             "/api/history?metric=power_watts&since=-30h&format=csv&step=1s"]
ORDINARY = ["/api/gpu/devices", "/api/history?metric=power_watts&since=-10m", f"{STATS}?limit=10"]


@pytest.fixture
def busy(start, tmp_path):
    """A daemon with a day of samples."""
    file = tmp_path / "history.db"
    first = start("--interval", "0.5", "--store", f"sqlite:{file}", source=f"sim:gpus={GPUS},scenario=training")
    first.wait_stored(GPUS)
    first.stop()
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        names = [row[1] for row in db.execute("PRAGMA table_info(samples)") if row[1] != "id"]
        newest = db.execute("SELECT MAX(id >> 14) FROM samples").fetchone()[0]
        db.execute(f"""WITH RECURSIVE back(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM back WHERE n < {SAMPLES})
            INSERT OR IGNORE INTO samples (id, {', '.join(names)}) SELECT id - ((n * 5000) << 14), {', '.join(names)} FROM samples, back WHERE id >> 14 = {newest}""")
        for table in ("gpus", "hosts"):
            db.execute(f"UPDATE {table} SET first_seen_ms = {newest - SAMPLES * 5000}")
    return start("--interval", "5", "--store", f"sqlite:{file}", source=f"sim:gpus={GPUS},scenario=training")


def cpu_seconds(daemon):
    fields = pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_quiet(daemon, seen):
    """Whether it has done next to nothing for half a second."""
    seen.append((time.monotonic(), cpu_seconds(daemon)))
    return any(seen[-1][0] - at > 0.5 and seen[-1][1] - used < 0.1 for at, used in seen)


def asking(daemon, path, source="127.0.0.1", *fields):
    s = socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE, source_address=(source, 0))
    s.sendall("\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *fields, "", ""]).encode())
    return s


def assert_prompt(daemon, source):
    """Several ordinary questions, one after the other: of most, the answer is there within a second."""
    took = []
    for path in ORDINARY * 3:
        begin = time.monotonic()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE, source_address=(source, 0))) as c:
            c.request("GET", path)
            assert c.getresponse().status == 200, path
        took.append(time.monotonic() - begin)
    assert statistics.median(took) < patience(PROMPT) and statistics.quantiles(took, n=10)[-1] < patience(2 * PROMPT), took


@pytest.mark.slow
def test_a_page_of_one_row_reads_little(busy):
    """What is asked for costs, not what is stored: the step is made of minutes, and one row is read for one row."""
    whole = cpu_seconds(busy)
    assert busy.json(f"{STATS}?step=20s&limit=10000")["count"] == 10000
    whole = cpu_seconds(busy) - whole
    little = cpu_seconds(busy)
    for _ in range(5):
        for step in ("59s", "61s", "29s", "1s"):
            assert busy.json(f"{STATS}?step={step}&limit=1")["count"] == 1
    assert (cpu_seconds(busy) - little) / 20 < whole / 20


@pytest.mark.slow
@pytest.mark.parametrize("sources", [["127.0.0.9"], [f"127.0.0.{10 + i}" for i in range(50)]], ids=["one address", "many addresses"])
def test_questions_that_are_hung_up_cost_nothing(busy, sources):
    for i in range(500):
        asking(busy, EXPENSIVE[i % len(EXPENSIVE)], sources[i % len(sources)]).close()
        if i % 100 == 50:
            assert_prompt(busy, "127.0.0.3")
    assert_prompt(busy, "127.0.0.3")
    # Nothing of it is left to do.
    eventually(lambda seen=[]: is_quiet(busy, seen), 10)


@pytest.mark.slow
@pytest.mark.parametrize("sources", [["127.0.0.9"], [f"127.0.0.{10 + i}" for i in range(50)]], ids=["one address", "many addresses"])
def test_patient_questions_do_not_keep_others_waiting_nor_the_end(busy, sources):
    waiting = [asking(busy, EXPENSIVE[i % len(EXPENSIVE)], sources[i % len(sources)]) for i in range(500)]
    try:
        assert_prompt(busy, "127.0.0.3")
        # Each is answered, or told why not.
        assert busy.json("/api/health")["status"] == "ok"
        refused = [s for s in waiting if select.select([s], [], [], 0)[0] and s.recv(12)[9:12] in (b"429", b"503")]
        assert len(sources) > 1 or len(refused) >= 100
        assert_prompt(busy, "127.0.0.3")
        code, took = busy.stop()
        assert code == 0 and took < patience(2 * PROMPT + 1), took
    finally:
        for s in waiting:
            s.close()


def test_pages_of_other_sites_cannot_ask(start):
    """A browser says who made it ask; what another site's page loads is refused, what a person follows is not."""
    d = start("--interval", "5")
    load = {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    link = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-User": "?1"}
    for path in ("/api/gpu/devices", f"{STATS}?limit=1", "/api/why?since=-1h", "/api/report", "/api/history", "/api/alerts", "/metrics"):
        for site in ("cross-site", "same-site"):
            refused = d.get(path, **load, **{"Sec-Fetch-Site": site})
            assert refused.status == 403 and refused.json()["error"]["code"] == "foreign_origin"
            assert d.get(path, **{**link, "Sec-Fetch-Dest": "iframe"}, **{"Sec-Fetch-Site": site}).status == 403
            assert d.get(path, **link, **{"Sec-Fetch-Site": site}).status == 200
        for site in ("same-origin", "none"):
            assert d.get(path, **load, **{"Sec-Fetch-Site": site}).status == 200
    assert d.get("/", **link, **{"Sec-Fetch-Site": "cross-site"}).status == 200
    assert d.get("/badge.svg", **load, **{"Sec-Fetch-Site": "cross-site"}).status == 200
    other = start("--interval", "5", WHIRR_SERVER_CORS_ORIGINS="https://grafana.example")
    fetch = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    assert other.get("/api/gpu/devices", Origin="https://grafana.example", **fetch).status == 200
    assert other.get("/api/gpu/devices", Origin="https://evil.example", **fetch).status == 403
