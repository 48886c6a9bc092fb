# SPDX-License-Identifier: Apache-2.0
import threading

print("ready", flush=True)

LOCK = threading.Lock()
STARTED = threading.Event()


def rebuild_index():
    with LOCK:
        STARTED.set()
        n = 0
        while True:  # here: rebuild_index
            n += 1  # here: rebuild_index


threading.Thread(target=rebuild_index, daemon=True).start()
STARTED.wait()
with LOCK:
    pass
