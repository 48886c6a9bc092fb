# SPDX-License-Identifier: Apache-2.0
"""The history in a real PostgreSQL: what was stored is there once and whole, whatever happens to the server or to whirr.

tools/with-postgres starts a server for these tests; without one they are skipped. WHIRR_DAEMON_KILLS says how often the daemon is
killed; test_kills.py kills the part that writes 200 times.
"""
import contextlib
import datetime
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

import pytest
from conftest import BUILD, PATIENCE, WHIRR, environment, eventually
from waiting import any_moment
from world import World, needs_world

URL, CONTROL = os.environ.get("WHIRR_TEST_POSTGRES"), os.environ.get("WHIRR_TEST_PGCTL")
SMALL = os.environ.get("WHIRR_TEST_PGSMALL")
KILLS = int(os.environ.get("WHIRR_DAEMON_KILLS", "8"))
INTERVAL = 0.05
PATH = "/api/system/gpu-stats/history"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not URL, reason="no PostgreSQL server (tools/with-postgres starts one)")]

by_socket = pytest.mark.skipif(bool(URL) and "host=" not in URL, reason="the server is reached by TCP, and this test stands between by a Unix socket")

# Every minute and hour, by a second way of counting. What is pending is not summed up yet.
RECOMPUTED = """
WITH raw AS (SELECT gpu_id AS gpu, CAST(EXTRACT(EPOCH FROM recorded_at) * 1000 AS BIGINT) / {ms} AS bucket, SUM(power_mw) AS s, MIN(power_mw) AS lo, MAX(power_mw) AS hi,
             COUNT(*) AS n FROM samples GROUP BY 1, 2),
     kept AS (SELECT id >> 32 AS gpu, id & 4294967295 AS bucket, power_mw_sum AS s, COALESCE(power_mw_min, power_mw_sum / samples) AS lo,
              COALESCE(power_mw_max, power_mw_sum / samples) AS hi, samples AS n FROM {table})
SELECT COUNT(*) FROM raw LEFT JOIN kept USING (gpu, bucket)
WHERE (kept.s IS DISTINCT FROM raw.s OR kept.lo IS DISTINCT FROM raw.lo OR kept.hi IS DISTINCT FROM raw.hi OR kept.n IS DISTINCT FROM raw.n)
  AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.series = 0 AND p.subject = raw.gpu AND p.bucket * (CASE p.level WHEN 1 THEN 60000 ELSE 3600000 END) / {ms} = raw.bucket)
"""


def psql(url, query):
    return subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", url, "-c", query], capture_output=True, text=True, timeout=PATIENCE)


def sql(query):
    done = psql(URL, query)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def sql_while_it_writes(query):
    """Rights are kept with the tables, and whirr may be making its views again at this very moment: then the server asks for another try."""
    for _ in range(20):
        try:
            return sql(query)
        except AssertionError as problem:
            if "concurrently updated" not in str(problem):
                raise
    return sql(query)


def number(query):
    return int(sql(query) or 0)


def control(*what, **more):
    subprocess.run([CONTROL, *what], check=True, env=dict(os.environ, **more), timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(autouse=True)
def empty_server():
    subprocess.run([CONTROL, "start"], timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")
    yield
    subprocess.run([CONTROL, "start"], timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def keeping(start):
    def one(url=URL, **more):
        return start("--interval", str(INTERVAL), "--store", url, source="sim:gpus=2,scenario=bursty", **more)
    return one


def store(daemon):
    return daemon.json("/api/health")["store"]


def assert_whole():
    """Each sample has all of its GPUs, processes were counted as often as they were seen, summaries are exact."""
    assert number("SELECT COUNT(*) FROM (SELECT recorded_at FROM samples GROUP BY 1 HAVING COUNT(*) <> 2) AS t") == 0
    assert number(RECOMPUTED.format(ms=60000, table="minutes")) == 0
    assert number(RECOMPUTED.format(ms=3600000, table="hours")) == 0
    assert number("SELECT COUNT(*) FROM processes p WHERE samples <> (SELECT SUM(m.samples) FROM process_minutes m WHERE m.process_id = p.id)") == 0
    assert number("SELECT COUNT(*) FROM processes p WHERE samples > (SELECT COUNT(*) FROM samples s WHERE s.gpu_id = p.gpu_id "
                  "AND s.recorded_at BETWEEN to_timestamp(p.first_seen_ms / 1000.0) AND to_timestamp(p.last_seen_ms / 1000.0))") == 0


def moments():
    return number("SELECT COUNT(DISTINCT recorded_at) FROM samples")


def stop_and_expect_all(d, keeping):
    """Every sample that the daemon took is stored, also those of the time in which the server did not take them. What a slow server does not
    take in time at the end waits for the next start."""
    taken = d.json("/api/health")["gpu_monitoring"]["samples_total"]
    d.stop()
    if on_disk(d.folder / "whirr" / "queue.db"):
        again = keeping(d.args[d.args.index("--store") + 1], XDG_STATE_HOME=str(d.folder))
        eventually(lambda: moments() >= taken, explain=again.log)
        again.stop()
    assert_whole()
    assert moments() >= taken, d.log()


def test_rows_and_history(keeping):
    d = keeping()
    d.wait_stored(20)
    assert store(d)["kind"] == "postgresql" and store(d)["state"] == "ok"
    assert number("SELECT COUNT(*) FROM gpu_stats WHERE gpu_utilization_percent IS NOT NULL AND recorded_at > now() - interval '1 hour'") >= 20
    d.stop()
    assert_whole()


def test_views_for_analysts_have_times_and_names_and_find_them(keeping):
    d = keeping()
    eventually(lambda: store(d)["written_total"] >= 40, explain=d.log)
    d.stop()
    recent = "> now() - interval '1 hour'"
    assert number(f"SELECT COUNT(*) FROM process_stats WHERE last_seen_at {recent} AND host <> '' AND gpu_name <> '' AND energy_joules >= 0") >= 1
    assert number(f"SELECT COUNT(*) FROM process_stats_minute WHERE starts_at {recent} AND gpu_uuid <> '' AND name <> ''") >= 1
    assert number(f"SELECT COUNT(*) FROM energy_stats_minute WHERE starts_at {recent} AND energy_joules > 0") >= 1
    assert number(f"SELECT COUNT(*) FROM event_log WHERE occurred_at {recent} AND host <> ''") >= 1
    data = {"alert": "busy", "state": "resolved", "value": 12.5, "summary": "it's busy", "started_at": "2026-11-15T01:02:03.456Z", "ended_at": "2026-11-15T01:03:00.000Z"}
    sql("INSERT INTO events (at_ms, host_id, kind, severity, text, data) SELECT 1, id, 'alert', 'warning', '', $$" + json.dumps(data) + "$$ FROM hosts")
    assert number("SELECT COUNT(*) FROM alert_log WHERE alert = 'busy' AND value > 12 AND host <> '' AND ended_at - started_at BETWEEN interval '56 s' AND interval '57 s'") == 1
    assert number("SELECT COUNT(*) FROM gpu_stats WHERE throttle_reasons = 4 AND throttle_words <> 'power cap'") == 0
    for view, column, table, index in (("gpu_stats_minute", "starts_at", "minutes", "minutes_by_time"), ("host_stats_hour", "starts_at", "host_hours", "host_hours_by_time"),
                                       ("process_stats_minute", "starts_at", "process_minutes", "process_minutes_by_time"),
                                       ("energy_stats_hour", "starts_at", "energy_hours", "energy_hours_by_time"), ("event_log", "occurred_at", "events", "events_by_occurred_at"),
                                       ("process_stats", "last_seen_at", "processes", "processes_by_last_seen_at")):
        # In tables as small as these, any other index would do as well. A table in parts has the index in each.
        parts = sql(f"SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = '{index}'::regclass").split() or [index]
        plan = sql(f"""BEGIN; SET LOCAL enable_seqscan = off;
            DO $$DECLARE i record; BEGIN
            FOR i IN SELECT x.indexrelid::regclass AS name, x.indrelid::regclass AS of, c.conname FROM pg_index x LEFT JOIN pg_constraint c ON c.conindid = x.indexrelid
                WHERE (x.indrelid = '{table}'::regclass OR x.indrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = '{table}'::regclass))
                AND x.indexrelid <> '{index}'::regclass AND x.indexrelid NOT IN (SELECT inhrelid FROM pg_inherits) LOOP
                IF i.conname IS NULL THEN EXECUTE 'DROP INDEX ' || i.name; ELSE EXECUTE 'ALTER TABLE ' || i.of || ' DROP CONSTRAINT ' || i.conname; END IF;
            END LOOP; END$$;
            EXPLAIN SELECT COUNT(*) FROM {view} WHERE {column} {recent}; ROLLBACK""")
        assert any(f"Scan on {part}" in plan or f"using {part}" in plan for part in parts), plan
    # Only the days that are asked for are looked at, by the key of each.
    plan = sql("SET enable_seqscan = off; EXPLAIN SELECT AVG(power_watts) FROM gpu_stats WHERE recorded_at >= now() + interval '2 days'")
    assert "Index" in plan and re.search("Subplans Removed: [23]", plan), plan
    # The same for minutes, in weeks, and hours, in quarters: this one and the next are there.
    for view in ("gpu_stats_minute", "host_stats_minute", "gpu_stats_hour", "host_stats_hour"):
        plan = sql(f"EXPLAIN SELECT COUNT(*) FROM {view} WHERE starts_at < now() - interval '92 days'")
        assert "Subplans Removed: 2" in plan, plan
    assert "Subplans Removed" not in sql("EXPLAIN SELECT COUNT(*) FROM gpu_stats_minute")
    assert "process_minutes_" not in sql("EXPLAIN SELECT COUNT(*) FROM process_stats_minute WHERE minute < 0")


def on_disk(queue):
    """Entries that wait in the file."""
    if not queue.exists():
        return 0
    with contextlib.closing(sqlite3.connect(queue, timeout=30)) as db, contextlib.suppress(sqlite3.OperationalError):  # no table yet
        return db.execute("SELECT COUNT(*) FROM queue").fetchone()[0]
    return 0


def lengthen(queue, wanted):
    """As if the server had been away for longer: what waits, again and again under new numbers."""
    with contextlib.closing(sqlite3.connect(queue)) as db:
        count, last = db.execute("SELECT COUNT(*), MAX(number) FROM queue").fetchone()
        for n in range(1, wanted // count + 1):
            db.execute("INSERT INTO queue (run, number, kind, schema, body) SELECT run, number + ?, kind, schema, body FROM queue "
                       "WHERE number <= ? ORDER BY place", (n * last, last))
        db.commit()
        return db.execute("SELECT COUNT(*) FROM queue").fetchone()[0]


def test_a_long_queue_shrinks_visibly_and_nothing_that_comes_meanwhile_is_lost(keeping):
    def shrinks():
        """Whoever looks again and again sees it; on a busy machine we may not have looked often enough, and try again."""
        control("stop", "fast")
        d = keeping()
        eventually(lambda: store(d)["state"] == "away" and store(d)["queued_rows"] >= 40, explain=d.log)
        d.stop()
        waiting = lengthen(d.folder / "whirr" / "queue.db", 4000)
        control("start")
        again = keeping(XDG_STATE_HOME=str(d.folder))
        seen = set()

        def drained():
            now = store(again)
            seen.add(now["queued_rows"] // 250)
            return now["queued_rows"] < waiting // 10 and now["written_total"] >= waiting  # what is new always waits for a moment

        eventually(drained, explain=lambda: f"{store(again)} of {waiting} {again.log()}")
        assert store(again)["lost_total"] == 0
        if len(seen) <= 3:
            again.stop()
        return len(seen) > 3 and again

    again = eventually(shrinks, explain="the queue was never seen to shrink")
    began = store(again)["written_total"]
    eventually(lambda: store(again)["written_total"] > began + 20, explain=again.log)
    assert store(again)["lost_total"] == 0


@contextlib.contextmanager
def hanging():
    """Every backend that serves whirr is stopped: the connections stay, and nothing answers."""
    backends = [int(pid) for pid in sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'whirr'").split()]
    assert backends
    for pid in backends:
        with contextlib.suppress(ProcessLookupError):  # it ended just now
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in backends:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_server_that_hangs_loses_nothing(keeping):
    d = keeping()
    eventually(lambda: store(d)["written_total"] >= 10, explain=d.log)
    with hanging():
        d.wait_log("has not answered for [5-9]s")
        eventually(lambda: store(d)["state"] == "away" and d.json("/api/health")["status"] == "degraded", explain=d.log)
        # The time that is said goes on.
        first = store(d)["message"]
        eventually(lambda: "has not answered for" in store(d)["message"] != first, explain=d.log)
        # More than fits into memory.
        eventually(lambda: store(d)["queued_rows"] >= 330, explain=d.log)
        assert store(d)["lost_total"] == 0
        refused = d.get("/api/history/events")
        assert refused.status == 503 and refused.json()["error"]["code"] == "store_failing"
    eventually(lambda: store(d)["state"] == "ok" and store(d)["queued_rows"] < 5, explain=d.log)
    assert store(d)["lost_total"] == 0
    stop_and_expect_all(d, keeping)


@pytest.mark.slow
def test_a_disk_that_keeps_the_queue_waiting_loses_nothing(keeping):
    """The server is away, and so is the disk of the queue, for longer than memory holds: as long as SQLite waits for a lock, twice."""
    d = keeping()
    eventually(lambda: store(d)["written_total"] >= 10, explain=d.log)
    control("stop", "fast")
    queue = d.folder / "whirr" / "queue.db"
    eventually(lambda: on_disk(queue) >= 5, explain=d.log)
    with contextlib.closing(sqlite3.connect(queue, timeout=30, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        taken = d.json("/api/health")["gpu_monitoring"]["samples_total"]
        eventually(lambda: d.json("/api/health")["gpu_monitoring"]["samples_total"] >= taken + 170, explain=d.log)
        db.execute("ROLLBACK")
    before = on_disk(queue)
    eventually(lambda: on_disk(queue) >= before + 170, explain=d.log)
    assert store(d)["lost_total"] == 0
    control("start")
    eventually(lambda: store(d)["state"] == "ok" and store(d)["queued_rows"] < 5, explain=d.log)
    assert store(d)["lost_total"] == 0
    stop_and_expect_all(d, keeping)


@needs_world
def test_a_backend_that_comes_back_after_its_connection_was_given_up_writes_nothing_twice(start, keeping, tmp_path):
    world = World(tmp_path / "world", speed=10)
    d = start("--interval", str(10 * INTERVAL), "--store", URL, source="sim:gpus=2,scenario=bursty", **world.environment)
    eventually(lambda: store(d)["written_total"] >= 10, explain=d.log)
    with hanging():
        d.wait_log("has not answered for 65 s|writing again")
        assert store(d)["lost_total"] == 0
    eventually(lambda: store(d)["state"] == "ok" and store(d)["queued_rows"] < 5, explain=d.log)
    stop_and_expect_all(d, keeping)


def test_sigterm_while_the_server_hangs_keeps_what_waits(keeping):
    d = keeping()
    eventually(lambda: store(d)["written_total"] >= 10, explain=d.log)
    with hanging():
        eventually(lambda: store(d)["queued_rows"] >= 20, explain=d.log)
        taken = d.json("/api/health")["gpu_monitoring"]["samples_total"]
        assert d.stop()[0] == 0
    again = keeping(XDG_STATE_HOME=str(d.folder))
    eventually(lambda: store(again)["state"] == "ok" and store(again)["queued_rows"] < 5, explain=again.log)
    again.stop()
    assert moments() >= taken
    assert_whole()


@pytest.mark.parametrize("how", ["fast", "immediate", "kill"])
def test_a_server_that_goes_and_comes_back_gets_everything_in_order(keeping, how):
    d = keeping()
    eventually(lambda: store(d)["written_total"] >= 20, explain=d.log)
    if how == "kill":
        control("kill")
    else:
        control("stop", how)
    eventually(lambda: store(d)["state"] == "away" and store(d)["queued_rows"] >= 30, explain=d.log)
    assert d.json("/api/gpu/devices")["count"] == 2
    control("start")
    eventually(lambda: store(d)["state"] == "ok" and store(d)["queued_rows"] < 5, explain=d.log)
    assert store(d)["lost_total"] == 0
    stop_and_expect_all(d, keeping)


def test_what_waits_on_disk_survives_whirr(keeping):
    d = keeping()
    eventually(lambda: store(d)["written_total"] >= 10, explain=d.log)
    control("stop", "immediate")
    eventually(lambda: store(d)["state"] == "away" and on_disk(d.folder / "whirr" / "queue.db") >= 20, explain=d.log)
    d.stop(signal.SIGKILL)
    waiting = on_disk(d.folder / "whirr" / "queue.db")  # what came last may have been in memory still
    again = keeping(XDG_STATE_HOME=d.env["XDG_STATE_HOME"])
    eventually(lambda: store(again)["state"] == "away", explain=again.log)
    control("start")
    eventually(lambda: store(again)["state"] == "ok" and store(again)["queued_rows"] < 5, explain=again.log)
    again.stop()
    assert_whole()
    assert number("SELECT COUNT(DISTINCT recorded_at) FROM samples") >= waiting


def test_kill_9_at_random_moments(keeping):
    chance = random.Random(5)
    d = keeping()
    state = d.env["XDG_STATE_HOME"]
    last = 0
    for turn in range(KILLS):
        eventually(lambda: store(d)["written_total"] >= 3, explain=d.log)
        any_moment(chance, 0.3)
        if turn % 4 == 3:  # the server at the same time
            control("kill")
        told = d.json("/api/health")["store"]["written_total"]
        d.stop(signal.SIGKILL)
        if turn % 4 == 3:
            control("start")
        rows = number("SELECT COUNT(DISTINCT recorded_at) FROM samples")
        assert rows - last >= told, "what was told to be written is not there"
        last = rows
        d = keeping(XDG_STATE_HOME=state)
    d.stop()
    assert_whole()


@pytest.mark.parametrize("table", ["host_samples", "host_minutes"])
def test_a_full_server_is_waited_for(keeping, table):
    """Also when the statement after it, still to be prepared, is the one that hears of it."""
    d = keeping()
    eventually(lambda: store(d)["written_total"] >= 5, explain=d.log)
    sql("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END$$;"
        f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION full_disk()")
    eventually(lambda: store(d)["state"] == "full" and store(d)["queued_rows"] >= 10, explain=d.log)
    sql(f"DROP TRIGGER full_disk ON {table}")
    eventually(lambda: store(d)["state"] == "ok" and store(d)["queued_rows"] < 5, explain=d.log)
    assert store(d)["lost_total"] == 0
    assert "no space, " not in d.log(), "said as a failure"
    stop_and_expect_all(d, keeping)


def test_a_server_that_denies_is_named(keeping):
    sql("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    d = keeping(URL.replace("whirr@", "stranger@"))
    eventually(lambda: store(d)["state"] == "failing" and "permission denied" in (store(d)["message"] or ""), explain=d.log)
    assert d.json("/api/gpu/devices")["count"] == 2
    sql("GRANT ALL ON SCHEMA public TO PUBLIC")
    eventually(lambda: store(d)["state"] == "ok", explain=d.log)
    d.stop()


def writing_again(d):
    """Nothing waits any more, and new samples come through."""
    before = store(d)["written_total"]
    eventually(lambda: store(d)["state"] == "ok" and store(d)["queued_rows"] < 5 and store(d)["written_total"] > before, explain=d.log)
    return store(d)


@pytest.mark.skipif(not SMALL, reason="no small file system could be mounted for the server")
def test_a_server_whose_disk_is_full_is_waited_for(keeping):
    """A real one: the tables lie on 16 MB, and a file takes what is left."""
    sql(f"CREATE TABLESPACE small LOCATION '{SMALL}/space'")
    sql("ALTER ROLE whirr SET default_tablespace = small")
    ballast = pathlib.Path(SMALL) / "ballast"
    try:
        d = keeping()
        eventually(lambda: store(d)["written_total"] >= 5, explain=d.log)
        with open(ballast, "wb") as file:
            with pytest.raises(OSError):
                while True:
                    file.write(bytes(65536))
                    file.flush()
        eventually(lambda: store(d)["state"] == "full" and store(d)["queued_rows"] >= 10, explain=lambda: f"{store(d)}\n{d.log()}")
        assert "No space left" in store(d)["message"]
        assert d.json("/api/gpu/devices")["count"] == 2
        ballast.unlink()
        assert writing_again(d)["lost_total"] == 0
        stop_and_expect_all(d, keeping)
    finally:
        ballast.unlink(missing_ok=True)
        sql("ALTER ROLE whirr RESET default_tablespace")
        sql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")
        sql("DROP TABLESPACE small")


def test_a_wrong_password_is_named_but_not_told(keeping):
    sql("DROP ROLE IF EXISTS locked; CREATE ROLE locked LOGIN PASSWORD 'the right one'")
    d = keeping(URL.replace("whirr@", "locked:opensesame@"))
    eventually(lambda: "password authentication failed" in (store(d)["message"] or "") and store(d)["queued_rows"] >= 5, explain=d.log)
    assert store(d)["state"] in ("failing", "away") and d.json("/api/gpu/devices")["count"] == 2
    assert "opensesame" not in "\n".join(d.lines) and "opensesame" not in str(store(d))
    sql("ALTER ROLE locked PASSWORD 'opensesame'")
    assert writing_again(d)["lost_total"] == 0
    d.stop()
    assert_whole()


@pytest.mark.parametrize("deny, allow", [
    ("REVOKE INSERT ON ALL TABLES IN SCHEMA public FROM writer", "GRANT INSERT ON ALL TABLES IN SCHEMA public TO writer"),
    ("ALTER ROLE writer NOLOGIN; SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'writer'", "ALTER ROLE writer LOGIN"),
], ids=["insert", "login"])
def test_rights_taken_away_in_flight(keeping, deny, allow):
    sql("DROP ROLE IF EXISTS writer; CREATE ROLE writer LOGIN")
    d = keeping(URL.replace("whirr@", "writer@"))
    eventually(lambda: store(d)["written_total"] >= 20, explain=d.log)
    sql_while_it_writes(deny)
    eventually(lambda: store(d)["state"] in ("failing", "away") and store(d)["queued_rows"] >= 20, explain=d.log)
    # What it says first may be that the connection is gone; when it has tried again, it knows why.
    eventually(lambda: any(words in (store(d)["message"] or "") for words in ("permission denied", "not permitted to log in")), explain=d.log)
    assert d.json("/api/gpu/devices")["count"] == 2
    sql_while_it_writes(allow)
    assert writing_again(d)["lost_total"] == 0
    stop_and_expect_all(d, keeping)


class Forgetful:
    """Stands between whirr and the server, and now and then ends the connection when a commit is done but not yet answered."""

    def __init__(self, folder, every=7):
        self.every, self.commits, self.swallowed, self.on = every, 0, 0, True
        self.server = re.search(r"host=([^&]+)", URL).group(1) + "/.s.PGSQL.5432"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{folder}/.s.PGSQL.5432")
        self.listener.listen()
        self.url = URL.replace(re.search(r"host=([^&]+)", URL).group(1), str(folder))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.server)
            except OSError:
                client.close()
                continue
            threading.Thread(target=self.carry, args=(client, server), daemon=True).start()

    def carry(self, client, server):
        with contextlib.suppress(OSError), client, server:
            while True:
                ready, _, _ = select.select([client, server], [], [])
                if server in ready:
                    data = server.recv(1 << 16)
                    client.sendall(data)
                    if not data:
                        return
                if client in ready:
                    data = client.recv(1 << 16)
                    server.sendall(data)
                    if not data:
                        return
                    self.commits += b"COMMIT" in data
                    if b"COMMIT" in data and self.on and self.commits % self.every == 0:
                        server.recv(1 << 16)  # it is committed
                        self.swallowed += 1
                        return


@by_socket
def test_an_answer_that_is_lost_does_not_make_a_row_twice(keeping, tmp_path):
    between = Forgetful(tmp_path)
    d = keeping(between.url)
    eventually(lambda: between.swallowed >= 4, explain=d.log)
    between.on = False
    assert writing_again(d)["lost_total"] == 0
    # As many moments as samples were taken; one may be taken and not counted yet.
    until = f"to_timestamp({int(time.time() * 1000)} / 1000.0)"
    taken = d.json("/api/health")["gpu_monitoring"]["samples_total"]
    eventually(lambda: number(f"SELECT COUNT(*) FROM samples WHERE recorded_at > {until}") > 0, explain=d.log)
    stored = number(f"SELECT COUNT(DISTINCT recorded_at) FROM samples WHERE recorded_at <= {until}")
    assert stored <= taken + 1, f"{stored - taken} samples were written twice after {between.swallowed} lost answers"
    stop_and_expect_all(d, keeping)


def test_the_past_is_told_from_a_server(tmp_path):
    maker = BUILD / "tests" / "fakes" / "history" / "make_history"
    if not maker.exists():
        pytest.skip("make_history was not built")
    file = f"sqlite:{tmp_path}/same.db"
    end = int(time.time())  # of both: minutes of one that was made later would hold other samples
    for url in (URL, file):
        subprocess.run([maker, url, "180", "gpus=3,scenario=night,start=16200", "30"], check=True, env=environment(tmp_path, MAKE_HISTORY_END=str(end), MAKE_HISTORY_JUDGED="1"), timeout=600)

    def ago(minutes):
        return datetime.datetime.fromtimestamp(end - 60 * minutes, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def ask(url, *args):
        done = subprocess.run([WHIRR, *args, "--json", "--store", url], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    asked = (("why", "--at", ago(100)), ("why", "--since", ago(180), "--until", ago(0)), ("why", "--since", ago(3 * 1440), "--until", ago(0)),
             ("report", "--since", ago(1440), "--until", ago(0), "--price", "0.3"), ("report", "--since", ago(20 * 1440), "--until", ago(0)))
    for args in asked:
        there, here = ask(URL, *args), ask(file, *args)
        for key in ("episodes", "gpus", "users", "containers", "commands", "limits", "idle_memory", "hot_spells", "processes"):
            there_rows, here_rows = there.get(key, []), here.get(key, [])
            names = [{k: row.get(k) for k in ("gpu_index", "name", "process", "user", "pid", "times")} for row in there_rows]
            assert names == [{k: row.get(k) for k in ("gpu_index", "name", "process", "user", "pid", "times")} for row in here_rows], (args, key)
            for a, b in zip(there_rows, here_rows):
                for number_key in ("energy_joules", "hours", "busy_hours", "gib_hours", "duration_seconds", "weight"):
                    if isinstance(a.get(number_key), (int, float)):
                        assert a[number_key] == pytest.approx(b[number_key], rel=0.03, abs=0.1), (args, key, number_key)
        assert "answer" in there and (there.get("gpus") or there.get("episodes"))
        assert args[0] != "report" or any(row["name"] for row in there["limits"]), args

    # Half of the work is done on a second connection; who may have only one gets the same answer.
    sql("DROP ROLE IF EXISTS lonely; CREATE ROLE lonely LOGIN CONNECTION LIMIT 1; GRANT pg_read_all_data TO lonely")
    try:
        for args in asked:
            assert ask(URL.replace("whirr@", "lonely@"), *args) == ask(URL, *args), args
    finally:
        sql("DROP ROLE lonely")


@pytest.fixture
def pooler():
    """A real pgbouncer that gives each transaction any of two sessions of the server."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if not program:
        pytest.skip("no pgbouncer (tools/deps test)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="whirr-pooler-", dir="/tmp"))  # the path of a socket is short
    server = re.search(r"host=([^&]+)", URL).group(1)
    (folder / "ini").write_text(f"""[databases]
whirr = host={server} dbname=whirr user=whirr
[pgbouncer]
unix_socket_dir = {folder}
listen_port = 5432
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
""")
    as_user = []
    if os.getuid() == 0:  # it refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([*as_user, program, str(folder / "ini")], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    url = URL.replace(server, str(folder))
    try:
        eventually(lambda: psql(url, "SELECT 1").returncode == 0, explain=lambda: (folder / "log").read_text())
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(folder)


@by_socket
def test_a_pooler_that_gives_each_transaction_another_session(keeping, pooler):
    hosts = [keeping(pooler, WHIRR_STORE_HOST=name) for name in ("one", "two")]
    for d in hosts:
        eventually(lambda d=d: store(d)["state"] == "ok" and store(d)["written_total"] >= 60, explain=d.log)
        rows = d.json(PATH + "?limit=50")["rows"]  # the readers' connection goes the same way
        assert rows and store(d)["lost_total"] == 0
        assert not [line for line in d.lines if "prepared statement" in line], d.log()
    # Nothing of ours is left in the sessions that others get.
    for _ in range(4):
        left = psql(pooler, "SELECT current_setting('statement_timeout'), current_setting('default_transaction_read_only'), (SELECT COUNT(*) FROM pg_prepared_statements)")
        assert left.stdout.strip() == "0|off|0", left
    for d in hosts:
        d.stop()
    assert number("SELECT COUNT(*) FROM gpu_stats WHERE host = 'one'") >= 120 and number("SELECT COUNT(*) FROM gpu_stats WHERE host = 'two'") >= 120
    assert number(RECOMPUTED.format(ms=60000, table="minutes")) == 0
