# SPDX-License-Identifier: Apache-2.0
"""`whirr history`: the same from the daemon and from the file; plots that keep to the page."""
import csv
import datetime
import io
import json
import re
import os
import sqlite3
import subprocess

import pytest
from conftest import PATIENCE, WHIRR, Starter, environment, eventually


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A daemon that has stored some seconds of two GPUs, and an XID."""
    folder = tmp_path_factory.mktemp("kept")
    starter = Starter(folder)
    file = folder / "history.db"
    d = starter("--interval", "0.1", "--store", f"sqlite:{file}")
    d.file = file
    d.wait_stored(30)
    d.wait_stored(2, "/api/history/processes")
    d.wait_stored(1, "/api/history/events")
    with sqlite3.connect(file, timeout=PATIENCE) as db:
        gpu, host, at = db.execute("SELECT g.id, g.host_id, MAX(s.id) >> 14 FROM gpus g JOIN samples s WHERE g.gpu_index = 0").fetchone()
        db.execute("INSERT INTO events (at_ms, host_id, gpu_id, kind, severity, code, text) VALUES (?, ?, ?, 'xid', 'critical', 79, 'XID 79: off the bus')", (at - 1000, host, gpu))
    # All of it, however long ago that is for the last test.
    d.begin = datetime.datetime.fromtimestamp(at // 1000 - 30, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    yield d
    starter.stop()


def history(folder, *args, width="80", **env):
    return subprocess.run([WHIRR, "history", *args], env=environment(folder, COLUMNS=width, **env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)


def good(done):
    assert done.returncode == 0 and done.stderr in ("", "SIMULATED\n"), done.stderr  # beside chosen fields
    return done.stdout


def test_it_begins_where_the_history_begins_and_says_that_it_is_simulated(kept):
    for args in ([], ["--events"], ["--processes"]):
        assert good(history(kept.folder, *args)).startswith("SIMULATED"), args
        assert json.loads(good(history(kept.folder, *args, "--json")))["simulated"] is True, args
    for args in ([], ["--processes"], ["--step", "raw"]):
        rows = list(csv.DictReader(good(history(kept.folder, *args, "--csv")).splitlines()))
        assert rows and all(row["simulated"] == "true" for row in rows), args
    begin, end = re.match(r"SIMULATED  (?:\w+ +\d+ )?(\d\d:\d\d) to (?:\w+ +\d+ )?(\d\d:\d\d)", good(history(kept.folder))).groups()
    minutes = [60 * int(t[:2]) + int(t[3:]) for t in (begin, end)]
    assert (minutes[1] - minutes[0]) % 1440 < 120, "not six hours"
    asked = re.match(r"SIMULATED  (?:\w+ +\d+ )?(\d\d:\d\d) to", good(history(kept.folder, "--since", "-6h"))).group(1)
    assert asked != begin


def test_daemon_and_file_say_the_same(kept, tmp_path):
    with sqlite3.connect(kept.file, timeout=PATIENCE) as db:
        newest = db.execute("SELECT MAX(recorded_at) FROM gpu_stats").fetchone()[0]
    args = ["power", "temp", "host.cpu_percent", "--since", "-10m", "--until", newest, "--step", "1s", "--json"]
    own = json.loads(good(history(tmp_path, *args, "--store", str(kept.file))))
    asked = json.loads(good(history(kept.folder, *args)))
    assert own["series"] and own["series"] == asked["series"]
    args = ["all", "--step", "raw", "--since", "-10m", "--until", newest, "--csv"]
    assert good(history(tmp_path, *args, "--store", f"sqlite:{kept.file}")) == (text := good(history(kept.folder, *args)))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) > 10 and float(rows[0]["power_watts"]) > 0 and len(rows[0]) > 20
    lines = good(history(kept.folder, "power", "--since", "-10m", "--step", "1s", "--jsonl")).splitlines()
    assert json.loads(lines[0])["power_watts"] > 0


def test_chosen_fields(kept, tmp_path):
    with sqlite3.connect(kept.file, timeout=PATIENCE) as db:
        newest = db.execute("SELECT MAX(recorded_at) FROM gpu_stats").fetchone()[0]
    span = ["--since", "-10m", "--until", newest, "--step", "raw"]
    rows = [line.split("\t") for line in good(history(kept.folder, "power", *span, "--fields", "gpu_index,power_watts")).splitlines()]
    assert len(rows) > 10 and all(int(r[0]) in (0, 1) and float(r[1]) > 0 for r in rows)
    # The same rows as without a choice of columns, by the daemon and from the file.
    whole = list(csv.DictReader(io.StringIO(good(history(kept.folder, "power", *span, "--csv")))))
    for more in ((kept.folder,), (tmp_path, "--store", str(kept.file))):
        text = good(history(more[0], "power", *span, "--csv", "--fields", "time,gpu_index,power_watts", *more[1:]))
        assert list(csv.DictReader(io.StringIO(text))) == [{k: r[k] for k in ("time", "gpu_index", "power_watts")} for r in whole]
    assert "alice" in good(history(kept.folder, "--processes", "--since", "-10m", "--template", "{{user}} has {{pid}}"))
    assert "XID 79: off the bus" in good(history(kept.folder, "--events", "--since", "-10m", "--fields", "kind,text"))
    wrong = history(kept.folder, "power", *span, "--fields", "gpu_indx")
    assert wrong.returncode == 2 and wrong.stdout == "" and "'gpu_index'" in wrong.stderr, wrong
    assert history(kept.folder, "--fields", "a", "--jsonl").returncode == 2 and history(kept.folder, "--fields", "a", "--json").returncode == 2


def test_plots_keep_to_the_page(kept, tmp_path):
    for width in ("40", "80", "120"):
        text = good(history(kept.folder, "--since", kept.begin, width=width))
        assert "utilization %" in text and "memory used GiB" in text and "power W" in text and "temperature °C" in text
        assert "GPU 0" in text and "GPU 1" in text and "└" in text
        assert max(map(len, text.splitlines())) <= int(width)
        assert any(0x2801 <= ord(c) <= 0x28ff for c in text)
    assert "a  " in text and "XID 79: off the bus" in text
    blocks = good(history(kept.folder, "util", "--since", kept.begin, "--style", "blocks"))
    assert "█" in blocks
    plain = good(history(kept.folder, "--since", kept.begin, LC_ALL="C", TERM="dumb"))
    assert plain.isascii() and "utilization %" in plain and "+----" in plain and "\x1b" not in plain
    assert "\x1b[" in good(history(kept.folder, "--since", kept.begin, "--color", "always"))
    tall = good(history(kept.folder, "power", "--gpu", "0", "--since", kept.begin, "--height", "20", "--width", "60"))
    assert len(tall.splitlines()) > 22 and max(map(len, tall.splitlines()[1:])) <= 60


def test_lists(kept):
    events = good(history(kept.folder, "--events", "--since", "-10m"))
    assert "XID 79: off the bus" in events and "daemon" in events and "critical" in events
    def who():
        text = good(history(kept.folder, "--processes", "--since", "-10m"))
        return "running" in text and "kJ" in text
    eventually(who, explain=kept.log)
    assert json.loads(good(history(kept.folder, "--events", "--since", "-10m", "--json")))["events"]
    assert good(history(kept.folder, "--processes", "--since", "-10m", "--csv")).startswith("life,host,gpu_index,gpu_uuid,pid,")
    name = json.loads(good(history(kept.folder, "--processes", "--since", "-10m", "--json")))["processes"][0]["name"]
    assert f"{name} on GPU 0" in good(history(kept.folder, "vram", "--process", name, "--since", "-10m"))


def test_nothing_and_mistakes(kept, tmp_path):
    assert good(history(kept.folder, "--since", "2020-01-01", "--until", "2020-01-02")) == "Nothing was stored in that time.\n"
    for args, status, part in ((["powr_watts"], 2, "did you mean 'power_watts'?"), (["--since", "soon"], 2, "since must be"), (["--step", "raw"], 2, "step=raw"),
                               (["--gpu", "9"], 1, "no GPU '9'"), (["--json", "--csv"], 2, "can't be combined"), (["--width", "5"], 2, "--width 5"),
                               (["--store", str(tmp_path / "none.db")], 1, "cannot open"), (["--process", "nobody"], 1, "no process 'nobody'")):
        done = history(kept.folder, *args)
        assert done.returncode == status and part in done.stderr and done.stdout == "", (args, done.returncode, done.stderr)
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"not a database, whatever its name says" * 100)
    done = history(tmp_path, "--store", str(junk))
    assert done.returncode == 1 and "cannot open" in done.stderr


def test_a_reader_that_has_enough_ends_it_quietly(kept):
    with subprocess.Popen([WHIRR, "history", "all", "--step", "raw", "--csv", "--since", "all"], env=environment(kept.folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        os.read(p.stdout.fileno(), 10)
        p.stdout.close()
        assert p.stderr.read() == b""
        p.wait(PATIENCE)


def test_nothing_is_left_behind(kept, tmp_path):
    """Under the sanitizers."""
    store = ["--store", str(kept.file)]
    for args in ([], ["--events"], ["--processes"], ["power", "--json"], ["all", "--step", "raw", "--csv"], ["--style", "blocks", "--each"], ["--color", "always"]):
        for more in ([], store):
            good(history(kept.folder, *args, *more, ASAN_OPTIONS="detect_leaks=1"))
    for args in (["status"], ["status", "--json"], ["export", "minutes"], ["migrate"], ["vacuum"]):
        done = subprocess.run([WHIRR, "db", *args, *store], env=environment(tmp_path, ASAN_OPTIONS="detect_leaks=1"), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0 and done.stderr == "", done.stderr
