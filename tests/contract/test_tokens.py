# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of model servers on the GPU, by what they say themselves: stand-ins that answer as the real ones do."""
import subprocess

import pytest
from isolation import WHIRR
from tripwires import PROPS, SGLANG, SLOTS, VLLM, Servers, script, worker
from waiting import PATIENCE, eventually, throughout


@pytest.fixture
def server(tmp_path):
    servers = Servers(tmp_path)
    yield servers
    servers.stop()


def process_of(d, pid):
    return next((p for p in d.json("/api/processes")["processes"] if p["pid"] == pid), None)


def speed_of(d, pid):
    found = process_of(d, pid)
    return found and found["tokens_per_second"]


@pytest.mark.slow
def test_a_model_servers_speed_stands_beside_its_process(nvml, server):
    """Also where the process on the GPU is a child of the one that answers."""
    pids = [server(name, *args, pages=pages, child=child)[0] for name, args, pages, child in (
        ("llama-server", ("-m", "/m/qwen3-8b-q4_k_m.gguf", "--port", "PORT"), {"/props": PROPS, "/slots": SLOTS}, None),
        ("vllm", ("serve", "Qwen/Qwen3-8B", "--port", "PORT"), {"/metrics": VLLM}, worker("VLLM::EngineCore")),
        ("sglang", ("serve", "--model-path", "m", "--port", "PORT"), {"/metrics": SGLANG}, worker("sglang::scheduler_TP0")))]
    # A counter that moves only when a request ends would be 0, and then a peak that never was.
    ends, asked = server("sglang", "serve", "--model-path", "m", "--port", "PORT", pages={"/metrics": 'sglang:generation_tokens_total{model_name="m"} {tokens}.0\n'})
    d = nvml(script(*pids, ends), "--interval", "0.5")
    for pid in pids:
        # Where the machine was busy between a question and its answer, the next ones are better.
        eventually(lambda: 150 < (speed_of(d, pid) or 0) < 250, explain=lambda: (speed_of(d, pid), d.log()))
    assert speed_of(d, ends) is None and len(asked()) > 1 and set(asked()) == {"/metrics"}
    done = d.whirr("ps", "--json")
    assert done.returncode == 0 and '"tokens_per_second": ' in done.stdout

    def table():
        return subprocess.run([WHIRR, "ps"], env=dict(d.env, COLUMNS="220"), capture_output=True, text=True, timeout=PATIENCE).stdout
    eventually(lambda: table().count(" tok/s") == len(pids), explain=table)


def test_it_can_be_turned_off(nvml, server):
    pid, asked = server("llama-server", "-m", "/m/x.gguf", "--port", "PORT", pages={"/props": PROPS, "/slots": SLOTS})
    d = nvml(script(pid), "--interval", "0.5", WHIRR_SAMPLING_MODEL_SERVERS="false")
    eventually(lambda: process_of(d, pid))
    throughout(2, lambda: asked() == [] and not speed_of(d, pid))


def test_a_process_that_is_no_model_server_is_not_asked(nvml, server):
    pid, asked = server("trainer", "--port", "PORT", pages={"/metrics": VLLM})
    d = nvml(script(pid), "--interval", "0.5")
    eventually(lambda: process_of(d, pid))
    throughout(2, lambda: asked() == [])
    assert speed_of(d, pid) is None
