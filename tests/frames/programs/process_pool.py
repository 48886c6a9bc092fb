# SPDX-License-Identifier: Apache-2.0
import multiprocessing

print("ready", flush=True)


def tile(number):
    total = 0
    for i in range(200000):  # here: tile
        total += number ^ i  # here: tile
    return total


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        while True:
            pool.map(tile, range(8))
