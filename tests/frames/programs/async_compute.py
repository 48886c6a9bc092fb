# SPDX-License-Identifier: Apache-2.0
import asyncio

print("ready", flush=True)


async def score(item):
    total = 0
    for i in range(20000):  # here: score
        total += item ^ i  # here: score
    return total


async def serve():
    while True:
        await score(7)
        await asyncio.sleep(0)


asyncio.run(serve())
