# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


class Frame:
    def __init__(self, rows):
        self.rows = rows

    def iterrows(self):
        for number, row in enumerate(self.rows):
            yield number, dict(row)


def clean(frame):
    total = 0
    for number, row in frame.iterrows():
        for key in row:  # here: clean
            total += len(key) * number % 11  # here: clean
    return total


ROWS = Frame([{str(i): i for i in range(60)}] * 200)
while True:
    clean(ROWS)
