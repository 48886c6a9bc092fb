# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


def log(step):
    text = ""
    for i in range(500):  # here: log
        text = "%s %d %.3f" % (text[-20:], i, step / (i + 1))  # here: log
    return text


def train():
    step = 0
    while True:
        step += 1
        log(step)


train()
