# SPDX-License-Identifier: Apache-2.0
import functools

print("ready", flush=True)


def timed(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


@timed
def blur(width):
    total = 0
    for x in range(width):  # here: blur
        total += x * x % 3  # here: blur
    return total


while True:
    blur(20000)
