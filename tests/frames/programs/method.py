# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


class Dataset:
    def __getitem__(self, index):
        return self.decode(index)

    def decode(self, index):
        text = ""
        for i in range(2000):  # here: decode
            text += chr(97 + (i + index) % 26)  # here: decode
        return text


DATA = Dataset()
while True:
    DATA[3]
