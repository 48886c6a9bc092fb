# SPDX-License-Identifier: Apache-2.0
"""Nothing is deleted and nothing is lost on the word of a clock that is wrong, on both databases: real daemons under libfaketime.

test_trust.c plays years of such histories; here they last seconds.
"""
import contextlib
import glob
import os
import sqlite3
import subprocess
import time

import pytest
from conftest import eventually

LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib*/faketime/libfaketimeMT.so.1")), None)
SERVER = os.environ.get("WHIRR_TEST_POSTGRES")
DAY = 86400
LEAPS = {"+30s": 30, "+2h": 7200, "+30d": 30 * DAY, "+3y": 3 * 365 * DAY, "-30s": -30, "-2h": -7200, "-30d": -30 * DAY, "-3y": -3 * 365 * DAY}

pytestmark = pytest.mark.skipif(not LIBRARY, reason="no libfaketime (Debian: faketime)")


class File:
    def __init__(self, folder):
        self.path = folder / "history.db"
        self.url = f"sqlite:{self.path}"

    def rows(self, query):
        with contextlib.closing(sqlite3.connect(self.path, timeout=90)) as db:
            found = db.execute(query).fetchall()
            db.commit()
            return found


class Server:
    url = SERVER

    def __init__(self):
        self.rows("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def rows(self, query):
        done = subprocess.run(["psql", "-X", "-A", "-t", "-q", "-F", "\t", "-v", "ON_ERROR_STOP=1", self.url, "-c", query],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return [tuple(int(v) if v.lstrip("-").isdigit() else v or None for v in line.split("\t")) for line in done.stdout.splitlines()]


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request, tmp_path):
    if request.param == "postgresql" and not SERVER:
        pytest.skip("no PostgreSQL server (tools/with-postgres starts one)")
    return Server() if request.param == "postgresql" else File(tmp_path)


@pytest.fixture
def run(start, kept):
    """Runs a daemon for a few samples; `error` is what its clock is off by, in seconds."""
    def one(error=0, samples=5, look=lambda d: None, **env):
        if error:
            env.update(LD_PRELOAD=LIBRARY, FAKETIME=f"{error:+d}s", ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
        d = start("--interval", "0.2", "--store", kept.url, source="sim:gpus=2,scenario=training", **env)
        eventually(lambda: d.json("/api/health")["store"]["written_total"] >= samples, explain=d.log)
        told = d.json("/api/health")["store"]
        look(d)
        d.stop()
        return told, d.log()
    return one


def count(kept, query):
    return kept.rows(query)[0][0] or 0


def moments(kept, begin, end):
    return count(kept, f"SELECT COUNT(DISTINCT recorded_at_ms) FROM gpu_stats WHERE recorded_at_ms >= {int(begin * 1000)} AND recorded_at_ms < {int(end * 1000)}")


@pytest.mark.parametrize("leap", LEAPS)
@pytest.mark.slow
def test_a_clock_that_leaps_and_is_set_right_deletes_and_loses_nothing(run, kept, leap):
    error, begin, expected, written = LEAPS[leap], time.time() - 60, 0, 0
    for off in (0, error, 0, error, 0):
        told, log = run(off)
        assert told["lost_total"] == 0, log
        side = "trusted" if not off or abs(error) < 60 else "ahead" if error > 3600 else "behind"
        if side != "trusted":
            assert told["clock"] == side and abs(told["clock_offset_seconds"] - error) < time.time() - begin, told  # it began a minute ago
            assert ("ahead of what the history has seen" if error > 0 else "behind what the history has seen") in log, log
            assert told["clock_wait_seconds"] > 5 * 3600
        expected += told["written_total"] if not off else 0
        written += told["written_total"] if off else 0
    assert moments(kept, begin, time.time() + (10 if abs(error) > 60 else 90)) >= expected + (written if abs(error) < 60 else 0)
    if abs(error) > 60:
        samples = moments(kept, begin + error, time.time() + error)
        summed = count(kept, f"SELECT SUM(samples) FROM hours WHERE (id & 4294967295) * 3600 >= {int(begin + error) - 3600} "
                             f"AND (id & 4294967295) * 3600 < {int(time.time() + error)}")
        # By its own time, what lies a month back is kept as minutes and hours.
        assert (samples >= written or error < -7 * DAY) and summed >= 2 * written / 2
    assert count(kept, "SELECT COUNT(*) FROM meta WHERE key LIKE 'horizon%' AND CAST(value AS BIGINT) > " + str(int(time.time() * 1000))) == 0


@pytest.mark.slow
def test_a_database_that_was_harmed_before_is_repaired_and_keeps_what_comes(run, kept):
    run()
    ahead = int((time.time() + 23 * DAY) * 1000)
    for name in ("gpu", "host"):
        kept.rows(f"INSERT INTO meta (key, value) VALUES ('horizon.{name}.0', '{ahead}')")
    kept.rows("DELETE FROM samples")
    kept.rows("DELETE FROM retention")
    begin = time.time() - 1
    told, log = run(samples=8)
    assert "repaired, samples are kept again" in log and "23d" in log
    assert told["lost_total"] == 0 and told["clock"] == "trusted"
    assert moments(kept, begin, time.time() + 10) >= told["written_total"]
    assert count(kept, f"SELECT COUNT(*) FROM meta WHERE key LIKE 'horizon%' AND CAST(value AS BIGINT) >= {ahead}") == 0
    _, log = run()
    assert "repaired" not in log


@pytest.mark.slow
def test_a_host_with_another_name_cleans_up_after_the_one_before(run, kept):
    """A host that is renamed, or retired: what it left is summed up and goes when it is time."""
    run(error=-30 * DAY, WHIRR_STORE_HOST="first")
    # Time was seen to pass in between.
    now = int(time.time() * 1000)
    kept.rows(f"UPDATE retention SET now_ms = {now}, believed_ms = {now}")
    gone = lambda d: eventually(lambda: count(kept, "SELECT COUNT(*) FROM gpu_stats WHERE host = 'first'") == 0, explain=d.log)
    told, _ = run(WHIRR_STORE_HOST="second", look=gone)
    assert told["state"] == "ok"
    assert count(kept, "SELECT COUNT(*) FROM gpu_stats WHERE host = 'second'") >= 2 * told["written_total"]
    assert count(kept, "SELECT SUM(samples) FROM gpu_stats_minute WHERE host = 'first'") >= 10
    assert count(kept, "SELECT COUNT(*) FROM pending p JOIN gpus g ON g.id = p.subject JOIN hosts h ON h.id = g.host_id "
                       "WHERE p.series = 0 AND h.name = 'first'") == 0
