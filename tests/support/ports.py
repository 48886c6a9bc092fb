# SPDX-License-Identifier: Apache-2.0
"""Ports for servers that can't choose their own. A port that the kernel chose and a test closed again is not safe: the kernel gives it to the
next process that asks."""
import pathlib
import random
import socket

_held = []


def free_port():
    """A port of 127.0.0.1 that no other test gets: below the range of the kernel, and reserved among all tests of this network namespace while this
    process lives, by an abstract socket name."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10240, max(lowest, 20480))
        name, probe = socket.socket(socket.AF_UNIX), socket.socket()
        with probe:
            try:
                name.bind(f"\0whirr-test-port-{port}")
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
            except OSError:
                name.close()
                continue
        _held.append(name)
        return port
