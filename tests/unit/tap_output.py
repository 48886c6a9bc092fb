#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a unit test prints is TAP, a skip is a skip with its reason, and each test has a home that is gone afterwards.

usage: tap_output.py PROGRAM
"""
import os
import re
import subprocess
import sys

done = subprocess.run([sys.argv[1]], env=dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP"), capture_output=True, text=True)
lines = done.stdout.splitlines()
assert all(re.match(r"1\.\.3$|ok \d|not ok \d|#", line) for line in lines), lines
assert "ok 1 - passes_and_talks" in lines and "# and more" in lines, lines
assert "ok 2 - cannot_be_made # SKIP there is no such thing here" in lines, lines
assert "not ok 3 - fails" in lines and done.returncode == 1, lines
home = next(line.split()[2] for line in lines if line.startswith("# home "))
assert home.startswith("/tmp/whirr-unit-") and not os.path.exists(home), home
