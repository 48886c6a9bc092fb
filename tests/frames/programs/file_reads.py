# SPDX-License-Identifier: Apache-2.0
import tempfile

print("ready", flush=True)


def read_samples(file):
    file.seek(0)
    while file.read(1 << 18):  # here: read_samples
        pass


with tempfile.TemporaryFile() as samples:
    samples.write(bytes(16 << 20))
    while True:
        read_samples(samples)
