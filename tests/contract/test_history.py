# SPDX-License-Identifier: Apache-2.0
"""Section C, the stored part: rows come back as they were served, page by page, and are readable with plain SQL."""
import contextlib
import datetime
import re
import sqlite3
import tempfile

import pytest
import shapes
from conftest import PATIENCE, eventually

PATH = "/api/system/gpu-stats/history"
ROW = {**shapes.STATS_ROW, "recorded_at": shapes.TIME}
PAGE = {"rows": [ROW], "count": int, "next_cursor": shapes.Null(str)}


@pytest.fixture
def keeping(start, tmp_path):
    """A daemon that stores five samples a second of two GPUs, with some rows already there."""
    file = tmp_path / "history.db"
    daemon = start("--interval", "0.2", "--store", f"sqlite:{file}", source="sim:gpus=2,scenario=training")
    daemon.file = file
    daemon.wait_stored(12)
    return daemon


def pages(daemon, query, limit):
    cursor, rows = "", []
    while True:
        body = shapes.check(daemon.json(f"{PATH}?limit={limit}{query}{cursor}"), PAGE)
        assert body["count"] == len(body["rows"]) <= limit
        rows += body["rows"]
        if body["next_cursor"] is None:
            return rows
        assert body["count"] == limit
        cursor = f"&cursor={body['next_cursor']}"


def test_rows_come_back_as_they_were_served(keeping):
    served = keeping.json("/api/system/gpu-stats")["gpus"]
    wanted = {(row["gpu_index"], row["recorded_at"]): row for row in served}

    def stored():
        rows = keeping.json(f"{PATH}?since=-1h&limit=10000")["rows"]
        found = {(row["gpu_index"], row["recorded_at"]): row for row in rows}
        return found if wanted.keys() <= found.keys() else None

    found = eventually(stored)
    for key, row in wanted.items():
        for name in ROW:
            assert found[key][name] == pytest.approx(row[name], abs=1e-3) if isinstance(row[name], float) else found[key][name] == row[name]


def test_pages_are_stable_while_rows_are_added(keeping):
    first = keeping.json(f"{PATH}?limit=5")
    until = first["rows"][0]["recorded_at"]
    rows = pages(keeping, "", 5)
    keys = [(r["recorded_at"], r["gpu_index"]) for r in rows]
    assert keys == sorted(set(keys)) and keys[0][0] == until
    # The same rows in one piece: nothing was left out or told twice while new ones came.
    whole = keeping.json(f"{PATH}?limit=10000")["rows"]
    assert [(r["recorded_at"], r["gpu_index"]) for r in whole[:len(rows)]] == keys


def test_parameters(keeping):
    only = keeping.json(f"{PATH}?gpu_index=1&limit=10000")["rows"]
    assert only and {r["gpu_index"] for r in only} == {1}
    middle = only[len(only) // 2]["recorded_at"]
    later = keeping.json(f"{PATH}?gpu_index=1&since={middle}&limit=10000")["rows"]
    earlier = keeping.json(f"{PATH}?gpu_index=1&until={middle}&limit=10000")["rows"]
    assert later[0]["recorded_at"] == middle and earlier[-1]["recorded_at"] < middle
    assert keeping.json(f"{PATH}?since=-1h&until=-30m") == {"rows": [], "count": 0, "next_cursor": None}
    assert keeping.json(f"{PATH}?gpu_index=7")["rows"] == []
    assert keeping.json(PATH)["count"] <= 1000
    for query in ("limit=0", "limit=10001", "limit=x", "since=someday", "until=-", "gpu_index=-1", "gpu_index=x", "step=0", "step=x", "cursor=!"):
        reply = keeping.get(f"{PATH}?{query}")
        assert reply.status == 400, query
        assert reply.json()["error"]["code"] == "bad_parameter" and query.split("=")[0] in reply.json()["error"]["message"]


@pytest.mark.slow
def test_steps_are_means_of_their_rows(keeping):
    eventually(lambda: len(keeping.json(f"{PATH}?gpu_index=0&limit=10000")["rows"]) > 25)
    steps = shapes.check(keeping.json(f"{PATH}?step=2s&gpu_index=0"), PAGE)["rows"]
    rows = keeping.json(f"{PATH}?gpu_index=0&limit=10000")["rows"]
    assert len(steps) >= 2

    def seconds(row):
        return datetime.datetime.fromisoformat(row["recorded_at"].replace("Z", "+00:00")).timestamp()

    step = steps[len(steps) // 2 - 1]
    inside = [r["gpu_utilization_percent"] for r in rows if seconds(step) <= seconds(r) < seconds(step) + 2]
    assert seconds(step) % 2 == 0
    assert step["gpu_utilization_percent"] == pytest.approx(sum(inside) / len(inside), abs=1e-3)
    both = pages(keeping, "&step=1s", 3)
    keys = [(r["recorded_at"], r["gpu_index"]) for r in both]
    assert keys == sorted(set(keys)) and {r["gpu_index"] for r in both} == {0, 1}


def test_plain_sql_reads_the_file(keeping):
    keeping.stop()
    with sqlite3.connect(f"file:{keeping.file}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM gpu_stats ORDER BY recorded_at DESC LIMIT 1").fetchone())
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    for name in ROW:
        assert name in row
    assert row["host"] and row["gpu_uuid"] and 0 <= row["gpu_utilization_percent"] <= 100
    assert row["recorded_at"].endswith("Z")


def test_views_for_analysts_have_times_and_names(keeping):
    eventually(lambda: keeping.json("/api/history/processes")["count"] >= 1, explain=keeping.log)
    with sqlite3.connect(keeping.file) as db:
        db.row_factory = sqlite3.Row
        for view, time in (("process_stats", "last_seen_at"), ("process_stats_minute", "starts_at"), ("energy_stats_minute", "starts_at"), ("event_log", "occurred_at")):
            row = eventually(lambda: db.execute(f"SELECT * FROM {view} ORDER BY {time} DESC LIMIT 1").fetchone(), explain=view)
            assert datetime.datetime.fromisoformat(row[time]).year >= 2025 and row["host"], view
            if view != "event_log":
                assert row["gpu_name"] and row["gpu_uuid"] and row["energy_joules"] is not None, view
        for view in ("process_stats_hour", "energy_stats_hour"):
            db.execute(f"SELECT host, gpu_name, starts_at, energy_joules FROM {view}").fetchall()
        wanted = {0: "", 4: "power cap", 1 | 4: "idle, power cap"}
        for bits, words in db.execute("SELECT DISTINCT throttle_reasons, throttle_words FROM gpu_stats WHERE throttle_reasons IS NOT NULL"):
            assert (words == wanted[bits]) if bits in wanted else words
        plan = " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN SELECT * FROM gpu_stats WHERE id >= (unixepoch('now', '-1 hour') * 1000) << 14"))
        assert "SEARCH s USING INTEGER PRIMARY KEY" in plan


def test_alerts_have_a_view_of_their_own(start, tmp_path):
    config, file = tmp_path / "alerts.toml", tmp_path / "alerts.db"
    config.write_text('[[alert]]\nname = "busy"\nwhen = "utilization_percent > 10"\n')
    d = start("--interval", "0.2", "--config", str(config), "--store", f"sqlite:{file}", source="sim:gpus=1,scenario=training")

    def fired():
        with contextlib.closing(sqlite3.connect(file, timeout=PATIENCE)) as db:
            db.row_factory = sqlite3.Row
            return db.execute("SELECT * FROM alert_log WHERE alert = 'busy' AND state = 'firing'").fetchone()

    eventually(lambda: d.json("/api/health")["store"]["written_total"] >= 2, explain=d.log)
    row = eventually(fired, explain=d.log)
    assert row["host"] and row["gpu_index"] == 0 and row["gpu_name"] and row["value"] > 10 and row["summary"] and row["fingerprint"]
    assert row["started_at"] == row["occurred_at"] and row["ended_at"] is None and row["severity"] == "warning"


def test_a_restart_goes_on_in_the_same_file(keeping, start):
    keeping.stop()
    with sqlite3.connect(keeping.file) as db:
        before = db.execute("SELECT COUNT(*) FROM gpu_stats").fetchone()[0]
    again = start("--interval", "0.2", "--store", f"sqlite:{keeping.file}", source="sim:gpus=2,scenario=training")
    eventually(lambda: len(again.json(f"{PATH}?limit=10000")["rows"]) > before)
    with sqlite3.connect(keeping.file) as db:
        assert db.execute("SELECT COUNT(*) FROM gpus").fetchone()[0] == 2
        eventually(lambda: db.execute("SELECT COUNT(*) FROM events WHERE kind = 'daemon'").fetchone()[0] == 2, explain=again.log)


def test_without_a_store_the_history_is_empty(daemon):
    assert daemon.json(PATH) == {"rows": [], "count": 0, "next_cursor": None}
    assert daemon.get(f"{PATH}?limit=0").status == 400
    assert daemon.json("/api/health")["store"]["state"] == "off"


def test_health_tells_how_the_store_is(keeping):
    store = keeping.json("/api/health")["store"]
    assert store["state"] == "ok" and store["kind"] == "sqlite" and store["message"] is None and store["queued_rows"] >= 0


def test_a_store_that_cannot_be_opened_does_not_stop_the_daemon(start):
    d = start("--interval", "0.2", "--store", "sqlite:/nonexistent/folder/x.db")
    d.wait_log("store: cannot open '/nonexistent/folder/x.db'")
    store = eventually(lambda: (s := d.json("/api/health")["store"])["state"] == "failing" and s, explain=d.log)
    assert "/nonexistent" in store["message"]
    assert d.json("/api/health")["status"] == "degraded"
    assert d.json("/api/gpu/devices")["count"] == 2
    for path in (PATH, "/api/history?metric=power", "/api/history/events", "/api/report", "/api/why?since=-1h"):
        refused = d.get(path)
        assert refused.status == 503, path
        error = refused.json()["error"]
        assert error["code"] == "store_failing" and "/nonexistent" in error["message"], path


def test_a_file_that_is_removed_is_made_anew_and_said(keeping):
    keeping.file.unlink()
    store = eventually(lambda: (s := keeping.json("/api/health")["store"])["message"] and s, explain=keeping.log)
    assert store["state"] == "ok" and "removed while whirr was running" in store["message"] and store["lost_total"] == 0
    keeping.wait_log("was removed or replaced")
    keeping.wait_stored(4)
    keeping.stop()
    assert keeping.file.exists()


@pytest.mark.parametrize("before", [None, 0o644, 0o640])
def test_the_database_is_for_its_owner(start, tmp_path, before):
    file = tmp_path / "private.db"
    if before:  # made by an earlier version; a group that was given it keeps it
        sqlite3.connect(file).executescript("CREATE TABLE x (y)")
        file.chmod(before)
    daemon = start("--interval", "0.2", "--store", f"sqlite:{file}")
    daemon.wait_stored(2)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("private.db*") if not path.name.endswith("-lock")}
    assert "private.db-wal" in modes and set(modes.values()) == {0o640 if before else 0o600}, modes


def test_a_changed_place_says_where_the_old_history_is(start, tmp_path):
    """Nothing is copied and nothing lost: the log, the health and `config check` say where it is, until it is used again."""
    state = tmp_path / "state"
    state.mkdir()
    first, second = tmp_path / "first.db", tmp_path / "second.db"

    def run(path):
        d = start("--interval", "600", "--store", f"sqlite:{path}", XDG_STATE_HOME=str(state))
        health = d.json("/api/health")["store"]
        d.stop()
        return d, health["previous_place"]

    d, before = run(first)
    assert before is None and "nothing was copied" not in d.log()
    d, before = run(second)
    assert before == str(first) and first.exists()
    assert re.search(rf"nothing was copied.*store.url.*before={first}.*now={second}", d.log()), d.log()
    d, before = run(second)  # still, but the log has said it
    assert before == str(first) and "nothing was copied" not in d.log()
    config = tmp_path / "whirr.toml"
    config.write_text(f'[store]\nurl = "sqlite:{first}"\n')
    checked = d.whirr("--config", str(config), "config", "check")
    assert checked.returncode == 0 and str(second) in checked.stdout and "Nothing is copied" in checked.stdout, checked
    assert f"whirr db copy '{second}' '{first}'" in checked.stdout, checked
    d, before = run(first)
    assert before == str(second)
    second.unlink()  # on purpose
    assert run(first)[1] is None


FILE_PAGE = 4096  # of a history's file


def damage_truncated(data):
    return data[:len(data) // 2 // FILE_PAGE * FILE_PAGE]


def damage_overwritten(data):
    return damaged_page(data, b"\xa5" * FILE_PAGE, largest=True)


def damage_zeroed(data):
    return damaged_page(data, bytes(FILE_PAGE), largest=True)


def damage_index(data):
    return damaged_page(data, b"\xff" * FILE_PAGE, largest=False)


def damaged_page(data, page, largest):
    """Another page in the place of one that belongs to a table in the middle of the file, or of the root of an index."""
    with tempfile.NamedTemporaryFile(suffix=".db") as f:
        f.write(data)
        f.flush()
        with contextlib.closing(sqlite3.connect(f.name)) as db:
            kind = "table" if largest else "index"
            number, = db.execute(f"SELECT rootpage FROM sqlite_master WHERE type = '{kind}' AND rootpage > 3 ORDER BY rootpage DESC LIMIT 1").fetchone()
    return data[:(number - 1) * FILE_PAGE] + page + data[number * FILE_PAGE:]


@pytest.mark.parametrize("damage", [damage_truncated, damage_overwritten, damage_zeroed, damage_index])
def test_damage_is_said_or_the_file_is_put_aside(start, tmp_path, damage):
    """Whether it opens or not: never without a word, and never with bytes lost."""
    path = tmp_path / "history.db"
    d = start("--interval", "0.2", "--store", f"sqlite:{path}")
    d.wait_stored(4)
    d.stop()
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA page_size").fetchone() == (FILE_PAGE,)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    d = start("--interval", "600", "--store", f"sqlite:{path}")
    eventually(lambda: "damaged" in d.log(), explain=d.log)

    def is_said():
        health = d.json("/api/health")["store"]
        return any(".damaged-" in p.name for p in tmp_path.iterdir()) or (health["damaged"] and ".recover" in health["message"])
    eventually(is_said, explain=lambda: (d.json("/api/health")["store"], d.log()))


def test_a_sound_file_is_called_that(start, tmp_path):
    path = tmp_path / "history.db"
    d = start("--interval", "0.2", "--store", f"sqlite:{path}")
    d.wait_stored(4)
    d.stop()
    d = start("--interval", "0.2", "--store", f"sqlite:{path}")
    d.wait_stored(6)
    assert d.json("/api/health")["store"]["damaged"] is False and "damaged" not in d.log()
