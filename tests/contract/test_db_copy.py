# SPDX-License-Identifier: Apache-2.0
"""`whirr db copy`, `backup` and `restore`: between files and a PostgreSQL server, beside a running daemon, killed in the middle."""
import datetime
import json
import os
import signal
import shutil
import sqlite3
import subprocess

import pytest
from conftest import PATIENCE, WHIRR, Starter, environment, eventually
from ptys import Pty

SERVER = os.environ.get("WHIRR_TEST_POSTGRES")
TABLES = ("samples", "minutes", "hours", "host-samples", "host-minutes", "host-hours", "processes", "events")
NOW = datetime.datetime.now(datetime.timezone.utc)
SINCE, UNTIL = ((NOW + datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ") for days in (-3, 0))
needs_server = pytest.mark.skipif(not SERVER, reason="no PostgreSQL server (tools/with-postgres starts one)")


def run(*args, folder, **more):
    return subprocess.run([WHIRR, *map(str, args)], env=environment(folder), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=4 * PATIENCE, **more)


def db(*args, folder):
    done = run("db", *args, folder=folder)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def psql(query):
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", SERVER, "-c", query], check=True, timeout=60, stdout=subprocess.DEVNULL)


def empty_server():
    psql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")
    return SERVER


def content(store, folder):
    """All that a history says, but for the numbers that a database gives to lives of processes and events."""
    def lines(table):
        rows = db("export", table, "--store", store, folder=folder).splitlines()
        return sorted(row.partition(",")[2] if table in ("processes", "events") else row for row in rows)
    done = run("report", "--since", SINCE, "--until", UNTIL, "--json", "--store", store, folder=folder)
    assert done.returncode == 0, done.stderr
    return {table: lines(table) for table in TABLES} | {"report": done.stdout}


@pytest.fixture
def starter(tmp_path):
    starter = Starter(tmp_path)
    yield starter
    starter.stop()


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """A day of four GPUs and the processes on them; nothing writes to it any more."""
    folder = tmp_path_factory.mktemp("day")
    assert run("sim", "day", folder / "day.db", "--source", "sim:scenario=multi-user", folder=folder).returncode == 0
    return folder / "day.db"


@needs_server
def test_to_a_server_and_back_every_row_is_the_same(day, tmp_path):
    server, back = empty_server(), tmp_path / "back.db"
    told = json.loads(db("copy", day, server, "--json", folder=tmp_path))
    assert told["written"] == told["rows"] > 20000 and told["hosts"] == 1 and told["gpus"] == 4
    assert {t["name"] for t in told["tables"] if t["rows"]} >= {"samples", "hours", "processes", "process_hours", "energy_hours", "finding_episodes"}
    assert "and were before" in db("copy", day, server, folder=tmp_path)
    told = json.loads(db("copy", server, back, "--json", folder=tmp_path))
    assert told["written"] == told["rows"]
    assert content(back, tmp_path) == content(day, tmp_path) == content(server, tmp_path)


def test_the_file_of_a_copy_is_whole_alone(day, tmp_path):
    db("copy", day, tmp_path / "copy.db", folder=tmp_path)
    assert [f.name for f in tmp_path.glob("copy.db*")] == ["copy.db"]


def destination(kind, tmp_path):
    if kind == "postgresql" and not SERVER:
        pytest.skip("no PostgreSQL server (tools/with-postgres starts one)")
    return empty_server() if kind == "postgresql" else tmp_path / "to.db"


def count(store, table):
    try:
        if store == SERVER:
            asked = subprocess.run(["psql", "-X", "-q", "-t", "-A", SERVER, "-c", f"SELECT COUNT(*) FROM {table}"], capture_output=True, text=True, timeout=60)
            return int(asked.stdout or 0)
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            return connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_in_the_middle_nothing_is_lost_and_nothing_is_there_twice(kind, day, tmp_path):
    to = destination(kind, tmp_path)
    for table in ("hosts", "processes", "samples", "minutes", "process_minutes", "finding_episodes"):
        copying = subprocess.Popen([WHIRR, "db", "copy", str(day), str(to)], env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: copying.poll() is not None or count(to, table))
        copying.kill()
        copying.wait(PATIENCE)
    db("copy", day, to, folder=tmp_path)
    assert "and were before" in db("copy", day, to, folder=tmp_path)
    assert content(to, tmp_path) == content(day, tmp_path)


NEWER = {"processes": ["title", "parked_mj"], "process_minutes": ["limit_code", "limit_samples", "generated_tokens", "prompt_tokens", "running_sum", "running_samples", "parked_mj", "requests"],
         "process_hours": ["limits", "generated_tokens", "prompt_tokens", "parked_mj", "requests"], "retention": ["ahead_ms"]}


def rows_of(file):
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return {table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("samples", "minutes", "processes", "process_minutes", "events", "finding_episodes")}


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace (tools/deps test)")
@pytest.mark.parametrize("verb", ["migrate", "vacuum"])
def test_killed_at_any_write_nothing_is_lost_and_the_next_one_does_it(verb, day, tmp_path):
    """The kernel kills it at its n-th write, for each n of 1, 2, 4, ... until it comes to its end."""
    ready, file, n, killed = tmp_path / "ready.db", tmp_path / "h.db", 1, True
    shutil.copy(day, ready)
    with sqlite3.connect(ready) as connection:
        if verb == "migrate":  # to the oldest schema that is read
            for (view,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
                connection.execute(f"DROP VIEW {view}")
            for table, columns in NEWER.items():
                for column in columns:
                    connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            connection.execute("UPDATE meta SET value = '12' WHERE key = 'schema_version'")
        else:
            connection.execute("CREATE TABLE ballast AS SELECT zeroblob(4000) AS z FROM samples LIMIT 500")
            connection.execute("DROP TABLE ballast")
    connection.close()
    before = rows_of(ready)
    while killed:
        for left in tmp_path.glob("h.db*"):
            left.unlink()
        shutil.copy(ready, file)
        done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", f"inject=pwrite64:signal=KILL:when={n}", WHIRR, "db", verb, "--store", str(file)],
                              env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        killed = done.returncode in (-9, 137)
        assert killed or done.returncode == 0, done
        if killed:
            assert rows_of(file) == before, n
            db(verb, "--store", file, folder=tmp_path)
        assert rows_of(file) == before and (verb == "vacuum" or "nothing to do" in db("migrate", "--store", file, folder=tmp_path)), n
        n *= 2
    assert n > 32, n
    if verb == "vacuum":
        assert content(file, tmp_path) == content(day, tmp_path)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_while_the_daemon_writes_and_again_after_it(kind, tmp_path, starter):
    to, written = destination(kind, tmp_path), tmp_path / "from.db"
    d = starter("--interval", "0.1", "--store", f"sqlite:{written}")
    d.wait_stored(30)
    db("copy", written, to, folder=tmp_path)
    before = len(content(to, tmp_path)["samples"])
    d.wait_stored(60)
    assert d.json("/api/health")["store"]["state"] == "ok"
    starter.stop()
    told = json.loads(db("copy", written, to, "--json", folder=tmp_path))
    assert 0 < told["written"] < told["rows"]
    assert content(to, tmp_path) == content(written, tmp_path) and len(content(to, tmp_path)["samples"]) > before


@needs_server
def test_a_history_is_added_to_that_of_other_hosts(day, tmp_path):
    server = empty_server()
    for name in ("one", "two"):
        with sqlite3.connect(day) as old, sqlite3.connect(tmp_path / f"{name}.db") as new:
            old.backup(new)
            new.execute("UPDATE hosts SET name = ?", (name,))
            new.execute("UPDATE gpus SET identity = identity || ?, uuid = uuid || ?", (name, name))
        db("copy", tmp_path / f"{name}.db", server, folder=tmp_path)
    assert json.loads(db("status", "--store", server, "--json", folder=tmp_path))["hosts"] == 2
    db("copy", server, tmp_path / "again.db", "--of", "two", folder=tmp_path)
    assert content(tmp_path / "again.db", tmp_path) == content(tmp_path / "two.db", tmp_path)
    done = run("db", "copy", server, tmp_path / "none.db", "--host", "three", folder=tmp_path)
    assert done.returncode == 1 and "no host 'three'" in done.stderr


def test_a_minute_of_which_both_have_a_part_is_whole_in_the_end(tmp_path, starter):
    """store.url was changed: the old file is copied to where the daemon writes now."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    for file in (old, new):
        starter("--interval", "0.1", "--store", f"sqlite:{file}").wait_stored(10)
        starter.stop()
    samples = [content(file, tmp_path)["samples"][:-1] for file in (old, new)]  # without the header
    d = starter("--interval", "0.1", "--store", f"sqlite:{new}")
    db("copy", old, new, folder=tmp_path)
    there = content(new, tmp_path)["samples"]
    assert set(samples[0]) | set(samples[1]) <= set(there)
    assert d.json("/api/health")["store"]["state"] == "ok"


def test_a_backup_of_a_running_daemon_restores_beside_what_was_written_since(tmp_path, starter):
    file, backup = tmp_path / "h.db", tmp_path / "backup.db"
    d = starter("--interval", "0.1", "--store", f"sqlite:{file}")
    d.wait_stored(20)
    def daemons(*args):
        done = d.whirr("db", *map(str, args))
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout
    assert "backed up to" in daemons("backup", backup)
    assert backup.stat().st_mode & 0o777 == 0o600 and not list(tmp_path.glob("backup.db?*"))
    with sqlite3.connect(backup) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    kept = content(backup, tmp_path)
    assert len(kept["samples"]) > 20
    again = d.whirr("db", "backup", str(backup))
    assert again.returncode == 1 and "exists already" in again.stderr and content(backup, tmp_path) == kept
    starter.stop()
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"h.db{end}").unlink(missing_ok=True)
    d = starter("--interval", "0.1", "--store", f"sqlite:{file}")
    d.wait_stored(5)
    daemons("restore", backup)
    for table in ("samples", "host-samples", "events"):
        assert set(kept[table]) < set(content(file, tmp_path)[table]), table
    assert d.json("/api/health")["store"]["state"] == "ok"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_killed_backup_leaves_no_backup(kind, day, tmp_path):
    url = day
    if kind == "postgresql":
        url = destination(kind, tmp_path)
        db("copy", day, url, folder=tmp_path)
    backup = tmp_path / "b.db"
    copying = subprocess.Popen([WHIRR, "db", "backup", str(backup), "--store", str(url)], env=environment(tmp_path), stdout=subprocess.DEVNULL)
    eventually(lambda: copying.poll() is not None or (tmp_path / "b.db.part").exists())
    copying.kill()
    if copying.wait(PATIENCE) != 0:
        assert not backup.exists()
        assert "backed up" in db("backup", backup, "--store", url, folder=tmp_path)
    assert not (tmp_path / "b.db.part").exists()
    assert content(backup, tmp_path) == content(day, tmp_path)


def test_a_damaged_backup_is_named_and_not_restored(day, tmp_path):
    backup = tmp_path / "b.db"
    db("backup", backup, "--store", day, folder=tmp_path)
    data = bytearray(backup.read_bytes())
    data[len(data) // 2:len(data) // 2 + 40000] = b"x" * 40000
    backup.write_bytes(data)
    done = run("db", "restore", backup, "--store", tmp_path / "new.db", folder=tmp_path)
    assert done.returncode == 1 and "damaged" in done.stderr and not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("args, said", [
    (["copy", "{day}"], "it is: whirr db copy FROM TO"),
    (["copy", "{day}", "{day}"], "the same database"),
    (["copy", "{new}", "{other}"], "No such file"),
    (["backup"], "it is: whirr db backup FILE"),
    (["backup", "/no/folder/b.db", "--store", "{day}"], "cannot write"),
    (["restore", "{new}", "--store", "{other}"], "No such file"),
])
def test_what_cannot_be_done_says_why(args, said, day, tmp_path):
    done = run("db", *(a.format(day=day, new=tmp_path / "new.db", other=tmp_path / "other.db") for a in args), folder=tmp_path)
    assert done.returncode in (1, 2) and said in done.stderr, done.stderr
    assert not (tmp_path / "new.db").exists() and not (tmp_path / "other.db").exists()


def test_it_shows_how_far_it_is_and_stops_without_loss(day, tmp_path):
    long, to = tmp_path / "long.db", tmp_path / "to.db"
    with sqlite3.connect(day) as old, sqlite3.connect(long) as new:
        old.backup(new)
        new.execute("INSERT INTO events (at_ms, host_id, kind, severity, text) WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000) "
                    "SELECT 1700000000000 + n, 1, 'test', 'info', 'n' FROM c")
    terminal = Pty([str(WHIRR), "db", "copy", str(long), str(to)], environment(tmp_path), 100, 24)
    terminal.wait_for(b"Ctrl-C stops")
    assert b"copying " in terminal.output and b" rows, " in terminal.output
    terminal.write(b"\x03")
    terminal.wait_for(b"the same command goes on from there")
    assert terminal.ended(PATIENCE) == 1
    terminal.close()
    some = count(to, "events")
    assert some < 1000000
    told = json.loads(db("copy", long, to, "--json", folder=tmp_path))
    assert told["written"] < told["rows"] and count(to, "events") == 1000000


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_renamed_host_keeps_its_history(kind, tmp_path, start):
    store = destination(kind, tmp_path)
    url = f"sqlite:{store}" if kind == "sqlite" else store

    def write(name, state, **more):
        (tmp_path / state).mkdir(exist_ok=True)
        d = start("--interval", "0.1", "--store", url, WHIRR_SERVER_HOST_NAME=name, XDG_STATE_HOME=str(tmp_path / state), **more)
        d.wait_stored(5)
        d.stop()
        samples = db("export", "host-samples", "--store", store, folder=tmp_path).splitlines()[1:]
        return {host: sum(1 for s in samples if s.split(",")[1] == host) for host in {s.split(",")[1] for s in samples}}

    before = write("old", "a")
    if kind == "postgresql":  # another host beside it
        before |= write("other", "b")
    after = write("new", "a")
    assert set(after) == set(before) - {"old"} | {"new"} and after["new"] > before["old"]
    back = write("new", "a")
    assert set(back) == set(after) and back["new"] > after["new"]
    if kind == "postgresql":  # a name that another host has: both stay
        taken = write("other", "a")
        assert taken["new"] == back["new"] and taken["other"] > before["other"]
    copied = write("copy", "c")  # another directory is another host
    assert copied["copy"] and copied["new"] == back["new"]


@pytest.mark.parametrize("words", [["report", "--since", "-365d"], ["history"]])
def test_a_question_that_takes_long_says_that_it_reads(words, tmp_path, start):
    d = start("--interval", "0.1", "--store", f"sqlite:{tmp_path / 'h.db'}")
    d.wait_stored(2)
    d.process.send_signal(signal.SIGSTOP)
    terminal = Pty([str(WHIRR), *words], d.env, 100, 24)
    terminal.wait_for(b"reading the history, ")
    d.process.send_signal(signal.SIGCONT)
    assert terminal.ended(PATIENCE) == 0
    assert b"GPU" in terminal.output.rpartition(b"\r\x1b[K")[2]  # the line is gone
    terminal.close()


def test_a_day_that_was_stopped_is_not_there(tmp_path):
    file = tmp_path / "d.db"
    playing = subprocess.Popen([WHIRR, "sim", "day", str(file), "--source", "sim:scenario=multi-user"], env=environment(tmp_path), stdout=subprocess.DEVNULL)
    eventually(lambda: (tmp_path / "d.db.part").exists() or playing.poll() is not None)
    playing.send_signal(signal.SIGINT)
    if playing.wait(PATIENCE) != 0:
        assert not file.exists()
        assert run("sim", "day", file, "--source", "sim:scenario=multi-user", folder=tmp_path).returncode == 0
    assert not list(tmp_path.glob("d.db.part*"))
