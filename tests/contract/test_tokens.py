# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of model servers on the GPU, by what they say themselves: stand-ins that answer as the real ones do."""
import subprocess

import pytest
from isolation import WHIRR
from tripwires import PROPS, SGLANG, SLOTS, VLLM, process_of, script, worker
from waiting import PATIENCE, eventually, throughout


def speed_of(d, pid):
    return process_of(d, pid).get("tokens_per_second")


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


def findings_of(d):
    return [f["code"] for f in d.json("/api/gpu/metrics?max_age_ms=0")["findings"]]


@pytest.mark.slow
def test_a_full_cache_and_a_server_that_falls_silent_are_found(nvml, server, tmp_path):
    pages = {"/metrics": VLLM + "vllm:num_requests_running 8.0\nvllm:num_requests_waiting 5.0\nvllm:kv_cache_usage_perc 0.99\n"}
    pid, asked = server("vllm", "serve", "Qwen/Qwen3-8B", "--port", "PORT", pages=pages, child=worker("VLLM::EngineCore"))
    d = nvml(script(pid), "--interval", "0.5")
    eventually(lambda: (p := process_of(d, pid)) and p["requests_waiting"] == 5 and p["requests_running"] == 8 and p["kv_cache_percent"] == 99, explain=lambda: (process_of(d, pid), d.log()))
    eventually(lambda: "kv_cache_full" in findings_of(d), explain=lambda: findings_of(d))
    assert "server_silent" not in findings_of(d)
    hang = tmp_path / "server-0" / "log.hang"
    hang.touch()  # it listens, and says nothing
    eventually(lambda: "server_silent" in findings_of(d), explain=lambda: (process_of(d, pid), findings_of(d), d.log()))
    silent = process_of(d, pid)
    assert all(silent[key] is None and silent["absent"][key] == "failed" for key in ("tokens_per_second", "requests_waiting", "kv_cache_percent"))
    assert "kv_cache_full" not in findings_of(d)
    hang.unlink()
    eventually(lambda: "server_silent" not in findings_of(d) and "kv_cache_full" in findings_of(d), explain=lambda: (process_of(d, pid), findings_of(d)))
