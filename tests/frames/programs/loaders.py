# SPDX-License-Identifier: Apache-2.0
import multiprocessing

print("ready", flush=True)


def transform(number):
    total = 0
    for i in range(30000):  # here: transform
        total += number * i % 13  # here: transform
    return total


def load(queue):
    while True:
        queue.put(transform(5))


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    results = context.Queue(2)
    for _ in range(2):
        context.Process(target=load, args=(results,), daemon=True).start()
    while True:
        results.get()
