# SPDX-License-Identifier: Apache-2.0
"""A model file for llama.cpp with random weights: it generates nonsense at the speed of a real model of its size."""
import array
import random
import struct

LAYERS, WIDTH, HEADS, INNER, CONTEXT = 6, 256, 8, 1024, 16384
BYTE, CONTROL, UNKNOWN, NORMAL = 6, 3, 2, 1  # types of tokens
# Bytes, blanks and letters, which encode any text.
TOKENS = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), *((f"<0x{n:02X}>", BYTE) for n in range(256)), *((c, NORMAL) for c in "▁abcdefghijklmnopqrstuvwxyz")]
U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5  # types of values


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def value(kind, v):
    return {U32: lambda: struct.pack("<I", v), I32: lambda: struct.pack("<i", v), F32: lambda: struct.pack("<f", v), STRING: lambda: text(v)}[kind]()


def values(kind, members):
    return struct.pack("<IQ", kind, len(members)) + b"".join(value(kind, m) for m in members)


def write_model(path):
    def single(key, kind, v):
        return text(key) + struct.pack("<I", kind) + value(kind, v)

    def several(key, kind, members):
        return text(key) + struct.pack("<I", ARRAY) + values(kind, members)
    about = [
        single("general.architecture", STRING, "llama"), single("general.name", STRING, "whirr-random"), single("llama.context_length", U32, CONTEXT),
        single("llama.embedding_length", U32, WIDTH), single("llama.block_count", U32, LAYERS), single("llama.feed_forward_length", U32, INNER),
        single("llama.attention.head_count", U32, HEADS), single("llama.attention.head_count_kv", U32, HEADS), single("llama.vocab_size", U32, len(TOKENS)),
        single("llama.rope.dimension_count", U32, WIDTH // HEADS), single("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        single("tokenizer.ggml.model", STRING, "llama"), several("tokenizer.ggml.tokens", STRING, [t for t, _ in TOKENS]),
        several("tokenizer.ggml.scores", F32, [0.0] * len(TOKENS)), several("tokenizer.ggml.token_type", I32, [k for _, k in TOKENS]),
        single("tokenizer.ggml.bos_token_id", U32, 1), single("tokenizer.ggml.eos_token_id", U32, 2), single("tokenizer.ggml.unknown_token_id", U32, 0),
    ]
    shapes = [("token_embd.weight", (WIDTH, len(TOKENS))), ("output_norm.weight", (WIDTH,)), ("output.weight", (WIDTH, len(TOKENS)))]
    for n in range(LAYERS):
        square = [(f"attn_{part}", (WIDTH, WIDTH)) for part in ("q", "k", "v", "output")]
        others = [("attn_norm", (WIDTH,)), ("ffn_norm", (WIDTH,)), ("ffn_gate", (WIDTH, INNER)), ("ffn_up", (WIDTH, INNER)), ("ffn_down", (INNER, WIDTH))]
        shapes += [(f"blk.{n}.{name}.weight", shape) for name, shape in square + others]
    rows, offset = [], 0
    for name, shape in shapes:
        rows.append(text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, offset))
        offset += size_of(shape) * 4  # a multiple of 32 with the sizes above
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(about)) + b"".join(about) + b"".join(rows)
    chance = random.Random(1)
    some = array.array("f", (chance.gauss(0, 0.05) for _ in range(65536)))
    with open(path, "wb") as out:
        out.write(head + b"\0" * (-len(head) % 32))
        for name, shape in shapes:
            count = size_of(shape)
            out.write(array.array("f", [1.0] * count).tobytes() if "norm" in name else (some.tobytes() * (count // len(some) + 1))[:count * 4])


def size_of(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)
