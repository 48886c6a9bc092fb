# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server for each process of pytest -n, if WHIRR_WITH_POSTGRES is set."""
import atexit
import os
import subprocess

from isolation import ROOT

NAMES = ("WHIRR_TEST_POSTGRES", "WHIRR_TEST_PGCTL", "WHIRR_TEST_PGSMALL")
# Prints the address of the server, and keeps it until stdin is closed, at the latest by the end of this process.
HOLD = "for name in {}; do eval echo \"$name=\\${{$name-}}\"; done; exec >/dev/null; read -r _".format(" ".join(NAMES))


def start():
    if not os.environ.get("WHIRR_WITH_POSTGRES") or not os.environ.get("PYTEST_XDIST_WORKER"):
        return
    server = subprocess.Popen([ROOT / "tools" / "with-postgres", "sh", "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in NAMES:
        name, _, value = server.stdout.readline().rstrip("\n").partition("=")
        if value:
            os.environ[name] = value

    def stop():
        server.stdin.close()
        server.wait(60)

    atexit.register(stop)
