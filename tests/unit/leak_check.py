#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program that gives back all it took is not searched for leaks; one that loses a single byte is, and fails.

usage: leak_check.py PROGRAM
"""
import os
import subprocess
import sys

WATCHED = dict(os.environ, ASAN_OPTIONS="detect_leaks=1", LSAN_OPTIONS="log_threads=1")
SEARCHED = "Processing thread"

clean = subprocess.run(sys.argv[1:2], env=WATCHED, capture_output=True, text=True)
assert clean.returncode == 0 and SEARCHED not in clean.stderr, clean
leaky = subprocess.run([sys.argv[1], "lose"], env=WATCHED, capture_output=True, text=True)
assert leaky.returncode != 0 and SEARCHED in leaky.stderr and "1 byte(s) leaked in 1 allocation(s)" in leaky.stderr, leaky
