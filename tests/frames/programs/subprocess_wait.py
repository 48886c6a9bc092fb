# SPDX-License-Identifier: Apache-2.0
import subprocess

print("ready", flush=True)


def convert():
    with subprocess.Popen(["sleep", "60"]) as program:
        program.wait()  # here: convert


convert()
