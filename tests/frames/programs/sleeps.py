# SPDX-License-Identifier: Apache-2.0
import time

print("ready", flush=True)


def backoff():
    time.sleep(60)  # here: backoff


backoff()
