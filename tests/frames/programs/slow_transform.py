# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


def augment(image):
    for y in range(len(image)):  # here: augment
        image[y] = (image[y] * 31 + y) % 255  # here: augment


def epoch():
    while True:
        augment([1] * 3000)


epoch()
