# SPDX-License-Identifier: Apache-2.0
"""The tutorial: each of its commands shows something worth seeing, in its order."""
import re
import shlex

import pytest
from daemons import Daemon
from isolation import ROOT, run_whirr
from waiting import eventually

# The command as the page has it, how it ends, and what must be in what it shows.
SHOWS = {
    "whirr --source sim": (0, r"SIMULATED +4 GPUs[\s\S]*train\.py"),
    "whirr ps --source sim": (0, r"PID +USER[\s\S]*alice"),
    "whirr status --full --source sim": (0, r"RTX 4090[\s\S]*°C"),
    "whirr top --source sim": (0, r"PROCESS[\s\S]*train\.py"),
    "whirr why --source sim:scenario=overheat": (0, r"thermal throttling[\s\S]*Do +"),
    "whirr why -v --source sim:scenario=overheat": (0, r"thermal throttling[\s\S]*likely"),
    "whirr health --source sim:scenario=fan-stopped": (2, r"failing[\s\S]*what to do"),
    "whirr why train.py --source sim:scenario=late-rank,gpus=4": (0, r"train\.py[\s\S]*Limit"),
    "whirr fit 12GiB --source sim": (0, r"It fits[\s\S]*CUDA_VISIBLE_DEVICES="),
    "whirr fit 24GiB --split even --source sim": (0, r"It fits[\s\S]*GPU 0 takes 12\.0 GiB[\s\S]*GPU 1 takes 12\.0 GiB"),
    "whirr fit 100GiB --source sim": (1, r"It does not fit: \S+ GiB are missing"),
    "whirr sim day day.db": (0, r"SIMULATED: 14\d\d samples of 24 hours"),
    "whirr history power --store day.db --since -1d": (0, r"SIMULATED[\s\S]*power W[\s\S]*┤"),
    "whirr report --store day.db": (0, r"4 GPUs worked for 3d[\s\S]*kWh[\s\S]*alice"),
    "whirr why --at -3h --store day.db": (0, r"GPU 1 was busy: train\.py"),
    "whirr alert": (0, r"(pending|firing) +heat_limit"),
    "whirr history power temp": (0, r"power W[\s\S]*┤"),
    "whirr top": (0, r"throttling[\s\S]*PROCESS"),
}


def commands():
    page = (ROOT / "docs/tutorial.md").read_text()
    for block in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S):
        yield from (line.split("#")[0].strip() for line in block.splitlines())


def once(look, explain):
    done = look()
    assert done, explain()
    return done


@pytest.mark.slow
def test_every_command_of_the_tutorial_shows_something(tmp_path):
    daemon, seen = None, []
    try:
        for command in commands():
            args = [f"{tmp_path}/{word}" if word == "day.db" else word for word in shlex.split(command)[1:]]
            if args[0] == "serve":
                daemon = Daemon(tmp_path, [*args[1:], "--interval", "0.5", "--store", f"sqlite:{tmp_path}/h.db"], {})
                daemon.wait_stored(10)
                continue
            if args[0] == "top":
                args += ["--once", "--size", "120x40"]
            if daemon:
                args = ["--socket", daemon.sock, *args]
            code, shown = SHOWS[command]
            again = eventually if args[0] != "sim" else once
            done = again(lambda args=args, shown=shown: re.search(shown, (done := run_whirr(*args)).stdout) and done,
                              explain=lambda args=args: f"{args}: {run_whirr(*args)}")
            assert done.returncode == code, command
            seen.append(command)
    finally:
        if daemon:
            daemon.stop()
    assert seen == list(SHOWS)
