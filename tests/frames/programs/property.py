# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)


class Mesh:
    def __init__(self):
        self.points = list(range(3000))

    @property
    def bounds(self):
        low = high = 0
        for p in self.points:  # here: bounds
            low = p if p < low else low  # here: bounds
            high = p if p > high else high  # here: bounds
        return low, high


def render(mesh):
    while True:
        mesh.bounds


render(Mesh())
