# SPDX-License-Identifier: Apache-2.0
import re

print("ready", flush=True)

WORDS = re.compile(r"(a+)+b|[a-z]+@[a-z]+\.org")
TEXT = "aaaaaaaaaaaaaa c someone@example.org " * 20


def tokens(text):
    return WORDS.findall(text)  # here: tokens


while True:
    tokens(TEXT)
