# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server for each process of pytest -n, if WHIRR_WITH_POSTGRES is set."""
import atexit
import os
import subprocess

from isolation import ROOT

NAMES = ("WHIRR_TEST_POSTGRES", "WHIRR_TEST_PGCTL", "WHIRR_TEST_PGSMALL")
# Prints the address of the server, and keeps it until stdin is closed, at the latest by the end of this process.
HOLD = "for name in {}; do eval echo \"$name=\\${{$name-}}\"; done; exec >/dev/null; read -r _".format(" ".join(NAMES))


def serve():
    """Starts one, and returns the variables that lead to it."""
    server = subprocess.Popen([ROOT / "tools" / "with-postgres", "sh", "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lines = [server.stdout.readline().rstrip("\n").partition("=") for _ in NAMES]

    def stop():
        server.stdin.close()
        server.wait(60)

    atexit.register(stop)
    return {name: value for name, _, value in lines if value}


def start():
    if os.environ.get("WHIRR_WITH_POSTGRES") and os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ.update(serve())
