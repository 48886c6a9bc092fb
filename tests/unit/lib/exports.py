#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the library for another system shows is what the one for Linux does, and nothing else: exports.py LIBRARY SYMBOLS"""
import pathlib
import re
import shutil
import subprocess
import sys

library, promised = sys.argv[1], {line.split()[0] for line in pathlib.Path(sys.argv[2]).read_text().splitlines()}


def shown_on_windows():
    facts = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", library], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^\t\[ *\d+\](?: \+base\[ *\d+\]\s+\w+)? (\w+)$", facts.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0], re.M))


def shown_on_macos():
    objdump = shutil.which("llvm-objdump")
    if not objdump:
        print("llvm-objdump is missing (tools/deps release)")
        sys.exit(77)
    facts = subprocess.run([objdump, "--macho", "--exports-trie", library], check=True, capture_output=True, text=True).stdout
    return {name.removeprefix("_") for name in re.findall(r"^0x\w+\s+(\S+)", facts, re.M)}


shown = shown_on_windows() if library.endswith(".dll") else shown_on_macos()
for name in sorted(promised - shown):
    print(f"missing: {name}")
for name in sorted(shown - promised):
    print(f"should not be exported: {name}")
sys.exit(shown != promised)
