#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Our TOML reader against Python's: the same verdict and the same values on generated documents, whole and damaged.

usage: toml_oracle.py TOML_DUMP [COUNT [SEED]]
"""
import datetime
import json
import math
import random
import subprocess
import sys

try:
    import tomllib
except ImportError:
    print("skipped: this Python has no tomllib (3.11 has)")
    sys.exit(77)

KEYS = ["a", "b", "c", "d-e", "_f", "1", '"g h"', "'i.j'", '"\\u00e4"', '""']
SCALARS = ["1", "-7", "+0", "0xDEAD_beef", "0o17", "0b1_0", "1_000", "9223372036854775807", "-9223372036854775808", "1.5", "-0.0",
           "6.02e23", "1e-3", "1_0.2_5E+1_0", "inf", "-inf", "nan", "true", "false", "2026-01-02", "03:04:05", "03:04:05.123456",
           "2026-01-02T03:04:05Z", "2026-01-02 03:04:05.5+01:30", "2024-02-29T23:59:59.999999", "''", '""', "'C:\\x'", '"\\t\\"\\\\"',
           '"\\u00e9\\U0001F600"', '"""\n x \\\n   y"""', '"""a""b"""', "'''\n'q'\n'''", '"""\\\n  """', '""""q"""""', "'''''''"]
BAD = ["01", "1__0", "_1", "1.", ".5", "1e", "+0x1", "0x", "9223372036854775808", "2026-02-30", "25:00:00", "2026-1-1", "yes", "True",
       '"\\q"', '"a\nb"', "'a", '"""a', '"\\ud800"', "1 2", "", "2026-01-02T", "1979-05-27T07:32", "nan_", "--1", '"\x01"', "tru"]


def value(rng, depth, bad):
    kind = rng.random()
    if bad and kind < 0.03:
        return rng.choice(BAD)
    if depth < 3 and kind < 0.15:
        comma = rng.choice([",", " ,", ",\n  ", ", # c\n"])
        tail = rng.choice(["", ",", "\n"])
        items = [value(rng, depth + 1, bad) for _ in range(rng.randrange(4))]
        return "[" + rng.choice(["", " ", "\n"]) + comma.join(items) + (tail if items else "") + "]"
    if depth < 3 and kind < 0.28:
        pairs = [f"{key(rng)} = {value(rng, depth + 1, bad)}" for _ in range(rng.randrange(3))]
        return "{ " + ", ".join(pairs) + rng.choice([" }", "}"])
    return rng.choice(SCALARS)


def key(rng):
    parts = [rng.choice(KEYS) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    return rng.choice([".", " . "]).join(parts)


def document(rng):
    bad = rng.random() < 0.3
    lines = []
    for _ in range(rng.randrange(1, 14)):
        kind = rng.random()
        if kind < 0.2:
            lines.append(f"[{key(rng)}]" + rng.choice(["", " # c"]))
        elif kind < 0.33:
            lines.append(f"[[{key(rng)}]]")
        elif kind < 0.4:
            lines.append(rng.choice(["", "   ", "# \u00fc comment", "\t"]))
        else:
            lines.append(f"{key(rng)} = {value(rng, 0, bad)}" + rng.choice(["", "  # c", " "]))
    text = rng.choice(["\n", "\n", "\r\n"]).join(lines)
    data = text.encode()
    if rng.random() < 0.2 and data:
        place = rng.randrange(len(data))
        data = data[:place] + rng.choice([b"", b"=", b"[", b'"', b"\x00", b"\xff", b"\n", b"."]) + data[place + 1:]
    return data


def expected(v):
    if isinstance(v, dict):
        return {k: expected(x) for k, x in v.items()}
    if isinstance(v, list):
        return [expected(x) for x in v]
    if isinstance(v, bool):
        return {"type": "bool", "value": v}
    if isinstance(v, str):
        return {"type": "text", "value": v}
    if isinstance(v, int):
        return {"type": "integer", "value": str(v)}
    if isinstance(v, float):
        return {"type": "number", "value": v}
    kind, date, clock, offset = 0, (0, 0, 0), (0, 0, 0, 0), 0
    if isinstance(v, datetime.datetime):
        kind = 1 if v.tzinfo is None else 0
        offset = 0 if v.tzinfo is None else int(v.utcoffset().total_seconds() // 60)
    elif isinstance(v, datetime.date):
        kind = 2
    else:
        kind = 3
    if kind != 3:
        date = (v.year, v.month, v.day)
    if kind != 2:
        clock = (v.hour, v.minute, v.second, v.microsecond)
    return {"type": "time", "value": "%d %d-%d-%d %d:%d:%d.%06d %d" % (kind, *date, *clock, offset)}


def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        if a.get("type") == "number" and isinstance(a["value"], float) and b.get("type") == "number":
            x, y = a["value"], float(b["value"])
            return (math.isnan(x) and math.isnan(y)) or (x == y and math.copysign(1, x) == math.copysign(1, y))
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and a == b


def too_large_for_us(v):
    """Python's integers have no end; TOML wants 64 bits and an error beyond."""
    if isinstance(v, dict):
        return any(too_large_for_us(x) for x in v.values())
    if isinstance(v, list):
        return any(too_large_for_us(x) for x in v)
    return isinstance(v, int) and not isinstance(v, bool) and not -2**63 <= v < 2**63


def oracle(data):
    try:
        values = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError):
        return None
    return None if too_large_for_us(values) else expected(values)


def main():
    dump = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    documents = [document(rng) for _ in range(count)]
    sent = b"".join(b"%d\n" % len(d) + d for d in documents)
    answers = subprocess.run([dump], input=sent, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    assert len(answers) == count, f"{len(answers)} answers to {count} documents"
    accepted = wrong = 0
    for data, line in zip(documents, answers):
        theirs, ours = oracle(data), json.loads(line)
        refused = set(ours) == {"error", "line", "column"} and isinstance(ours["line"], int)
        accepted += theirs is not None
        if refused != (theirs is None) or (theirs is not None and not same(theirs, ours)):
            wrong += 1
            if wrong <= 3:
                print(f"--- document\n{data!r}\n--- tomllib\n{theirs}\n--- whirr\n{line}\n")
    print(f"{count} documents, {accepted} valid, {wrong} judged differently")
    # A generator that makes only valid or only broken documents would prove little.
    sys.exit(1 if wrong or not count / 10 < accepted < count * 0.9 else 0)


main()
