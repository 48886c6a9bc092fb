#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What libwhirr exports is what it promised: abi.py LIBRARY SYMBOLS. A symbol may be added (with the version that it came in), none may go."""
import pathlib
import re
import subprocess
import sys

library, promised = sys.argv[1], pathlib.Path(sys.argv[2])
facts = subprocess.run(["objdump", "-p", "-T", library], check=True, capture_output=True, text=True).stdout
assert "SONAME               libwhirr.so.1\n" in facts, "the soname changed: every program that links it has to be built again"
exported = {f"{name} {version}" for section, version, name in re.findall(r"^[0-9a-f]+ g\s+\S+\s+(\.\w+|\*ABS\*)\s+[0-9a-f]+\s+(WHIRR_\w+)\s+(whirr_\w+)$", facts, re.M)}
others = [line for line in re.findall(r"^[0-9a-f]+ [gw]\s+\S+\s+\.\w+\s+[0-9a-f]+\s+.*$", facts, re.M)
          if "WHIRR_" not in line and not re.search(r"(asan|ubsan|tsan|sanitizer|interceptor|_init|_fini)", line)]
expected = set(promised.read_text().split("\n")) - {""}
for name in sorted(expected - exported):
    print(f"gone: {name}")
for name in sorted(exported - expected):
    print(f"new: {name} (add it to {promised.name})")
for line in others:
    print(f"should not be exported: {line}")
sys.exit(expected != exported or bool(others))
