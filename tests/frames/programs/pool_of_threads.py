# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import socket

print("ready", flush=True)
A, B = socket.socketpair()


def download():
    return A.recv(10)  # here: download


with concurrent.futures.ThreadPoolExecutor(1) as pool:
    pool.submit(download).result()
