# SPDX-License-Identifier: Apache-2.0
import json

print("ready", flush=True)

TEXT = json.dumps([{"name": str(i), "values": list(range(20))} for i in range(300)])


def parse():
    return json.loads(TEXT)  # here: parse


while True:
    parse()
