# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)
ITEMS = [(i * 7919) % 10007 for i in range(5000)]


def rank(item):
    total = 0
    for i in range(8):  # here: rank
        total += (item + i) % 5  # here: rank
    return total


def order():
    return sorted(ITEMS, key=rank)


while True:
    order()
