# SPDX-License-Identifier: Apache-2.0
"""Commands and the daemon that they speak to: the right one, by name, or none."""
import json
import os
import sqlite3
import subprocess

import pytest
from conftest import WHIRR, environment, eventually

RELEASED = "released"


def run(folder, *args, **env):
    return subprocess.run([WHIRR, *args], env=environment(folder, **env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def source_state(daemon):
    return eventually(lambda: daemon.json("/api/health")["gpu_monitoring"]["sources"])[0]["state"]


# ---- looking ----

def test_no_silences_is_an_answer(daemon):
    done = daemon.whirr("alert", "silence", "list")
    assert done.returncode == 0 and done.stdout == "No silences.\n", done


def test_a_broken_default_file_does_not_change_which_daemon_is_asked(start):
    d = start(source="sim:gpus=3,scenario=training")
    (d.folder / "config/whirr").mkdir()
    (d.folder / "config/whirr/whirr.toml").write_text("[server\n")
    done = d.whirr("devices", "--json")
    assert done.returncode == 0 and len(json.loads(done.stdout)["devices"]) == 3, done
    assert "whirr.toml:1" in done.stderr and "warning" in done.stderr


def test_the_socket_can_be_named(start, tmp_path):
    d = start(source="sim:gpus=3,scenario=training")
    done = run(tmp_path, "devices", "--json", "--socket", d.sock)
    assert done.returncode == 0 and len(json.loads(done.stdout)["devices"]) == 3, done


# ---- acting ----

def test_release_names_the_daemon_that_it_acts_on(start, tmp_path):
    first, second = start(), start()
    done = run(tmp_path, "release", "--socket", second.sock)
    assert done.returncode == 0 and second.sock in done.stdout, done
    eventually(lambda: source_state(second) == RELEASED)
    assert source_state(first) != RELEASED
    told = json.loads(run(tmp_path, "release", "--socket", second.sock, "--end", "--json").stdout)
    assert told["daemon"] == second.sock and told["released"] is False


@pytest.mark.parametrize("option", [("--direct",), ("--source", "sim"), ("--sysroot", "/")])
def test_what_is_about_sampling_here_does_not_go_with_acting(start, option):
    d = start()
    for command in (("release",), ("alert", "silence", "gpu_hot", "--for", "1m"), ("guard", "evict")):
        done = d.whirr(*command, *option)
        assert done.returncode == 2 and option[0] in done.stderr and done.stdout == "", (command, done)
    assert source_state(d) != RELEASED


def test_release_without_a_daemon_lets_a_script_go_on(tmp_path):
    done = run(tmp_path, "release")
    assert done.returncode == 0 and str(tmp_path / "whirr.sock") in done.stdout and "Nothing holds" in done.stdout, done
    assert json.loads(run(tmp_path, "release", "--json").stdout) == {"daemon": None, "released": True}


def test_an_own_runtime_directory_is_never_left(start, tmp_path):
    """A daemon that listens where commands look last must not be acted on from a place of one's own."""
    d = start(WHIRR_SERVER_SOCKET=None)
    assert source_state(d) != RELEASED and os.path.exists(d.folder / "whirr.sock")
    apart = tmp_path / "apart"
    apart.mkdir()
    for variables in ({"XDG_RUNTIME_DIR": str(apart)}, {"RUNTIME_DIRECTORY": str(apart)}):
        done = run(tmp_path, "release", WHIRR_SERVER_SOCKET=None, **variables)
        assert str(apart / "whirr.sock") in done.stdout + done.stderr, done
    assert source_state(d) != RELEASED
    done = run(tmp_path, "release", WHIRR_SERVER_SOCKET=None, XDG_RUNTIME_DIR=str(d.folder))
    assert done.returncode == 0 and str(d.folder / "whirr.sock") in done.stdout, done


@pytest.fixture
def system(start, tmp_path):
    """The system's daemon, below a root of the test's own."""
    root = tmp_path / "system"
    (root / "run/whirr").mkdir(parents=True)
    d = start(WHIRR_SERVER_SOCKET=str(root / "run/whirr/whirr.sock"))
    d.root = {"WHIRR_SERVER_SOCKET": None, "WHIRR_SYSTEM_ROOT": str(root)}
    return d


def test_the_systems_daemon_is_left_alone_unless_it_is_named(system, tmp_path):
    apart = tmp_path / "apart"
    apart.mkdir()
    for command in (("release",), ("alert", "silence", "gpu_hot", "--for", "1m"), ("guard", "evict")):
        done = run(apart, *command, **system.root)
        assert done.returncode == 1 and "left alone" in done.stderr and f"--socket {system.sock}" in done.stderr, (command, done)
        assert str(apart / "whirr.sock") in done.stderr
    assert source_state(system) != RELEASED
    looked = run(apart, "devices", "--json", **system.root)  # who only looks may ask it
    assert len(json.loads(looked.stdout)["devices"]) == 2
    named = run(apart, "release", "--socket", system.sock, **system.root)
    assert named.returncode == 0 and system.sock in named.stdout, named


@pytest.mark.skipif(os.geteuid() != 0, reason="is about root")
@pytest.mark.parametrize("session", [None, "/run/user/0"])
def test_root_acts_on_the_systems_daemon(system, tmp_path, session):
    done = run(tmp_path, "release", **system.root, XDG_RUNTIME_DIR=session)
    assert done.returncode == 0 and system.sock in done.stdout, done


def test_silences_name_the_daemon(start):
    d = start()
    added = d.whirr("alert", "silence", "gpu_hot", "--for", "1m")
    assert added.returncode == 0 and d.sock in added.stdout, added
    removed = d.whirr("alert", "silence", "remove", "s1")
    assert removed.returncode == 0 and d.sock in removed.stdout, removed
    wrong = d.whirr("alert", "silence", "gpu_hot", "--until", "yesterday")
    assert wrong.returncode == 2 and "a time to come" in wrong.stderr


def test_tokens_name_their_file_and_who_uses_it(start, tmp_path):
    d = start()
    added = d.whirr("token", "new", "x")
    assert str(d.folder / "whirr/tokens") in added.stderr and f"PID {d.process.pid}" in added.stderr, added
    alone = run(tmp_path, "token", "new", "x")
    assert str(tmp_path / "whirr/tokens") in alone.stderr and "no daemon is using it" in alone.stderr, alone
    assert str(d.folder / "whirr/tokens") in d.whirr("token", "remove", "x").stderr


# ---- the history ----

@pytest.fixture
def writing(start, tmp_path):
    d = start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/elsewhere.db")
    d.file = tmp_path / "elsewhere.db"

    def rows():
        try:
            with sqlite3.connect(f"file:{d.file}?mode=ro", uri=True) as db:
                return db.execute("SELECT count(*) FROM gpu_stats").fetchone()[0] > 4
        except sqlite3.OperationalError:
            return False

    eventually(rows)
    return d


def test_db_is_about_the_database_that_the_daemon_writes(writing):
    d = writing
    body = json.loads(d.whirr("db", "status", "--json").stdout)
    assert body["place"] == str(d.file) and body["chosen_by"] == "daemon" and body["daemon"]["place"] == str(d.file)
    text = d.whirr("db", "status").stdout
    assert f"{d.file} (where the daemon writes)" in text
    assert str(d.file) in d.whirr("db", "vacuum").stdout
    assert str(d.file) in d.whirr("db", "migrate").stdout
    assert d.whirr("db", "export", "events").stdout.count("\n") > 1


def test_db_says_when_it_shows_another_database(writing, tmp_path):
    d = writing
    other = tmp_path / "other.db"
    with sqlite3.connect(d.file) as a, sqlite3.connect(other) as b:
        a.backup(b)
    body = json.loads(d.whirr("db", "status", "--store", str(other), "--json").stdout)
    assert body["place"] == str(other) and body["chosen_by"] == "option" and body["daemon"]["place"] == str(d.file)
    text = d.whirr("db", "status", "--store", str(other)).stdout
    assert "given with --store" in text and f"writes to another database: {d.file}" in text
    alone = run(tmp_path, "db", "status", XDG_STATE_HOME=str(tmp_path / "empty"))
    assert alone.returncode == 1 and str(tmp_path / "empty/whirr/whirr.db") in alone.stderr


def test_every_command_takes_the_same_names_of_a_database(writing, tmp_path):
    file = str(writing.file)
    for name in (file, f"sqlite:{file}"):
        for command in (("history", "--json", "--since", "1h"), ("why", "--since", "1h"), ("report", "--since", "8h"), ("db", "status"),
                        ("forecast", "--source", "sim:gpus=2", "--watch-for", "1")):
            done = run(tmp_path, *command, "--store", name)
            assert done.returncode == 0, (command, name, done.stderr)
    for command in (("history",), ("why", "--since", "1h"), ("report",), ("db", "status"), ("forecast", "--source", "sim:gpus=1", "--watch-for", "1")):
        done = run(tmp_path, *command, "--store", str(tmp_path / "none.db"))
        assert done.returncode == 1 and "none.db" in done.stderr, (command, done)


# ---- one daemon a directory ----

def second(folder, *args, **env):
    return run(folder, "serve", "--source", "sim", "--listen", "127.0.0.1:0", *args, **env)


def test_two_daemons_do_not_share_a_state_directory(start, tmp_path):
    d = start()
    (tmp_path / "b").mkdir()
    again = second(tmp_path / "b", "--store", "none", XDG_STATE_HOME=str(d.folder))
    assert again.returncode == 1 and str(d.folder / "whirr") in again.stderr and f"PID {d.process.pid}" in again.stderr, again
    assert "XDG_STATE_HOME" in again.stderr


def test_two_daemons_do_not_share_a_database(writing, tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "link.db").symlink_to(writing.file)
    for name in (writing.file, tmp_path / "b/../elsewhere.db", tmp_path / "link.db"):
        again = second(tmp_path / "b", "--store", f"sqlite:{name}")
        assert again.returncode == 1 and str(writing.file) in again.stderr and f"PID {writing.process.pid}" in again.stderr, again


def test_a_killed_daemon_blocks_no_command(start, tmp_path):
    d = start()
    d.process.kill()
    d.process.wait(20)
    e = start(XDG_STATE_HOME=str(d.folder))
    assert e.json("/api/health")["status"] in ("ok", "degraded")
