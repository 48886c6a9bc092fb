# SPDX-License-Identifier: Apache-2.0
"""Writes recordings (src/source/replay/codec.h) from plain dictionaries: the door through which a made machine reaches whirr.

A sample is {"at": seconds, "host": {field: reading}, "gpus": [gpu], "events": [...]}; a gpu has "id", "state", "metrics", "properties",
"processes". A reading is an int, or a word of STATES that says why there is none; fields that are left out were not read.
Only the names of fields come from the program (src/model/*.def): nothing of its judgement does.
"""
import pathlib
import re
import struct
import zlib

MODEL = pathlib.Path(__file__).resolve().parents[2] / "src" / "model"
STATES = {"unread": 0, "unsupported": 2, "denied": 3, "asleep": 4, "failed": 5, "pending": 6}
GPU_STATES = {"ok": 0, "asleep": 1, "error": 2, "lost": 3}
TYPES = {"compute": 1, "graphics": 2, "both": 3}
GROUP_ALL = 31  # every group of metrics was read


def fields(name, macro):
    text = re.sub(r"/\*.*?\*/", "", (MODEL / name).read_text(), flags=re.S)
    return re.findall(rf"^{macro}\((\w+),", text, flags=re.M)


METRICS = fields("metrics.def", "METRIC")
PROPERTIES = fields("properties.def", "PROPERTY")
PROCESS_METRICS = fields("process_metrics.def", "PROCESS_METRIC")
HOST = fields("host_metrics.def", "HOST_METRIC")
EVIDENCE = fields("host_evidence.def", "EVIDENCE")
COLUMN = {id(names): {name: i for i, name in enumerate(names)} for names in (METRICS, PROPERTIES, PROCESS_METRICS, HOST, EVIDENCE)}


def varint(out, value):
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def signed(out, value):
    varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def text(out, value):
    raw = value.encode()
    varint(out, len(raw))
    out += raw


def state_of(reading):
    return 1 if isinstance(reading, int) else STATES[reading]


def readings(out, names, now, before):
    """The columns that changed: how many were skipped, then the difference, with a bit for a changed state."""
    column = COLUMN[id(names)]
    unknown = now.keys() - column.keys()
    if unknown:
        raise KeyError(f"the program has no reading {sorted(unknown)}")
    changed = sorted(column[name] for name in now.keys() | before.keys() if now.get(name, "unread") != before.get(name, "unread"))
    varint(out, len(changed))
    following = 0
    for i in changed:
        varint(out, i - following)
        following = i + 1
        new, old = now.get(names[i], "unread"), before.get(names[i], "unread")
        difference = (new if isinstance(new, int) else 0) - (old if isinstance(old, int) else 0)
        zigzag = difference << 1 if difference >= 0 else (-difference << 1) - 1
        if state_of(new) == state_of(old):
            varint(out, zigzag << 1)
        else:
            varint(out, zigzag << 1 | 1)
            varint(out, state_of(new))


def texts(out, now, before):
    mask = sum(1 << i for i, (a, b) in enumerate(zip(now, before)) if a != b)
    varint(out, mask)
    for i, value in enumerate(now):
        if mask >> i & 1:
            text(out, value)


def process(out, p, old):
    """The process against the same one before; {} for a new one."""
    identity = lambda q: (q.get("start_key", 0), q.get("started_at_ms", 0), q.get("visible", 0), q.get("type", ""))
    named = lambda q: [q.get(key, "") for key in ("name", "user", "command", "container", "model")]
    mask = 0
    mask |= 1 if identity(p) != identity(old) else 0
    mask |= 2 if named(p) != named(old) else 0
    mask |= 4 if p.get("metrics", {}) != old.get("metrics", {}) else 0
    mask |= 32 if p.get("title", "") != old.get("title", "") else 0
    mask |= 128 if p.get("job", "") != old.get("job", "") else 0
    mask |= 256 if (p.get("rank"), p.get("world")) != (old.get("rank"), old.get("world")) else 0
    mask |= 1024 if p.get("evidence") != old.get("evidence") else 0
    varint(out, mask)
    if mask & 1:
        signed(out, p.get("start_key", 0) - old.get("start_key", 0))
        signed(out, p.get("started_at_ms", 0) - old.get("started_at_ms", 0))
        varint(out, p.get("visible", 0))
        varint(out, TYPES[p["type"]])
        varint(out, 0)  # of the whole GPU, not of an instance
    if mask & 2:
        texts(out, named(p), named(old))
    if mask & 4:
        readings(out, PROCESS_METRICS, p.get("metrics", {}), old.get("metrics", {}))
    if mask & 32:
        texts(out, [p.get("title", ""), ""], [old.get("title", ""), ""])
        varint(out, 0)
    if mask & 128:
        text(out, p.get("job", ""))
    if mask & 256:
        for key in ("rank", "world"):
            varint(out, p[key] + 1 if p.get(key) is not None else 0)
    if mask & 1024:
        evidence(out, p.get("evidence"), old.get("evidence") or {})


def evidence(out, now, old):
    varint(out, 1 if now is not None else 0)
    if now is None:
        return
    varint(out, 1)  # it was read
    signed(out, now["looks"] - old.get("looks", 0))
    signed(out, now["over_ms"] - old.get("over_ms", 0))
    readings(out, EVIDENCE, now["metrics"], old.get("metrics", {}))
    words = lambda e: [e.get(key, "") for key in ("busiest_thread", "busiest_child", "compiler", "mount", "code", "peer")]
    texts(out, words(now), words(old))


def gpu(out, g, old):
    mask = 0
    mask |= 1 if g["id"] != old.get("id") else 0
    mask |= 2 if (g["index"], g["state"], g.get("error", "")) != (old.get("index"), old.get("state"), old.get("error", "")) else 0
    mask |= 4 if g["metrics"] != old.get("metrics", {}) else 0
    mask |= 8 if g["properties"] != old.get("properties", {}) else 0
    mask |= 16 if (g["processes_state"], g["hidden"]) != (old.get("processes_state", "unread"), old.get("hidden", 0)) else 0
    mask |= 32 if g["processes"] != old.get("processes", []) else 0
    varint(out, mask)
    if mask & 1:
        for key in ("uuid", "pci_address", "name", "vendor"):
            text(out, g["id"][key])
    if mask & 2:
        varint(out, g["index"])
        varint(out, 0)  # not simulated by whirr
        varint(out, GPU_STATES[g["state"]])
        text(out, g["source"])
        text(out, g.get("error", ""))
        text(out, "")
    if mask & 4:
        readings(out, METRICS, g["metrics"], old.get("metrics", {}))
    if mask & 8:
        before = old.get("properties", {})
        changed = [name for name in PROPERTIES if g["properties"].get(name) != before.get(name)]
        varint(out, len(changed))
        for name in changed:
            value = g["properties"].get(name)
            varint(out, COLUMN[id(PROPERTIES)][name])
            varint(out, 1 if value is not None else 0)
            text(out, value or "")
    if mask & 16:
        varint(out, 1 if g["processes_state"] == "ok" else STATES[g["processes_state"]])
        varint(out, 0)
        varint(out, g["hidden"])
    if mask & 32:
        was = {(p["pid"], p.get("start_key", 0)): i for i, p in enumerate(old.get("processes", []))}
        varint(out, len(g["processes"]))
        for p in g["processes"]:
            at = was.get((p["pid"], p.get("start_key", 0)))
            varint(out, 0 if at is None else at + 1)
            if at is None:
                signed(out, p["pid"])
            process(out, p, {} if at is None else old["processes"][at])


def snapshot(sample, before, number, epoch_ms):
    out = bytearray()
    varint(out, len(sample["gpus"]))
    at_ms = epoch_ms + round(sample["at"] * 1000)
    before_ms = epoch_ms + round(before["at"] * 1000) if before else 0
    signed(out, 0)                                                   # sequence: one more
    signed(out, at_ms - before_ms)                                   # wall clock
    signed(out, 0 if before else -(at_ms - round(sample["at"] * 1000)) * 10**6)  # monotonic clock: runs alike
    host, old_host = sample["host"], before["host"] if before else {}
    mask = (0 if before else 1 | 4) | (2 if host != old_host or not before else 0) | (16 if sample.get("events") else 0)
    varint(out, mask)
    if mask & 1:
        varint(out, GROUP_ALL)
        varint(out, struct.unpack("<Q", struct.pack("<d", sample["interval"]))[0])
    if mask & 2:
        texts(out, ["host"], ["host" if before else ""])
        readings(out, HOST, host, old_host)
    if mask & 4:
        for word in (sample["driver"], "", "", ""):
            text(out, word)
    if mask & 16:
        varint(out, len(sample["events"]))
        for event in sample["events"]:
            varint(out, 0)  # a fault that the driver reports
            varint(out, event["gpu"] + 1)
            signed(out, event["code"])
            signed(out, 0)
            text(out, event["text"])
    for i, g in enumerate(sample["gpus"]):
        gpu(out, g, before["gpus"][i] if before and i < len(before["gpus"]) else {})
    return out


def frame(kind, payload):
    head = bytearray(kind)
    varint(head, len(payload))
    head += payload
    return bytes(head) + struct.pack("<I", zlib.crc32(head))


def write(path, samples, epoch_ms):
    names = bytearray()
    for table in (METRICS, PROPERTIES, PROCESS_METRICS, HOST, EVIDENCE):
        varint(names, len(table))
        for name in table:
            text(names, name)
    parts = [b"whirr-recording 1\n", frame(b"S", names)]
    before = None
    for number, sample in enumerate(samples):
        parts.append(frame(b"D" if before else b"K", snapshot(sample, before, number, epoch_ms)))
        before = sample
    pathlib.Path(path).write_bytes(b"".join(parts))
