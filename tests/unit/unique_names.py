#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No two files define the same global name: a static library would silently give one of them to both.

usage: unique_names.py LIBRARY
"""
import collections
import subprocess
import sys

where = collections.defaultdict(set)
for line in subprocess.run(["nm", "-A", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
    place, kind, name = line.rsplit(maxsplit=2)
    if kind in "TDBRC" and not name.startswith("__"):
        where[name].add(place.split(":")[1])
twice = {name: sorted(files) for name, files in where.items() if len(files) > 1}
for name, files in sorted(twice.items()):
    print(f"{name} is defined in {' and '.join(files)}")
if len(where) < 100:
    sys.exit(f"only {len(where)} names were found in {sys.argv[1]}: is this the library?")
sys.exit(1 if twice else 0)
