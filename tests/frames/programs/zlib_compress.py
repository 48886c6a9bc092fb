# SPDX-License-Identifier: Apache-2.0
import os
import zlib

print("ready", flush=True)

BLOCK = os.urandom(1 << 20)


def pack(block):
    return zlib.compress(block, 9)  # here: pack


while True:
    pack(BLOCK)
