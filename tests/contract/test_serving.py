# SPDX-License-Identifier: Apache-2.0
"""What model servers say of themselves, beside their processes: stand-ins that answer in the words of the real ones, and some that answer anything."""
import json
import re
import urllib.request

import pytest
from ports import free_port
from tripwires import PROPS, SLOTS, process_of, script, worker
from waiting import eventually

# Excerpts of what the servers' own pages have, each name with all of its labels.
VLLM = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-8B"} 8.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="Qwen/Qwen3-8B"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="Qwen/Qwen3-8B",reason="capacity"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="Qwen/Qwen3-8B"} 0.41
vllm:prefix_cache_queries_total{engine="0",model_name="Qwen/Qwen3-8B"} {tokens}
vllm:prefix_cache_hits_total{engine="0",model_name="Qwen/Qwen3-8B"} {tokens}
vllm:num_preemptions_total{engine="0",model_name="Qwen/Qwen3-8B"} 0.0
vllm:num_preemptions_created{engine="0",model_name="Qwen/Qwen3-8B"} 1.7552e+09
vllm:prompt_tokens_total{engine="0",model_name="Qwen/Qwen3-8B"} {tokens}
vllm:generation_tokens_total{engine="0",model_name="Qwen/Qwen3-8B"} {tokens}
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="Qwen/Qwen3-8B"} 3.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="Qwen/Qwen3-8B"} {tokens}
vllm:time_to_first_token_seconds_sum{engine="0",model_name="Qwen/Qwen3-8B"} {tokens}
"""
SGLANG = """sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 3.0
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="1"} 3.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 4.0
sglang:token_usage{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.28
sglang:cache_hit_rate{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.75
sglang:gen_throughput{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 86.5
sglang:prompt_tokens_total{model_name="m"} 8128.0
sglang:generation_tokens_total{model_name="m"} 7557.0
"""
TRTLLM = """trtllm_num_requests_running{engine_type="pytorch",model_name="m"} 5.0
trtllm_num_requests_waiting{engine_type="pytorch",model_name="m"} 0.0
trtllm_kv_cache_utilization{engine_type="pytorch",model_name="m"} 0.5
trtllm_kv_cache_hit_rate{engine_type="pytorch",model_name="m"} 0.125
trtllm_generation_tokens_total{engine_type="pytorch",model_name="m"} 4242.0
"""
LMDEPLOY = """lmdeploy:num_requests_running{engine="0",model_name="m"} 1.0
lmdeploy:num_requests_waiting{engine="0",model_name="m"} 6.0
lmdeploy:gpu_cache_usage_perc{engine="0",model_name="m"} 0.0625
lmdeploy:generation_tokens_total{engine="0",model_name="m"} {tokens}
"""
TGI = """# TYPE tgi_queue_size gauge
tgi_queue_size 7
tgi_batch_current_size 16
tgi_request_generated_tokens_bucket{le="1"} 0
tgi_request_generated_tokens_sum 900
tgi_request_input_length_sum 5000
"""
TRITON = """nv_inference_request_success{model="ensemble",version="1"} 17
nv_inference_pending_request_count{model="ensemble",version="1"} 2
nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 3
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"} 6239
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="tensorrt_llm",version="1"} 0.875
"""
COMFYUI = '{"exec_info": {"queue_remaining": 3}}'

NIM = VLLM.replace("vllm:", "").replace("kv_cache", "gpu_cache") + "num_request_max 256\n"
DYNAMO = """dynamo_frontend_inflight_requests{model="m"} 12
dynamo_frontend_queued_requests{model="m"} 3
dynamo_frontend_output_tokens_total{model="m"} 4500000
dynamo_frontend_input_sequence_tokens_bucket{model="m",le="100"} 7
dynamo_frontend_input_sequence_tokens_sum{model="m"} 70000
"""
MLC = "engine_prefill_time_sum\t1.5\nprompt_tokens_sum\t400\ncompletion_tokens_sum\t900\n"
XINFERENCE = """xinference:generate_tokens_per_s{model="m"} 33
xinference:input_tokens_total_counter{model="m"} 150
xinference:output_tokens_total_counter{model="m"} 250
"""
KOBOLDCPP = '{"last_process": 0.1, "last_eval": 2.5, "last_token_count": 80, "total_gens": 7, "stop_reason": 1, "queue": 2, "idle": 0}'
PENDING = '{"size": 2, "tasks": ["task(a)", "task(b)"]}'

OLLAMA_PORT, NIM_PORT, DYNAMO_PORT = free_port(), free_port(), free_port()
RUNNER = {"comm": "llama-server", "argv": ["llama-server", "--model", "/m/blob", "--port", str(OLLAMA_PORT)], "port": OLLAMA_PORT, "pages": {"/props": PROPS, "/slots": SLOTS}}

# Name, arguments, pages, others of its processes; what stands beside the process on the GPU, and what is absent there.
SERVERS = {
    "vllm": (("vllm", "serve", "Qwen/Qwen3-8B", "--port", "PORT"), {"/metrics": VLLM}, {"child": worker("VLLM::EngineCore")},
             {"requests_running": 8, "requests_waiting": 2, "kv_cache_percent": 41, "prefix_cache_hit_percent": 100, "time_to_first_token_seconds": 1,
              "preemptions_per_second": 0, "model": "Qwen/Qwen3-8B"}, {"time_per_token_seconds": "unsupported", "image_jobs": "unsupported"}),
    "sglang": (("sglang", "serve", "--model-path", "m", "--port", "PORT"), {"/metrics": SGLANG}, {"child": worker("sglang::scheduler_TP0")},
               {"requests_running": 3, "requests_waiting": 4, "kv_cache_percent": 28, "prefix_cache_hit_percent": 75, "tokens_per_second": 86.5,
                "generated_tokens": 7557, "prompt_tokens": 8128}, {"prompt_tokens_per_second": "unsupported"}),
    "llama.cpp": (("llama-server", "-m", "/m/x.gguf", "--port", "PORT"), {"/props": PROPS, "/slots": SLOTS}, {},
                  {"requests_running": 1}, {"requests_waiting": "unsupported", "generated_tokens": "unsupported"}),
    "ollama": (("ollama", "serve"), {}, {"child": RUNNER, "port": False}, {"requests_running": 1}, {"kv_cache_percent": "unsupported"}),
    "trtllm": (("trtllm-serve", "m", "--port", "PORT"), {"/prometheus/metrics": TRTLLM}, {},
               {"requests_running": 5, "requests_waiting": 0, "kv_cache_percent": 50, "prefix_cache_hit_percent": 12.5, "generated_tokens": 4242},
               {"tokens_per_second": "unsupported"}),
    "lmdeploy": (("lmdeploy", "serve", "api_server", "m", "--server-port", "PORT"), {"/metrics": LMDEPLOY}, {},
                 {"requests_running": 1, "requests_waiting": 6, "kv_cache_percent": 6.3}, {"prompt_tokens": "unsupported"}),
    "tgi": (("text-generation-launcher", "--model-id", "m", "--port", "PORT"), {"/metrics": TGI},
            {"beside": "text-generation-router", "child": dict(worker("text-generation-server"), comm="text-generation-server")},
            {"requests_running": 16, "requests_waiting": 7, "generated_tokens": 900, "prompt_tokens": 5000}, {"tokens_per_second": "unsupported"}),
    "triton": (("tritonserver", "--model-repository=/m", "--metrics-port", "PORT"), {"/metrics": TRITON}, {},
               {"requests_waiting": 5, "kv_cache_percent": 87.5}, {"requests_running": "unsupported", "generated_tokens": "unsupported"}),
    "comfyui": (("ComfyUI/main.py", "--port", "PORT"), {"/prompt": COMFYUI}, {}, {"image_jobs": 3}, {"requests_waiting": "unsupported"}),
    "nim": (("nim-engine",), {"/v1/metrics": NIM}, {"port": NIM_PORT}, {"requests_running": 8, "requests_waiting": 2, "kv_cache_percent": 41, "display_name": "nim"}, {"image_jobs": "unsupported"}),
    "dynamo": (("dynamo-worker",), {"/metrics": DYNAMO}, {"port": DYNAMO_PORT},
               {"requests_running": 9, "requests_waiting": 3, "generated_tokens": 4500000, "prompt_tokens": 70000}, {"kv_cache_percent": "unsupported"}),
    "mlc": (("mlc_llm", "serve", "m", "--port", "PORT"), {"/metrics": MLC}, {}, {"generated_tokens": 900, "prompt_tokens": 400}, {"tokens_per_second": "unsupported"}),
    "xinference": (("xinference-local", "--port", "9997", "--metrics-exporter-port", "PORT"), {"/metrics": XINFERENCE}, {"child": dict(worker("Model: m-0"), comm="Model: m-0")},
                   {"generated_tokens": 250, "prompt_tokens": 150}, {"tokens_per_second": "unsupported"}),
    "koboldcpp": (("koboldcpp.py", "--model", "m.gguf", "--port", "PORT"), {"/api/extra/perf": KOBOLDCPP}, {}, {"requests_running": 1, "requests_waiting": 2}, {"generated_tokens": "unsupported"}),
    "automatic1111": (("stable-diffusion-webui/launch.py", "--port", "PORT"), {"/internal/pending-tasks": PENDING}, {}, {"requests_waiting": 2}, {"image_jobs": "unsupported"}),
    "tabbyapi": (("tabbyAPI/main.py", "--port", "PORT"), {"/metrics": VLLM}, {}, {"requests_running": None}, {"requests_running": "unsupported"}),  # it says nothing
}
SETTINGS = f"""[serving.nim]
url = "http://127.0.0.1:{NIM_PORT}"
kind = "nim"
[serving.dynamo]
url = "http://127.0.0.1:{DYNAMO_PORT}"
kind = "dynamo"
"""
ASKED = {"/metrics", "/prometheus/metrics", "/v1/metrics", "/props", "/slots", "/prompt", "/api/extra/perf", "/internal/pending-tasks"}  # GET of these, and nothing else


def start(server, which):
    args, pages, others, _, _ = SERVERS[which]
    return server(args[0], *args[1:], pages=pages, **others)


@pytest.mark.slow
def test_each_server_is_read_in_its_own_words(nvml, server, tmp_path):
    started = {which: start(server, which) for which in SERVERS}
    config = tmp_path / "whirr.toml"
    config.write_text(SETTINGS)
    d = nvml(script(*(pid for pid, _ in started.values())), "--interval", "0.5", "--config", str(config))
    for which, (pid, asked) in started.items():
        told, absent = SERVERS[which][3:]

        def wrong():
            p = process_of(d, pid)
            return {k: p.get(k) for k, v in told.items() if p.get(k) != v} | {k: p.get("absent", {}).get(k) for k, v in absent.items()
                                                                             if p.get("absent", {}).get(k) != v}
        eventually(lambda: not wrong(), explain=lambda: (which, wrong(), process_of(d, pid), asked(), d.log()))
        assert set(asked()) <= ASKED, (which, asked())
    assert started["tabbyapi"][1]() == [], "there is nothing to ask it for"
    text = urllib.request.urlopen(d.url + "/metrics").read().decode()
    series = re.findall(r'^(gpu_model_server_\w+)\{[^\n]*model="Qwen/Qwen3-8B"[^\n]*\} (\S+)$', text, re.MULTILINE)
    assert dict(series)["gpu_model_server_requests_waiting"] == "2" and float(dict(series)["gpu_model_server_generated_tokens_total"]) > 0
    # The same by OpenTelemetry's names: what vLLM's page adds up, and nothing that it doesn't have.
    genai = dict(re.findall(r'^(gen_ai_server_\w+)\{[^\n]*gen_ai_provider_name="vllm",gen_ai_request_model="Qwen/Qwen3-8B"[^\n]*\} (\S+)$', text, re.MULTILINE))
    assert set(genai) == {f"gen_ai_server_time_to_first_token_seconds_{part}" for part in ("bucket", "sum", "count")}, genai
    assert len(set(genai.values())) == 1 and float(genai["gen_ai_server_time_to_first_token_seconds_count"]) > 0
    # What was not told is no series.
    assert not re.search(r'^gpu_model_server_tokens_per_second\{[^\n]*process="tritonserver"', text, re.MULTILINE)


HOSTILE = {
    "huge": ["vllm:generation_tokens_total{n=\"{n}\"} 5\n" * 100, 5000, 0],  # 20 MB
    "slow": ["vllm:generation_tokens_total 5\n", 1, 30],
    "html": "<html>vllm:generation_tokens_total 5</html>",
    "json": json.dumps({"vllm:generation_tokens_total": [5] * 100}),
    "wrong": "vllm:generation_tokens_total{a=\"b\"} -5\nvllm:num_requests_running NaN\nvllm:kv_cache_usage_perc 1e400\nvllm:num_requests_waiting\n",
    "bytes": "\0\x7f\n" * 1000 + "vllm:num_requests_running\0 5\n",
    "empty": "",
}


@pytest.mark.slow
def test_what_makes_no_sense_is_absent_and_holds_nobody_up(nvml, server):
    pids = {which: server("vllm", "serve", "m", "--port", "PORT", pages={"/metrics": page})[0] for which, page in HOSTILE.items()}
    # Thousands of models are added up; what cannot be is not believed.
    many, _ = server("vllm", "serve", "m", "--port", "PORT", pages={"/metrics": ['vllm:generation_tokens_total{model_name="m{n}"} 2\nvllm:num_requests_running{model_name="m{n}"} 1e6\n', 5000, 0]})
    good, _ = start(server, "vllm")
    d = nvml(script(*pids.values(), many, good), "--interval", "0.5")
    eventually(lambda: process_of(d, good).get("requests_running") == 8, explain=lambda: (process_of(d, good), d.log()))
    p = eventually(lambda: (p := process_of(d, many)) and p["generated_tokens"] == 10000 and p, explain=lambda: process_of(d, many))
    assert p["requests_running"] is None and p["absent"]["requests_running"] == "implausible"
    for which, pid in pids.items():
        p = eventually(lambda: (p := process_of(d, pid)) and p["absent"].get("tokens_per_second") == "unsupported" and p, explain=lambda: (which, process_of(d, pid)))
        assert all(p[key] is None for key in ("generated_tokens", "requests_running", "requests_waiting", "kv_cache_percent")), (which, p)
    assert not [f for f in d.json("/api/gpu/metrics?max_age_ms=0")["findings"] if f["code"] == "server_silent"]


@pytest.mark.slow
def test_tokens_and_energy_meet_in_the_report(nvml, server, tmp_path):
    """All the way: a counter of the server, its model for a worker that does not name one, minutes of the history, and the energy of the process."""
    pid, _ = start(server, "vllm")
    d = nvml(script(pid), "--interval", "0.5", "--store", f"sqlite:{tmp_path}/history.db")

    def report():
        return json.loads(d.whirr("report", "--since", "-1h", "--price", "0.30", "--json").stdout)

    def model():
        return next((m for m in report()["models"] if m["name"] == "Qwen/Qwen3-8B" and m["generated_tokens"] and m["energy_joules"]), None)
    m = eventually(model, explain=lambda: (report()["models"], process_of(d, pid), d.log()))
    assert m["prompt_tokens"] == m["generated_tokens"], "one page had both"
    # Joules are rounded to whole ones, and those of a minute in which the server had said nothing yet do not count.
    assert m["tokens_per_joule"] >= 0.8 * m["generated_tokens"] / m["energy_joules"]
    assert m["cost_per_million_tokens"] > 0 and m["processes"] == 1
    body = report()
    assert sum(row["energy_joules"] for row in body["models"]) == pytest.approx(body["totals"]["energy_joules"], abs=2)
