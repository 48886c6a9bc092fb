# SPDX-License-Identifier: Apache-2.0
import threading

print("ready", flush=True)


def count():
    n = 0
    while True:  # here: count
        n += 1  # here: count


for _ in range(3):
    threading.Thread(target=count, daemon=True).start()
count()
