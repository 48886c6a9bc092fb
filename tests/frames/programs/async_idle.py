# SPDX-License-Identifier: Apache-2.0
import asyncio

print("ready", flush=True)


async def serve():
    await asyncio.sleep(60)


def main():
    asyncio.run(serve())  # here: main


main()
