# SPDX-License-Identifier: Apache-2.0
print("ready", flush=True)
CODE = compile("n = 0\nfor i in range(50000):\n    n += i * i\n", "<generated>", "exec")


def evaluate():
    exec(CODE, {})  # here: evaluate


while True:
    evaluate()
