# SPDX-License-Identifier: Apache-2.0
"""Ports for servers that must be told theirs. Whoever picks a port of the kernel's choice and gives it back may find it taken a moment later: the
kernel gives it to the next one who asks, in this process or beside it."""
import pathlib
import random
import socket

_held = []


def free_port():
    """A port of 127.0.0.1 that nobody else is given: below those that the kernel gives away, and held among all tests of this network namespace
    for as long as this process lives, by a name in it."""
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
