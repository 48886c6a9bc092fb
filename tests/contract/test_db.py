# SPDX-License-Identifier: Apache-2.0
"""`whirr db`: status, migrate, export and vacuum of an SQLite file, and of a PostgreSQL server where there is one."""
import contextlib
import csv
import io
import json
import os
import sqlite3
import subprocess

import pytest
from conftest import NO_OVERRIDE, PATIENCE, WHIRR, Starter, environment, eventually, run_whirr

SERVER = os.environ.get("WHIRR_TEST_POSTGRES")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def kept(request, tmp_path_factory):
    """Some seconds of two GPUs; the daemon runs on."""
    folder = tmp_path_factory.mktemp("kept")
    url = f"sqlite:{folder / 'history.db'}"
    if request.param == "postgresql":
        if not SERVER:
            pytest.skip("no PostgreSQL server (tools/with-postgres starts one)")
        url = SERVER
        psql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")
    starter = Starter(folder)
    d = starter("--interval", "0.1", "--store", url)
    d.kind, d.store_url = request.param, url
    d.wait_stored(30)
    eventually(lambda: d.json("/api/history/events")["events"], explain=d.log)
    yield d
    starter.stop()


def psql(query):
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", SERVER, "-c", query], check=True, timeout=60, stdout=subprocess.DEVNULL)


def db(daemon, *args, store=None):
    return daemon.whirr("db", *args, "--store", store or daemon.store_url)


def good(done):
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def test_status_tells_what_is_there(kept):
    told = json.loads(good(db(kept, "status", "--json")))
    assert told["kind"] == kept.kind and told["schema_version"] == told["known_version"] >= 2
    assert told["size_bytes"] > 10000 and told["hosts"] == 1 and told["gpus"] == 2
    assert told["daemon"]["running"] and told["daemon"]["store_state"] == "ok" and told["daemon"]["waiting"] >= 0
    tables = {t["name"]: t for t in told["tables"]}
    assert set(tables) == {"samples", "minutes", "hours", "host_samples", "host_minutes", "host_hours", "processes", "process_minutes", "energy", "events", "finding_episodes"}
    assert tables["samples"]["rows"] >= 30 and tables["samples"]["first"] < tables["samples"]["last"] < tables["samples"]["next_cleaning"]
    assert tables["samples"]["kept_days"] == 7 and tables["hours"]["kept_days"] == 1825 and tables["events"]["rows"] >= 1
    text = good(db(kept, "status"))
    assert f"store   {kept.kind}" in text and "schema  version" in text and "running, history database: ok" in text and "NEXT CLEANING" in text
    assert "whirr:" not in text


def test_export_is_everything(kept):
    rows = list(csv.DictReader(io.StringIO(good(db(kept, "export")))))
    assert len(rows) >= 30 and float(rows[0]["power_watts"]) > 0 and {r["gpu_index"] for r in rows} == {"0", "1"}
    assert [r["time"] for r in rows] == sorted(r["time"] for r in rows)
    lines = [json.loads(line) for line in good(db(kept, "export", "samples", "--format", "jsonl")).splitlines()]
    assert lines[0]["power_watts"] == float(rows[0]["power_watts"]) and len(lines) >= len(rows)
    assert set(lines[0]) == set(rows[0])

    def exported(table):
        return list(csv.DictReader(io.StringIO(good(db(kept, "export", table)))))
    minutes = eventually(lambda: exported("minutes"), explain=kept.log)  # summed up some time after the samples
    assert float(minutes[0]["power_watts_min"]) <= float(minutes[0]["power_watts"]) <= float(minutes[0]["power_watts_max"])
    eventually(lambda: exported("hours"), explain=kept.log)
    host = exported("host-samples")
    assert len(host) >= 15 and float(host[0]["memory_total_mb"]) > 0
    lives = eventually(lambda: [json.loads(line) for line in good(db(kept, "export", "processes", "--format", "jsonl")).splitlines()], explain=kept.log)
    assert lives[0]["host"] and lives[0]["energy_joules"] >= 0
    assert eventually(lambda: exported("events"), explain=kept.log)[0]["kind"] == "daemon"


def test_an_exported_file_is_whole_or_not_there(kept, tmp_path):
    file = tmp_path / "all.csv"
    good(db(kept, "export", "--output", str(file)))
    before = file.read_text()
    assert before.count("\n") > 30 and not (tmp_path / "all.csv.part").exists()
    done = db(kept, "export", "--output", str(file))
    assert done.returncode == 1 and "exists already" in done.stderr
    assert file.read_text() == before
    good(db(kept, "export", "events", "--output", str(file), "--force"))
    assert "kind" in file.read_text().splitlines()[0]
    done = db(kept, "export", "--output", str(tmp_path / "no" / "folder.csv"))
    assert done.returncode == 1 and "cannot write" in done.stderr


def test_vacuum_gives_space_back_while_the_daemon_writes(kept):
    if kept.kind == "sqlite":
        file = kept.store_url[7:]
        with sqlite3.connect(file, timeout=PATIENCE) as connection:
            connection.execute("CREATE TABLE ballast AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000) SELECT n, zeroblob(1000) AS z FROM c")
            connection.execute("DROP TABLE ballast")
    told = json.loads(good(db(kept, "vacuum", "--json")))
    assert told["freed_bytes"] == max(told["before_bytes"] - told["after_bytes"], 0)
    if kept.kind == "sqlite":
        assert told["freed_bytes"] > 2 << 20
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok" and connection.execute("PRAGMA auto_vacuum").fetchone()[0] == 2
    assert "before" in (text := good(db(kept, "vacuum", "--full"))) or "nothing to free" in text
    rows = kept.json("/api/system/gpu-stats/history?limit=10000")["count"]
    eventually(lambda: kept.json("/api/system/gpu-stats/history?limit=10000")["count"] > rows, explain=kept.log)
    assert kept.json("/api/health")["store"]["state"] == "ok"


def test_migrate_says_from_where_to_where(kept):
    assert "nothing to do" in good(db(kept, "migrate"))
    told = json.loads(good(db(kept, "migrate", "--json")))
    assert told["from_version"] == told["to_version"] and not told["migrated"]


# ---- of files alone ----

@pytest.fixture
def file(tmp_path):
    """A history that nothing writes to any more."""
    starter = Starter(tmp_path)
    path = tmp_path / "h.db"
    d = starter("--interval", "0.1", "--store", f"sqlite:{path}")
    d.wait_stored(4)
    starter.stop()
    return path


def run(folder, *args, **more):
    return subprocess.run([WHIRR, "db", *args], env=environment(folder), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, **more)


@pytest.mark.parametrize("version, said", [(99, "newer version of whirr (its schema is 99, this program knows"), (11, "before the first release (its schema is 11, the first is 12)")])
def test_a_file_of_an_unknown_schema_is_left_alone(file, tmp_path, version, said):
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(version),))
        connection.commit()
    before = file.read_bytes()
    for verb in ("status", "migrate", "export", "vacuum"):
        done = run(tmp_path, verb, "--store", str(file))
        assert done.returncode == 1 and said in done.stderr, (verb, done.stderr)
    assert file.read_bytes() == before


@pytest.mark.slow
def test_another_process_is_writing(file, tmp_path):
    with sqlite3.connect(file) as connection:
        connection.execute("BEGIN IMMEDIATE")
        done = run(tmp_path, "vacuum", "--store", str(file))
        assert done.returncode == 1 and "locked by another writer" in done.stderr, done.stderr


def test_what_is_not_there(tmp_path):
    for verb in ("status", "migrate", "export", "vacuum"):
        done = run(tmp_path, verb, "--store", str(tmp_path / "none.db"))
        assert done.returncode == 1 and "none.db" in done.stderr and "whirr serve" in done.stderr, (verb, done.stderr)
    assert not (tmp_path / "none.db").exists()
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).execute("CREATE TABLE x (y)")
    for verb in ("status", "migrate", "export", "vacuum"):
        assert run(tmp_path, verb, "--store", str(empty)).returncode == 1
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"no database at all " * 1000)
    for verb in ("status", "migrate", "export", "vacuum"):
        done = run(tmp_path, verb, "--store", str(junk))
        assert done.returncode == 1 and "cannot open" in done.stderr, (verb, done.stderr)
    assert junk.read_bytes().startswith(b"no database")


def test_wrong_usage(tmp_path):
    for args, part in (([], "needs"), (["stauts"], "did you mean 'status'?"), (["export", "everything"], "cannot be exported"), (["status", "x"], "does not take"),
                       (["export", "--since", "soon"], "since must be"), (["export", "--format", "xml"], "xml")):
        done = run(tmp_path, *args)
        assert done.returncode == 2 and part in done.stderr, (args, done.stderr)


def test_no_permission_is_said(file, tmp_path):
    file.chmod(0)
    done = run_whirr("db", "status", "--store", file, folder=tmp_path, through=NO_OVERRIDE)
    assert done.returncode == 1 and ("as root" in done.stderr or "ermission" in done.stderr), done.stderr


def test_a_password_is_not_shown(tmp_path):
    done = run(tmp_path, "status", "--store", f"postgresql://bob:sesame@/nowhere?host={tmp_path}")
    assert done.returncode == 1 and "sesame" not in done.stderr + done.stdout
    if SERVER:
        told = good(run(tmp_path, "status", "--store", SERVER.replace("whirr@/", "whirr:sesame@/"))) if "whirr@/" in SERVER else ""
        assert "sesame" not in told
