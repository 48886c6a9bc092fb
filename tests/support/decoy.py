# SPDX-License-Identifier: Apache-2.0
"""A decoy on the socket of the system's daemon while the tests run: no test may connect to it.

It stands in a mount namespace of the test process, so the host's own /run is neither changed nor reached.
"""
import ctypes
import os
import pathlib
import socket
import subprocess
import tempfile
import threading

SOCKET = "/run/whirr/whirr.sock"
CLONE_NEWNS = 0x00020000
# A copy of /run with our own directory "whirr".
OWN_RUN = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/whirr"
for entry in /run/* /run/.[!.]*; do
    name=${entry#/run/}
    if [ "$name" = whirr ]; then continue
    elif [ -L "$entry" ]; then cp -P "$entry" "$1/$name"
    elif [ -d "$entry" ]; then mkdir "$1/$name" && mount --rbind "$entry" "$1/$name"
    elif [ -e "$entry" ]; then : >"$1/$name" && mount --bind "$entry" "$1/$name"
    fi
done
mount --move "$1" /run
"""


class Decoy:
    def __init__(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(SOCKET)
        os.chmod(SOCKET, 0o666)
        self.listener.listen(64)
        self.asked = []
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                connection.settimeout(2)
                try:
                    self.asked.append(connection.recv(4096).split(b"\r\n")[0].decode(errors="replace"))
                except OSError as error:
                    self.asked.append(str(error))

    def taken(self):
        """The requests since the last call."""
        asked, self.asked = self.asked, []
        return asked


def start():
    """None where it is impossible: in a container without mounts, or as an ordinary user."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        return None
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["sh", "-c", OWN_RUN, "sh", folder], capture_output=True, text=True)
    return Decoy() if done.returncode == 0 else None
