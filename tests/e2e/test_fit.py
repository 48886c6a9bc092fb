# SPDX-License-Identifier: Apache-2.0
"""whirr fit: sizes, models and workers, on simulated and fake machines."""
import json
import os
import struct
import subprocess

import pytest
from guard_machine import FAST, Server, machine, needs_fakes, wait_for  # noqa: F401

GIB = 1024
KEYS = {"fits", "fits_now", "gpus", "reason", "missing_mb", "would_evict", "evictions", "size_mb", "count", "placements", "model"}


@pytest.fixture
def fit(whirr):
    def ask(*args, source="sim:scenario=idle,gpus=2", code=None):
        done = whirr("--source", source, "fit", *map(str, args), "--json")
        body = json.loads(done.out) if done.out else None
        assert done.code == (code if code is not None else 0 if body["fits"] else 1), done.err
        return body
    return ask


def available(whirr, source):
    return {g["gpu_index"]: g["available_mb"] for g in json.loads(whirr("--source", source, "fit", "--json").out)["gpus"]}


# ---- sizes ----

def test_the_answer_has_its_keys_and_the_exit_status_says_it(fit):
    yes, no = fit("4GiB"), fit("4TiB")
    assert KEYS <= yes.keys() and KEYS <= no.keys()
    assert yes["fits"] is True and yes["gpus"] == [0] and yes["missing_mb"] == 0 and yes["would_evict"] == []
    assert no["fits"] is False and no["gpus"] == [] and no["placements"] == [] and no["missing_mb"] > 0


def test_to_the_byte(fit, whirr):
    room = available(whirr, "sim:scenario=idle,gpus=1")[0]
    exact = int(room * 2**20)
    assert fit(exact, source="sim:scenario=idle,gpus=1")["fits"] is True
    over = fit(exact + 2**20, source="sim:scenario=idle,gpus=1")
    assert over["fits"] is False and over["missing_mb"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("size, least, most, like", [("70B", 40, 43, "Llama 3.1 70B"), ("8b", 5, 6.5, "Llama 3.1 8B"), ("13 B", 7.5, 10, "Qwen2.5 14B"), ("671B", 370, 405, "Llama 3.1 405B")])
def test_a_number_of_parameters_is_answered_with_what_was_assumed(fit, whirr, size, least, most, like):
    body = fit(size, source="sim:scenario=idle,gpus=20,model=rtx4090")
    assert body["fits"] and least * GIB < body["size_mb"] < most * GIB, body["size_mb"]
    assert f"4-bit weights (Q4_K_M) and the layers of {like}" in body["model"]["notes"] and "16-bit weights" in body["model"]["notes"]
    said = " ".join(whirr("--source", "sim:scenario=idle,gpus=20,model=rtx4090", "fit", size).out.split())
    assert said.startswith("SIMULATED It fits:") and f"Note: {body['model']['notes']}." in said, said


def test_copies_and_exactly_so_many_gpus(fit):
    source = "sim:scenario=idle,gpus=4,model=h100"
    copies = fit("30GiB", "--count", 5, source=source)
    assert copies["fits"] and len(copies["placements"]) == 5 and copies["gpus"] == [0, 1, 2, 3]
    split = fit("30GiB", "--gpus", 3, source=source)
    assert split["fits"] and len(split["gpus"]) == 3
    assert sum(g["memory_mb"] for g in split["placements"][0]["gpus"]) == pytest.approx(30 * GIB, abs=0.01)
    assert fit("200GiB", "--split", "layer", source=source)["gpus"] == [0, 1, 2]


def test_without_a_gpu_nothing_fits_and_that_is_said(whirr):
    done = whirr("fit", "1GiB", "--json")
    body = json.loads(done.out)
    assert done.code == 1 and body["fits"] is False and body["missing_mb"] == GIB and "no GPU" in body["reason"]
    assert whirr("fit").code == 0


def test_a_sleeping_gpu_is_unknown_not_empty(fit):
    body = fit("1GiB", source="sim:scenario=asleep", code=1)
    assert body["fits"] is None and body["missing_mb"] is None and "wake" in body["reason"]


def test_a_lost_gpu_is_not_used(fit):
    body = fit("1GiB", source="sim:scenario=gpu-lost,gpus=1", code=None)
    assert body["fits"] in (True, False)
    if not body["fits"]:
        assert "cannot be used" in body["reason"]


def test_the_reserve_of_the_configuration_stays_free(whirr, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[worker]\nreserve = "2GiB"\n')
    plain = available(whirr, "sim:scenario=idle,gpus=1")[0]
    done = whirr("--source", "sim:scenario=idle,gpus=1", "--config", config, "fit", "--json")
    gpu = json.loads(done.out)["gpus"][0]
    assert gpu["reserve_mb"] == 2 * GIB and gpu["available_mb"] == pytest.approx(plain - 2 * GIB, abs=1)


def test_env_is_ready_for_a_shell(whirr):
    done = whirr("--source", "sim:scenario=idle,gpus=1", "fit", "4GiB", "--env")
    name, _, value = done.out.strip().partition("=")
    assert done.code == 0 and name == "CUDA_VISIBLE_DEVICES" and value.startswith("GPU-") and done.out.count("\n") == 1
    shell = subprocess.run(["sh", "-c", f'env $(echo "{done.out.strip()}") sh -c "echo \\$CUDA_VISIBLE_DEVICES"'], capture_output=True, text=True)
    assert shell.stdout.strip() == value
    assert whirr("--source", "sim:scenario=idle,gpus=1", "fit", "1GiB", "--env", "--count", "2").out == done.out * 2
    none = whirr("--source", "sim:scenario=idle,gpus=1", "fit", "4TiB", "--env")
    assert none.code == 1 and none.out == "" and "does not fit" in none.err


@pytest.mark.parametrize("card, variable", [("rx7900xtx", "HIP_VISIBLE_DEVICES=0\n"), ("a770", "ZE_AFFINITY_MASK=0\n")])
def test_env_of_other_makers(whirr, card, variable):
    assert whirr("--source", f"sim:scenario=idle,gpus=1,model={card}", "fit", "1GiB", "--env").out == variable


@pytest.mark.parametrize("args", [("x",), ("0",), ("1GiB", "--gpus", "0"), ("1GiB", "--count", "65"), ("1GiB", "--context", "-1"), ("1GiB", "--kv-type", "q9"),
                                  ("1GiB", "--env", "--json"), ("1GiB", "2GiB"), ("1GiB", "--overhead", "much")])
def test_wrong_usage_is_2(whirr, args):
    done = whirr("--source", "sim", "fit", *args)
    assert done.code == 2 and done.err and not done.out


def test_one_gpu_can_be_asked_for(whirr, fit):
    body = json.loads(whirr("--source", "sim:scenario=idle,gpus=3", "fit", "--gpu", "1", "--json").out)
    assert [g["gpu_index"] for g in body["gpus"]] == [1]
    assert fit("1GiB", "--gpu", 2, source="sim:scenario=idle,gpus=3,model=h100")["gpus"] == [2]


# ---- models ----

def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def gguf(path, keys, tensors, short=0):
    """After ggml's docs/gguf.md; tensors are (name, type, shape, bytes), the data is a hole."""
    head, infos, offset = b"", b"", 0
    for key, value in keys.items():
        head += text(key) + (struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<II", 4, value))
    for name, kind, shape, size in tensors:
        infos += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, offset)
        offset += (size + 31) // 32 * 32
    data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + head + infos
    with open(path, "wb") as file:
        file.write(data)
        file.truncate((len(data) + 31) // 32 * 32 + offset - short)
    return path


LLAMA = {"general.architecture": "llama", "general.name": "Llama 8B", "llama.block_count": 32, "llama.context_length": 131072,
         "llama.embedding_length": 4096, "llama.feed_forward_length": 14336, "llama.attention.head_count": 32,
         "llama.attention.head_count_kv": 8, "llama.vocab_size": 128256}


def layers(first=0, last=32):
    return [(f"blk.{i}.ffn.weight", 8, (4096, 4096 * 10), 4096 // 32 * 34 * 40960) for i in range(first, last)]


def test_a_model_is_sized_from_its_header(fit, tmp_path):
    path = gguf(tmp_path / "m.gguf", LLAMA, layers())
    body = fit(path, "--context", 8192)
    model = body["model"]
    assert body["fits"] and model["architecture"] == "llama" and model["name"] == "Llama 8B" and model["layers"] == 32
    assert model["weights_mb"] == 32 * 4096 * 40960 * 34 / 32 / 2**20 and model["cache_mb"] == 1024 and model["complete"]
    assert body["size_mb"] == pytest.approx(model["weights_mb"] + 1024 + model["compute_mb_per_gpu"] + model["overhead_mb_per_gpu"], abs=0.1)
    assert fit(path, "--context", 8192, "--kv-type", "q8_0")["model"]["cache_mb"] == 544
    assert fit(path)["model"]["context"] == 4096
    assert fit(path, "--context", 0, "--overhead", 0)["model"]["cache_mb"] == 0
    assert fit(path, "--context", 10_000_000)["fits"] is False


def test_parts_are_one_model_whichever_is_named(fit, tmp_path):
    gguf(tmp_path / "m-00001-of-00002.gguf", {**LLAMA, "split.count": 2, "split.no": 0}, layers(0, 20))
    gguf(tmp_path / "m-00002-of-00002.gguf", {"split.count": 2, "split.no": 1}, layers(20, 32))
    whole = fit(gguf(tmp_path / "whole.gguf", LLAMA, layers()))
    for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf"):
        body = fit(tmp_path / name)
        assert body["size_mb"] == whole["size_mb"] and body["model"]["layers"] == 32
    os.remove(tmp_path / "m-00002-of-00002.gguf")


def test_a_model_is_split_between_layers(fit, tmp_path):
    path = gguf(tmp_path / "m.gguf", LLAMA, layers())
    body = fit(path, "--gpus", 2, source="sim:scenario=idle,gpus=2,model=h100")
    shares = body["placements"][0]["gpus"]
    assert body["fits"] and [s["gpu_index"] for s in shares] == [0, 1] and sum(s["layers"] for s in shares) == 33
    assert all(s["memory_mb"] <= s["available_mb"] for s in shares) and min(s["layers"] for s in shares) >= 15


def test_what_a_file_does_not_say_is_unknown(fit, tmp_path):
    path = gguf(tmp_path / "m.gguf", {"general.architecture": "llama"}, layers(0, 2))
    body = fit(path, code=1)
    assert body["fits"] is None and body["model"]["cache_mb"] is None and "weights alone fit" in body["reason"]
    assert fit(path, "--context", 0)["fits"] is True
    large = fit(gguf(tmp_path / "large.gguf", {}, layers() * 20), source="sim:scenario=idle,gpus=1")
    assert large["fits"] is False  # the weights alone are too much: no metadata can change that


def test_a_folder_of_safetensors(fit, tmp_path):
    def shard(name, tensors):
        header, at = {}, 0
        for tensor, shape in tensors.items():
            size = 2 * shape[0] * shape[1]
            header[tensor] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            at += size
        raw = json.dumps(header).encode()
        with open(tmp_path / name, "wb") as file:
            file.write(struct.pack("<Q", len(raw)) + raw)
            file.truncate(8 + len(raw) + at)

    shard("model-00001-of-00002.safetensors", {"model.embed_tokens.weight": [1000, 4096], "model.layers.0.mlp.weight": [4096, 4096]})
    shard("model-00002-of-00002.safetensors", {"model.layers.1.mlp.weight": [4096, 4096], "lm_head.weight": [1000, 4096]})
    shard("consolidated.safetensors", {"everything.again": [9000, 4096]})
    files = {"model.embed_tokens.weight": 1, "model.layers.0.mlp.weight": 1, "model.layers.1.mlp.weight": 2, "lm_head.weight": 2}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(
        {"weight_map": {tensor: f"model-0000{n}-of-00002.safetensors" for tensor, n in files.items()}}))
    assert fit(tmp_path, code=1)["fits"] is None  # no config.json: nothing is known of the cache
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 32, "hidden_size": 4096,
                                                      "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 1000}))
    model = fit(tmp_path, "--context", 4096)["model"]
    assert model["format"] == "safetensors" and model["weights_mb"] == (2 * 1000 * 4096 + 2 * 4096 * 4096) * 2 / 2**20
    assert model["cache_mb"] == 2 * 4096 * 8 * 128 * 2 * 2 / 2**20
    single = fit(tmp_path / "consolidated.safetensors", "--context", 0)["model"]
    assert single["weights_mb"] == 9000 * 4096 * 2 / 2**20


def test_broken_files_are_refused_with_a_sentence(whirr, tmp_path):
    good = gguf(tmp_path / "good.gguf", LLAMA, layers(0, 1))
    cases = {"cut short": gguf(tmp_path / "short.gguf", LLAMA, layers(0, 1), short=100), "No such file": tmp_path / "not-here.gguf",
             "holds neither": tmp_path / "empty", "not a safetensors": tmp_path / "x.safetensors", "neither a GGUF": tmp_path / "plain.bin",
             "No such file or": tmp_path / "p-00001-of-00003.gguf", "is not a file": tmp_path / "pipe.gguf"}
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.safetensors").write_bytes(b"\xff" * 100)
    (tmp_path / "plain.bin").write_bytes(b"hello")
    gguf(tmp_path / "p-00001-of-00003.gguf", {**LLAMA, "split.count": 3}, layers(0, 1))
    os.mkfifo(tmp_path / "pipe.gguf")
    for words, path in cases.items():
        done = whirr("--source", "sim", "fit", path)
        assert done.code == 1 and words in done.err and not done.out, (path, done.err)
    raw = bytearray(good.read_bytes()[:400])
    for at in range(4, 400, 7):  # whatever a byte says, there is an answer or a reason
        broken = bytearray(raw)
        broken[at] ^= 0xff
        (tmp_path / "b.gguf").write_bytes(broken)
        assert whirr("--source", "sim", "fit", tmp_path / "b.gguf").code in (0, 1) if at % 5 == 0 else True


# ---- workers of the guard ----

@needs_fakes
def test_a_worker_under_guard_counts_as_room_that_can_be_made(machine):
    m = machine
    server = Server(m, "ollama")  # two models: 16300 MiB of 40000
    m.process(3000)  # another program, too small to matter
    m.config.write_text(f'[worker]\n{FAST}claim_compute_memory = "10GiB"\nclaim_compute_percent = 100\n[guard.worker.ollama]\nmethods = ["ollama"]\nurl = "{server.url}"\n')
    m.serve("--interval", "0.3")
    m.until("running")

    # A daemon that is slow to answer is not waited for: without it workers are not known.
    def ask(*args):
        done = m.whirr("fit", *args, "--json")
        return json.loads(done.stdout) if done.stdout else {}

    body = wait_for(lambda: (b := ask("30GiB")).get("would_evict") == ["ollama"] and b, lambda: f"{ask('30GiB')}\n{m.log()}")
    assert body["fits"] is True and body["fits_now"] is False and body["evictions"][0]["memory_mb"] == 16300 and "once ollama is evicted" in body["reason"]
    assert ask("10GiB")["would_evict"] == []
    assert ask("30GiB", "--now")["fits"] is False
    capacity = wait_for(lambda: (g := ask()["gpus"][0])["reclaimable_mb"] == 16300 and g, lambda: f"{ask()}\n{m.log()}")
    missing = pytest.approx(38 * GIB - 16300 - capacity["available_mb"], abs=1)
    wait_for(lambda: (b := ask("38GiB"))["fits"] is False and b["missing_mb"] == missing, lambda: f"{ask('38GiB')}\n{m.log()}")
    assert capacity["workers"] == [{"worker": "ollama", "memory_mb": 16300, "evictable": True}]
    env = wait_for(lambda: "whirr guard evict ollama" in (done := m.whirr("fit", "30GiB", "--env")).stderr and done, m.log)
    assert env.stdout.startswith("CUDA_VISIBLE_DEVICES=GPU-")


@pytest.mark.parametrize("args", [("24",), ("1.5",), ("1GiB", "--overhead", "640")])
def test_a_size_needs_its_unit(whirr, args):
    done = whirr("--source", "sim:scenario=idle,gpus=1", "fit", *args)
    assert done.code == 2 and done.out == ""
    assert f"'{args[-1]}' has no unit; write {args[-1]}GiB" in done.err


def test_a_size_alone_is_never_split(whirr, fit):
    source = "sim:scenario=idle,gpus=2,model=h100"
    alone = fit("100GiB", source=source, code=1)
    assert alone["fits"] is False and alone["gpus"] == []
    assert "are missing on one GPU" in alone["reason"] and "split over 2 GPUs it would fit" in alone["reason"]
    told = whirr("--source", source, "fit", "100GiB")
    assert told.code == 1 and "whirr fit 100GiB --split even" in told.out
    assert fit("100GiB", "--split", "even", source=source)["gpus"] == [0, 1]
    assert fit("100GiB", "--gpus", "2", source=source)["gpus"] == [0, 1]
    beyond = fit("900GiB", source=source, code=1)
    assert "split over" not in beyond["reason"]
