# SPDX-License-Identifier: Apache-2.0
"""whirr why -v: where the programs on a GPU spend their CPU time."""
import re
import subprocess

import pytest
from waiting import eventually


def test_a_loop_in_python_is_named_and_a_sleeper_is_not(nvml):
    with subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"]) as busy, subprocess.Popen(["sleep", "1000"]) as asleep:
        try:
            script = "gpu NVIDIA H200\n  profile h200\n  gpu_util 6\n" + "".join(f"  process {p.pid} compute 17000 6 1\n" for p in (busy, asleep))

            def line():
                out = nvml(script, "why", "-v").out
                assert f"sleep (pid {asleep.pid}): " not in out
                found = re.search(rf"CPU +\S+ \(pid {busy.pid}\): (.*)", out)
                return found and found.group(1)

            said = eventually(line)
            if "can't be sampled" in said:
                pytest.skip(said)
            assert re.match(r"\d+% of its CPU time is Python code", said), said
            plain = nvml(script, "why").out
            assert not re.search(r"CPU +\S+ \(pid", plain) and re.search(rf"Where +\S+ \(pid {busy.pid}\): the top level of <string>:1, \d+% of", plain), plain
        finally:
            busy.kill()
            asleep.kill()
