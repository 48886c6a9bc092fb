# SPDX-License-Identifier: Apache-2.0
"""Machines with a known cause (tests/truth/): whirr's first answer names it, and every surface raises the same alarm."""
import json
import random
import re
import subprocess
import sys

import pytest

from isolation import ROOT, WHIRR

TRUTH = ROOT / "tools" / "truth"


def truth(*words):
    done = subprocess.run([sys.executable, str(TRUTH), *map(str, words), "--binary", str(WHIRR)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("which", ["known", "new"])
def test_the_first_answer_is_the_cause_that_was_put_in(which):
    seed = 1000 if which == "known" else random.randrange(10**6, 10**9)
    got = json.loads(truth(seed, 24, "--json"))
    why = f"see them: tools/truth {seed} 24\n{got}"
    assert got["can_be_known"] >= 16, why
    assert got["right"] >= 0.85 * got["can_be_known"], why
    assert got["false_alarm"] <= (which == "new"), why
    assert got["contradictions"] == 0, why


def test_a_seed_is_one_machine_for_ever(tmp_path):
    sys.path.insert(0, str(ROOT / "tests" / "truth"))
    import machines
    import recording
    for name in ("a", "b"):
        recording.write(tmp_path / name, machines.Machine(7).samples(), machines.EPOCH_MS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_error_of_the_past_is_told_with_its_time(tmp_path):
    sys.path.insert(0, str(ROOT / "tests" / "truth"))
    import machines
    import recording
    machine = machines.Machine(7)
    samples = machine.samples()
    samples[-30]["events"] = [{"gpu": 0, "code": 119, "text": "Xid 119"}]
    recording.write(tmp_path / "x.whirr", samples, machines.EPOCH_MS)
    said = subprocess.run([str(WHIRR), "--source", f"replay:{tmp_path / 'x.whirr'},at={samples[-1]['at']}", "why"], capture_output=True, text=True).stdout
    told = re.search(r"XID 119 (?:(\d+)m )?(\d+)s ago", said)
    assert told, said
    ago = samples[-1]["at"] - samples[-30]["at"]
    assert abs(60 * int(told.group(1) or 0) + int(told.group(2)) - ago) <= machine.interval + 2, said
