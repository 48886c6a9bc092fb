# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


def numbers():
    n = 0
    while True:
        for i in range(2000):  # here: numbers
            n = (n * 3 + i) % 1000003  # here: numbers
        yield n


def doubled(source):
    for n in source:
        yield 2 * n


for _ in doubled(numbers()):
    pass
