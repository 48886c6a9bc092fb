# SPDX-License-Identifier: Apache-2.0
"""GET /api/why/lines: in which lines a Python program on a GPU spends its time, for people who control the daemon."""
import contextlib
import os
import re
import signal
import subprocess
import threading

import pytest
from waiting import eventually

from .test_security import with_role
from .test_why_cpu import on_gpu

LOOP = "def turn():\n    n = 0\n    while True:\n        n += 1\n\nprint('ready', flush=True)\nturn()\n"


@contextlib.contextmanager
def running(folder, text, **env):
    program = folder / "turn.py"
    program.write_text(text)
    with subprocess.Popen(["/usr/bin/python3", program], stdout=subprocess.PIPE, text=True, env={**os.environ, **env}) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def turning(folder):
    return running(folder, LOOP)


def test_a_daemon_names_the_line_of_a_program_on_its_gpu(nvml, tmp_path):
    with turning(tmp_path) as process:
        d = nvml(on_gpu(process.pid))
        may = with_role(d, "control")
        body = d.get(f"/api/why/lines?process={process.pid}", **may).json()
        told = body["processes"][0]
        first = told["lines"][0]
        assert told["pid"] == process.pid and told["lines_of"] == "main_thread" and told["looks"] > 3 and told["lines_missing"] is None, told
        assert first["function"] == "turn" and first["file"] == str(tmp_path / "turn.py") and first["line"] in (3, 4), first
        # Asked for as a part of the answer alone, nothing is looked at.
        assert d.get(f"/api/why?process={process.pid}").json()["processes"][0]["lines"] == []
        process.kill()
        process.wait()
        gone = d.get(f"/api/why/lines?process={process.pid}", **may)
        assert gone.status in (200, 404) and (gone.status == 404 or gone.json()["processes"][0]["lines_missing"] == "it has ended"), gone.json()


def test_one_program_at_a_time_and_a_client_that_leaves_frees_the_place(nvml, tmp_path):
    with turning(tmp_path) as process:
        d = nvml(on_gpu(process.pid))
        answers, may = [], with_role(d, "control")
        threads = [threading.Thread(target=lambda: answers.append(d.get(f"/api/why/lines?process={process.pid}", **may).status)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) in ([200, 200], [200, 409]) and 200 in answers, answers
        leaver = d.connection()
        leaver.request("GET", f"/api/why/lines?process={process.pid}", headers=may)
        leaver.close()
        assert eventually(lambda: d.get(f"/api/why/lines?process={process.pid}", **may).status == 200)


def test_only_who_controls_the_daemon_may_ask(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("[server]\nrequire_token = true\n")
    d = start("--config", str(config), sampled=False)
    assert d.get("/api/why/lines?process=1").status == 401
    assert d.get("/api/why/lines?process=1", **with_role(d, "read")).status == 403
    unknown = d.get("/api/why/lines?process=99999999", **with_role(d, "control"))
    assert unknown.status == 404 and "No process 99999999 is on a GPU." in unknown.body.decode(), unknown.body


def test_a_program_that_can_not_be_looked_into_says_why(nvml, start):
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            d = nvml(on_gpu(process.pid, os.getpid()))
            may = with_role(d, "control")
            told = d.get(f"/api/why/lines?process={process.pid}", **may).json()["processes"][0]
            assert told["lines"] == [] and told["lines_missing"] == "it is not a CPython program" and told["looks"] is None, told
            assert d.get("/api/why/lines", **may).status == 400 and d.get("/api/why/lines?process=no-such-name", **may).status == 404
        finally:
            process.kill()
    simulated = start()
    pid = simulated.get("/api/processes").json()["processes"][0]["pid"]
    assert simulated.get(f"/api/why/lines?process={pid}", **with_role(simulated, "control")).status == 404


TWO_PLACES = """import signal, socket

def read(n):
    while not moved:
        n += 1

def augment(n):
    here, there = socket.socketpair()
    while True:
        here.recv(1)

moved = []
signal.signal(signal.SIGUSR1, lambda *_: moved.append(1))
print('ready', flush=True)
read(0)
augment(0)
"""


@pytest.mark.slow
def test_the_history_keeps_where_a_program_was_when_its_limit_changed(nvml, tmp_path):
    """Only where that is asked for, and nothing of the program's text."""
    config = tmp_path / "whirr.toml"
    config.write_text("[limits]\nplaces = true\n")
    with running(tmp_path, TWO_PLACES) as process:
        d = nvml(on_gpu(process.pid), "--config", str(config), "--interval", "0.3", "--store", f"sqlite:{tmp_path}/history.db")

        def places():
            return [e for e in d.json("/api/history/events?since=-1h&kind=place")["events"] if e["kind"] == "place"]

        first = eventually(places)
        assert re.search(r"turn\.py.*: read\(\) in turn\.py:[45]", first[0]["text"]) and first[0]["data"]["function"] == "read" and first[0]["data"]["limit"] == "host_cpu", first
        process.send_signal(signal.SIGUSR1)
        both = eventually(lambda: (found := places()) and len(found) > 1 and found)
        assert re.search(r": waits for a socket in augment\(\) in turn\.py:10.*; before, read\(\), turn\.py:[45]$", both[-1]["text"]) and both[-1]["gpu_index"] == 0, both
    quiet = nvml(on_gpu(), "--store", f"sqlite:{tmp_path}/quiet.db")
    assert quiet.json("/api/history/events?since=-1h&kind=place")["events"] == []


@pytest.mark.slow
def test_the_history_keeps_where_a_rank_was_that_others_waited_for(nvml, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("[limits]\nplaces = true\n")
    job = {"TORCHELASTIC_RUN_ID": "ft", "WORLD_SIZE": "2"}
    with running(tmp_path, LOOP, **job, RANK="0") as late, running(tmp_path, LOOP, **job, RANK="1") as waits:
        gpus = on_gpu(late.pid) + ("gpu NVIDIA H200\n  profile h200\n  power 140000\n  gpu_util 100\n  gpm 1 100\n  gpm 2 1\n  gpm 10 0.5\n"
                                   f"  process {waits.pid} compute 17000 100 1\n")
        d = nvml(gpus, "--config", str(config), "--interval", "0.3", "--store", f"sqlite:{tmp_path}/history.db")

        def told():
            return [e["text"] for e in d.json("/api/history/events?since=-1h&kind=place")["events"] if e["kind"] == "place" and "rank" in e["text"]]

        for asked in ([], ["turn.py"]):
            why = eventually(lambda asked=asked: (text := " ".join(d.whirr("why", *asked).stdout.split())) and "while 1 waits" in text and text)
            assert re.search(r"Rank rank 0 is in turn\(\), turn\.py:[34], while 1 waits for it", why), why
        assert re.search(r"turn\.py \(pid \d+.*\): rank 0 is in turn\(\), turn\.py:[34], while 1 waits for it$", eventually(told, explain=lambda: d.whirr("ps").stdout + d.log())[0])
