# SPDX-License-Identifier: Apache-2.0
import pickle

print("ready", flush=True)

STATE = {i: [str(i)] * 20 for i in range(3000)}


def save(state):
    return pickle.dumps(state)  # here: save


while True:
    save(STATE)
