# SPDX-License-Identifier: Apache-2.0
import dataclasses

print("ready", flush=True)


@dataclasses.dataclass
class Box:
    x: int
    y: int
    tags: list


def boxes():
    return [dataclasses.asdict(Box(i, i + 1, [i] * 5)) for i in range(500)]  # here: boxes


while True:
    boxes()
