# SPDX-License-Identifier: Apache-2.0
import queue
import threading

print("ready", flush=True)

BATCHES = queue.Queue(1)


def produce():
    while True:
        BATCHES.put(collate(30000))


def collate(count):
    batch = []
    for i in range(count):  # here: collate
        batch.append(i % 19)  # here: collate
    return batch


threading.Thread(target=produce, daemon=True).start()
while True:
    BATCHES.get()
