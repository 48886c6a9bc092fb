# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


def squares(count):
    return [n * n % 17 for n in range(count)]  # here: squares


while True:
    squares(50000)
