# SPDX-License-Identifier: Apache-2.0
import socket

print("ready", flush=True)
A, B = socket.socketpair()


def fetch(connection):
    return connection.recv(100)  # here: fetch


fetch(A)
