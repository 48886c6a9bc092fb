# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


def leaves(depth):
    if depth == 0:
        return sum(i * i for i in range(800))  # here: leaves
    return leaves(depth - 1)


while True:
    leaves(40)
