#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Settings on a real GPU, of which none is changed: sudo tests/gpu/control_check.py build/whirr

1. Dry runs of `limit`, `clocks`, `fan` and `quiet` show the present value and a range that nvidia-smi agrees with, or say why not.
2. What is outside of the range is refused with the range.
3. As root, the limit is set to the value that it has already: that proves rights, call path, journal and way back. nvidia-smi sees the same limit before, meanwhile and
   afterwards, and no lease is left. Without the right to (containers without SYS_ADMIN), the refusal is in whirr's words.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

whirr = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/whirr")
failures = 0


def check(ok, text):
    global failures
    failures += not ok
    print("ok    " if ok else "FAILED", text)


def smi(field):
    done = subprocess.run(["nvidia-smi", "-i", "0", f"--query-gpu={field}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=60)
    text = done.stdout.strip()
    return float(text) if re.fullmatch(r"[\d.]+", text) else None


def main():
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "WHIRR_LEASE_DIR": f"{folder}/leases", "WHIRR_CONTROL_SOCKET": f"{folder}/none"}
        os.mkdir(f"{folder}/leases")

        def ask(*args):
            return subprocess.run([whirr, "--source", "nvml", "--gpu", "0", *args], env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)

        limit, least, most = smi("power.limit"), smi("power.min_limit"), smi("power.max_limit")
        if limit is None or least is None:
            done = ask("limit", "stock", "--dry-run")
            check(done.returncode == 1 and done.stderr, f"no limit to set here: {done.stderr.strip()}")
            return
        same = f"{limit:.0f}W"
        for words in (["limit", same], ["clocks", "stock"], ["fan", "auto"], ["quiet"]):
            done = ask(*words, "--dry-run", "--json")
            said = done.stdout if done.returncode == 0 else done.stderr.strip()
            check(done.returncode == 0 or "GPU 0" in said, f"dry run of {' '.join(words)}: {said}")
        change = json.loads(ask("limit", same, "--dry-run", "--json").stdout)["changes"][0]
        check(change["now"] == f"{limit:.0f} W" and change["least"] == f"{least:.0f} W" and change["most"] == f"{most:.0f} W", f"as nvidia-smi says: {change}")
        done = ask("limit", f"{most + 50:.0f}W")
        check(done.returncode == 1 and f"{least:.0f} W to {most:.0f} W" in done.stderr, f"out of range: {done.stderr.strip()}")
        check(smi("power.limit") == limit, "nothing was changed")

        done = ask("limit", same, "--", "nvidia-smi", "-i", "0", "--query-gpu=power.limit", "--format=csv,noheader,nounits")
        if done.returncode == 0:
            check(float(done.stdout) == limit, f"set to what it was: {done.stdout.strip()} W meanwhile")
        else:
            check("needs root" in done.stderr or "Insufficient Permissions" in done.stderr or "refuses" in done.stderr, f"not permitted here: {done.stderr.strip()}")
        check(smi("power.limit") == limit, "the limit is what it was")
        check(not [name for name in os.listdir(f"{folder}/leases") if name.endswith(".json")], "no lease is left")


main()
sys.exit(1 if failures else 0)
