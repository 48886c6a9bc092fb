#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens per joule of a real model against tokens and joules counted by hand: tests/gpu/tokens_check.py build/whirr [--seconds 150]

A Llama of about a billion random weights (transformers; without it, a stack of attention layers in plain torch) answers batches behind the
/metrics page of a vLLM. `whirr report --by model` has to have its tokens to the last one, and its tokens per joule within 2% of what comes
out by hand: the GPU's own energy counter over the same time, less the idle power that was measured before. Needs torch, and a GPU 0 that
nobody else uses; about six minutes.
"""
import argparse
import ctypes
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

BATCH, PROMPT, ANSWER, VOCABULARY = 64, 256, 128, 32000
MODEL, WITHIN, IDLE_S, WRITTEN_S, PATIENCE_S = "tiny-llama", 0.02, 20, 20, 90


# ---- the server: a copy of this file under the name of vllm ----

class Page(http.server.BaseHTTPRequestHandler):
    generated = prompt = looks = 0

    def do_GET(self):
        Page.looks += 1
        text = "".join(f'vllm:{name}{{engine="0",model_name="{MODEL}"}} {value}\n' for name, value in (
            ("prompt_tokens_total", float(Page.prompt)), ("generation_tokens_total", float(Page.generated)), ("num_requests_running", 0.0)))
        self.send_response(200 if self.path == "/metrics" else 404)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def llama():
    """What reads a prompt and what makes one token more; and what it is."""
    import torch
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        return plain(torch), "plain torch (no transformers here)"
    config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=2048, intermediate_size=5632, num_hidden_layers=18, num_attention_heads=16, num_key_value_heads=8,
                         max_position_embeddings=2048)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
    state = {}

    def step(tokens):
        out = model(tokens, past_key_values=state.get("past") if tokens.shape[1] == 1 else None, use_cache=True)
        state["past"] = out.past_key_values
        return out.logits[:, -1].argmax(-1, keepdim=True)
    return step, "transformers"


def plain(torch):
    layers, wide = 18, 2048
    weights = [torch.randn(wide, 3 * wide, device="cuda", dtype=torch.bfloat16) / 64 for _ in range(layers)]
    words = torch.randn(VOCABULARY, wide, device="cuda", dtype=torch.bfloat16)
    state = {}

    def step(tokens):
        x = words[tokens]
        for i, w in enumerate(weights):
            q, k, v = (x @ w).view(*tokens.shape, 3, 16, wide // 16).permute(2, 0, 3, 1, 4)
            if tokens.shape[1] == 1:
                k, v = torch.cat((state[i][0], k), 2), torch.cat((state[i][1], v), 2)
            state[i] = (k, v)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=tokens.shape[1] > 1)
            x = torch.nn.functional.layer_norm(x + y.transpose(1, 2).reshape(x.shape), (wide,))
        return (x[:, -1] @ words.T).argmax(-1, keepdim=True)
    return step


def serve(port, told, seconds):
    import torch
    step, kind = llama()

    def answer():
        tokens = step(torch.randint(VOCABULARY, (BATCH, PROMPT), device="cuda"))
        Page.prompt += BATCH * PROMPT
        Page.generated += BATCH
        for _ in range(ANSWER - 1):
            tokens = step(tokens)
            Page.generated += BATCH
        tokens.cpu()

    with torch.no_grad():
        answer()  # warm: before whirr can look, and counted by neither
        before = Page.generated
        time.sleep(61 - time.time() % 60)  # so that the energy of all this is in no minute that has tokens
        threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", port), Page).serve_forever, daemon=True).start()
        while Page.looks < 2:
            time.sleep(0.1)
        begin, energy = time.monotonic(), counter_mj()
        while time.monotonic() < begin + seconds:
            answer()
        torch.cuda.synchronize()
        spent, lasted = counter_mj() - energy, time.monotonic() - begin
        looks = Page.looks
        while Page.looks < looks + 3:  # the last tokens are seen
            time.sleep(0.1)
    told.with_suffix(".new").write_text(json.dumps({"kind": kind, "tokens": Page.generated - before, "joules": spent / 1000, "seconds": lasted}))
    told.with_suffix(".new").rename(told)
    time.sleep(PATIENCE_S)


# ---- by hand ----

def counter_mj():
    nvml, device, value = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), ctypes.c_ulonglong()
    for rc in (nvml.nvmlInit_v2(), nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)), nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value))):
        if rc:
            sys.exit(f"FAIL  the energy counter of GPU 0 cannot be read: NVML {rc}")
    return value.value


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("whirr")
    parser.add_argument("--seconds", type=float, default=150)
    options = parser.parse_args()
    whirr = os.path.abspath(options.whirr)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        places = {place: str(folder / place) for place in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "WHIRR_SYSTEM_ROOT")}
        for place in places.values():
            os.makedirs(place, mode=0o700)
        env = dict(os.environ, **places, WHIRR_SERVER_SOCKET=str(folder / "whirr.sock"))
        daemon = subprocess.Popen([whirr, "serve", "--interval", "1", "--listen", f"127.0.0.1:{free_port()}", "--store", f"sqlite:{folder}/history.db"], env=env)
        started = []
        try:
            run(whirr, folder, env, options.seconds, started)
        finally:
            for process in (*started, daemon):
                process.kill() if process in started else process.terminate()
                process.wait()


def run(whirr, folder, env, seconds, started):
    # With the daemon, which learns the same, and before there is a context: that costs power of its own.
    time.sleep(5)
    at, energy = time.monotonic(), counter_mj()
    time.sleep(IDLE_S)
    idle_w = (counter_mj() - energy) / 1000 / (time.monotonic() - at)
    print(f"      idle: {idle_w:.1f} W")
    program, told = folder / "vllm", folder / "told.json"
    shutil.copy(__file__, program)
    port = free_port()
    started.append(subprocess.Popen([sys.executable, str(program), "serve", MODEL, "--port", str(port), "--told", str(told), "--seconds", str(seconds)],
                                    env=dict(os.environ)))
    end = time.monotonic() + seconds + 3 * PATIENCE_S
    while not told.exists():
        if time.monotonic() > end or started[0].poll() is not None:
            sys.exit("FAIL  the model did not run to its end; was it asked? `whirr ps --json` has the reason in `absent`")
        time.sleep(0.5)
    hand = json.loads(told.read_text())
    time.sleep(WRITTEN_S)
    done = subprocess.run([whirr, "report", "--since", "-20m", "--price", "0.30", "--json"], env=env, capture_output=True, text=True, timeout=60)
    models = [m for m in json.loads(done.stdout)["models"] if m["generated_tokens"]] if done.returncode == 0 else sys.exit(done.stderr)
    if not models:
        sys.exit("FAIL  the report has no tokens: " + done.stdout[:2000])
    judge(models[0], hand, idle_w, json.loads(done.stdout))


def judge(model, hand, idle_w, report):
    joules = hand["joules"] - idle_w * hand["seconds"]
    by_hand = hand["tokens"] / joules
    off = model["tokens_per_joule"] / by_hand - 1
    sums = sum(row["energy_joules"] for row in report["models"]) / report["totals"]["energy_joules"] - 1
    print(f"      {hand['kind']}: {hand['tokens']} tokens in {hand['seconds']:.0f} s, {hand['joules']:.0f} J of the counter, {joules:.0f} J of them above idle\n"
          f"      by hand {by_hand:.4f} tokens/J above idle ({hand['tokens'] / hand['joules']:.4f} with it); whirr {model['tokens_per_joule']:.4f} for {model['name']}, {model['generated_tokens']} tokens, "
          f"{model['energy_joules']:.0f} J, {model['cost_per_million_tokens']} per million")
    checks = [(model["generated_tokens"] == hand["tokens"], f"tokens to the last one: {model['generated_tokens'] - hand['tokens']:+d}"),
              (abs(off) <= WITHIN, f"tokens per joule within {WITHIN:.0%}: {off:+.2%}"),
              (abs(sums) <= 0.001, f"the rows of the report add up to the GPU's energy: {sums:+.3%}")]
    for fine, words in checks:
        print(("ok    " if fine else "FAIL  ") + words)
    sys.exit(0 if all(fine for fine, _ in checks) else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        given = dict(zip(sys.argv[3::2], sys.argv[4::2]))
        serve(int(given["--port"]), pathlib.Path(given["--told"]), float(given["--seconds"]))
    else:
        main()
