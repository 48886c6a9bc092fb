# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, 200 times for each database: nothing that was committed is lost, nothing is there twice, and every summary
is what a second way of counting makes of the rows.

What is killed is tests/fakes/history/keep_writing: the store's own threads, fed by the simulator, that say after each sample whether it is
committed. test_postgres.py does the same to the whole daemon, less often. WHIRR_KILLS says how often.
"""
import os
import pathlib
import random
import sqlite3
import subprocess
import tempfile
import threading

import pytest
from conftest import BUILD
from waiting import PATIENCE, any_moment

KILLS = int(os.environ.get("WHIRR_KILLS", "200"))
URL, CONTROL = os.environ.get("WHIRR_TEST_POSTGRES"), os.environ.get("WHIRR_TEST_PGCTL")
WRITER = BUILD / "tests" / "fakes" / "history" / "keep_writing"
BEGIN, STEP = 1772323200000, 5000  # as keep_writing has them
PROCESSES = 3  # of the scenario, on its two GPUs

pytestmark = pytest.mark.skipif(not WRITER.exists(), reason="keep_writing was not built")

RECOMPUTED = """
WITH raw AS (SELECT @GPU AS gpu, @MS / {ms} AS bucket, SUM({c}) AS s, MIN({c}) AS lo, MAX({c}) AS hi, COUNT(*) AS n
             FROM samples GROUP BY 1, 2),
     kept AS (SELECT id >> 32 AS gpu, id & 4294967295 AS bucket, {c}_sum AS s, COALESCE({c}_min, {c}_sum / samples) AS lo,
              COALESCE({c}_max, {c}_sum / samples) AS hi, samples AS n FROM {table})
SELECT COUNT(*) FROM raw LEFT JOIN kept ON kept.gpu = raw.gpu AND kept.bucket = raw.bucket
WHERE (kept.s IS DISTINCT FROM raw.s OR kept.lo IS DISTINCT FROM raw.lo OR kept.hi IS DISTINCT FROM raw.hi OR kept.n IS DISTINCT FROM raw.n)
  AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.series = 0 AND p.subject = raw.gpu
                  AND p.bucket * (CASE p.level WHEN 1 THEN 60000 ELSE 3600000 END) / {ms} = raw.bucket)
"""
# What must be nothing: sentence and query.
WRONG = {
    "a sample is there twice": f"SELECT COUNT(*) FROM samples WHERE (@MS - {BEGIN}) % {STEP} <> 0",
    "a sample of the host is there twice": f"SELECT COUNT(*) FROM host_samples WHERE (@MS - {BEGIN}) % {STEP} <> 0",
    "a sample is there in part": "SELECT COUNT(*) FROM (SELECT @MS FROM samples GROUP BY 1 HAVING COUNT(*) <> 2) AS t",
    "a sample has no host": "SELECT COUNT(*) FROM samples WHERE @MS NOT IN (SELECT @MS FROM host_samples)",
    "a process was counted otherwise in its minutes":
        "SELECT COUNT(*) FROM processes p WHERE samples <> (SELECT SUM(m.samples) FROM process_minutes m WHERE m.process_id = p.id)",
    "a process was counted otherwise than its card": "SELECT COUNT(*) FROM processes p WHERE samples <> (SELECT COUNT(*) FROM samples s "
        "WHERE @GPU = p.gpu_id AND @MS BETWEEN p.first_seen_ms AND p.last_seen_ms)",
    "energy was given out otherwise than the cards say": "SELECT COUNT(*) FROM (SELECT e.gpu_id FROM energy e GROUP BY 1 HAVING SUM(e.attributed_mj) <> "
        "(SELECT SUM(m.energy_mj) FROM process_minutes m JOIN processes p ON p.id = m.process_id WHERE p.gpu_id = e.gpu_id)) AS t",
    **{f"{table} of {c} differ from the rows": RECOMPUTED.format(ms=ms, table=table, c=c)
       for table, ms in (("minutes", 60000), ("hours", 3600000)) for c in ("power_mw", "util_permille", "temp_mdegc", "mem_used_bytes")},
}


class Sqlite:
    queue, server = "-", False

    def __init__(self, folder):
        self.file = folder / "kills.db"
        self.url = f"sqlite:{self.file}"

    def rows(self, sql):
        with sqlite3.connect(self.file) as db:
            return db.execute(sql.replace("@MS", "(id >> 14)").replace("@GPU", "(id & 16383)")).fetchall()

    def check_file(self):
        assert self.rows("PRAGMA integrity_check") == [("ok",)]


class Postgres:
    url, server = URL, True

    def __init__(self, folder):
        self.queue = str(folder / "queue.db")
        subprocess.run([CONTROL, "start"], timeout=PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.rows("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")

    def rows(self, sql):
        sql = sql.replace("@MS", "CAST(EXTRACT(EPOCH FROM recorded_at) * 1000 AS BIGINT)").replace("@GPU", "gpu_id")
        done = subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", URL, "-c", sql], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return [tuple(int(v) for v in line.split("|")) for line in done.stdout.split()]

    def check_file(self):
        pass


@pytest.fixture
def folder():
    """In memory where possible: a kill loses nothing that a disk would keep, and commits need not wait for one."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield pathlib.Path(name)


class Ledger:
    """What was said to be safe, over all runs."""

    def __init__(self):
        self.next, self.safe, self.turns_with_work = 0, set(), 0

    def take(self, text):
        sent, done = [], []
        for line in text.splitlines():
            word, _, number = line.partition(" ")
            if not number.isdigit():
                continue  # the last line may be cut
            number = int(number)
            if word == "sent":
                sent.append(number)
            elif word == "done":
                done.append(number)
            elif word == "kept":
                self.safe.add(number)
        if done:
            self.safe.update(n for n in sent if n <= done[-1])
            self.turns_with_work += 1
        if sent:
            self.next = max(self.next, sent[-1] + 1)


class Writer:
    """keep_writing, and what it has said so far."""

    def __init__(self, db, first):
        self.process = subprocess.Popen([WRITER, db.url, db.queue, str(first)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.said, self.news = b"", threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while piece := os.read(self.process.stdout.fileno(), 65536):
            with self.news:
                self.said += piece
                self.news.notify_all()

    def wait_for(self, enough, timeout=PATIENCE):
        with self.news:
            return self.news.wait_for(lambda: enough(self.said), timeout)

    def kill(self):
        if self.process.poll() is None or not self.process.stdout.closed:
            self.process.kill()
            self.process.wait(timeout=PATIENCE)
            self.reader.join(timeout=PATIENCE)
            self.process.stdout.close()
        return self.said.decode()


def control(what):
    subprocess.run([CONTROL, what], timeout=PATIENCE, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one_turn(db, ledger, chance, turn):
    writer = Writer(db, ledger.next)
    try:
        if turn % 5:  # while it works; else at any moment, also while it opens
            assert writer.wait_for(lambda said: b"done" in said or b"kept" in said), writer.said[-200:]
        if db.server and turn % 40 == 7:  # the server goes first
            control("kill")
            assert writer.wait_for(lambda said: said.count(b"kept") > 20), writer.said[-200:]
            if turn % 80 == 7:  # and is not back before whirr is
                ledger.take(writer.kill())
            control("start")
        any_moment(chance, 0.03)
    finally:
        ledger.take(writer.kill())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Sqlite, pytest.param(Postgres, marks=pytest.mark.skipif(not URL, reason="no PostgreSQL server (tools/with-postgres starts one)"))])
def test_kill_9_at_random_moments(kind, folder):
    db, ledger, chance = kind(folder), Ledger(), random.Random(5)
    for turn in range(KILLS):
        one_turn(db, ledger, chance, turn)
    # The last run ends in order, and writes what still waits in the queue. It begins an hour later, so that all others are summed up.
    last = ledger.next + 800
    done = subprocess.run([WRITER, db.url, db.queue, str(last), "5"], stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 0
    ledger.take(done.stdout)
    db.check_file()
    stored = {row[0] for row in db.rows(f"SELECT DISTINCT (@MS - {BEGIN}) / {STEP} FROM samples")}
    lost = sorted(ledger.safe - stored)
    assert not lost, f"{len(lost)} samples that were committed are not there: {lost[:10]}"
    assert ledger.turns_with_work > KILLS * 0.6 and len(stored) > KILLS
    for sentence, sql in WRONG.items():
        wrong = db.rows(sql)[0][0]
        assert wrong == 0, f"{sentence}: {wrong}"
    assert db.rows("SELECT COUNT(*) FROM minutes")[0][0] > 20 and db.rows("SELECT COUNT(*) FROM processes")[0][0] == PROCESSES
    print(f"{KILLS} kills, {len(stored)} samples stored, {len(ledger.safe)} of them told to be safe")
