# SPDX-License-Identifier: Apache-2.0
import copy

print("ready", flush=True)

CONFIG = {str(i): {"values": list(range(20))} for i in range(200)}


def snapshot():
    return copy.deepcopy(CONFIG)  # here: snapshot


while True:
    snapshot()
