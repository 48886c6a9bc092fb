# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for inference servers, as far as the guard speaks with them. What the real one rejects, they reject; where the real one
breaks, they break and say so in their state.

    servers.py KIND PORT STATE

STATE is a JSON file that tests write and read. For all kinds: "loaded" (what holds memory now), "busy", and the lies "lie" (says yes and
frees nothing), "dead" (closes the connection without a word), "slow" (seconds before each answer, fewer as soon as it says fewer),
"stuck" (requests whose path has this in it wait as long as it is there), "error" (answers 500). What a real server would have broken is
found under "broken". Each request is appended to STATE.log when it comes, and to STATE.done when it is over.

Read in the servers' own source (repository, file, commit):
  ollama      ollama/ollama server/routes.go 00188139 (GenerateHandler; ListRunning for /api/ps)
  llamacpp    ggml-org/llama.cpp tools/server/server-models.cpp and server-models.h 00dd0816 (router mode: init_routes, is_running,
              router_validate_model, is_autoload, DEFAULT_STOP_TIMEOUT)
  llama-swap  mostlygeek/llama-swap proxy/proxymanager.go and proxymanager_api.go 00460400 (listRunningProcessesHandler, addApiHandlers,
              apiKeyAuth)
  vllm        vllm-project/vllm vllm/entrypoints/serve/sleep/api_router.py 09cb327f (sleep, wake_up, is_sleeping, attach_router);
              /load: entrypoints, get_server_load_metrics
  sglang      sgl-project/sglang python/sglang/srt/managers/scheduler_update_weights_mixin.py 018c9109 (both assertions),
              entrypoints/http_server.py 0025436e (pause, continue), tokenizer manager's pause_generation (modes) of later releases
  comfyui     comfyanonymous/ComfyUI server.py 005f3ba4 (post_free, /queue), main.py 002f2bed (prompt_worker reads the flags)
  lmstudio    lmstudio-ai/docs 1_developer/2_rest/list.md and load.md 35ec6d3d, unload.md 15ed6982 (no source is public: the documented API)
  webui       AUTOMATIC1111/stable-diffusion-webui modules/api/api.py 0050a354 (unloadapi, reloadapi, progressapi, auth)
  textgen     oobabooga/text-generation-webui extensions/openai/script.py 001198de (model/info, load, unload, check_admin_key)
  triton      triton-inference-server/server src/http_server.cc (HandleRepositoryIndex, HandleRepositoryControl), core's
              model_repository_manager.cc (LoadUnloadModel)
"""
import contextlib
import fcntl
import http.server
import json
import os
import socketserver
import sys
import threading
import time
import urllib.parse

LOCK = threading.RLock()
IN_FLIGHT = 0


class Refused(Exception):
    def __init__(self, status, body):
        self.status, self.body = status, body


class Text(str):
    """Sent as it is, not as JSON."""


class Server:
    def __init__(self, path):
        self.path = path

    def get(self):
        with LOCK:
            return json.load(open(self.path))

    def put(self, **changes):
        with LOCK, open(self.path + ".lock", "w") as lock:  # the tests write, too
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = dict(self.get(), **changes)
            with open(self.path + ".new", "w") as f:
                json.dump(state, f)
            os.rename(self.path + ".new", self.path)

    def broke(self, what):
        self.put(broken=self.get().get("broken", []) + [what])

    def installed(self):
        state = self.get()
        return set(state.get("installed", [])) | set(state["loaded"]) | set(state.get("slept", []))

    def load(self, model):
        with LOCK:
            state = self.get()
            if model not in state["loaded"]:
                self.put(loaded=state["loaded"] + [model])

    def unload(self, model=None):
        """All without a model."""
        with LOCK:
            state = self.get()
            gone = [m for m in state["loaded"] if model is None or m == model]
            slept = sorted(set(state.get("slept", [])) | set(gone))
            self.put(slept=slept)
            if not state.get("lie"):
                self.put(loaded=[m for m in state["loaded"] if m not in gone])

    def when_idle(self, act):
        """In the background, as soon as no work is in flight."""
        def wait():
            while self.get().get("busy"):
                time.sleep(0.02)
            act()
        threading.Thread(target=wait, daemon=True).start()


def need(condition, status=400, body="bad request"):
    if not condition:
        raise Refused(status, {"error": body})


def need_object(body, status=400, words="missing request body"):
    need(isinstance(body, dict), status, words)


def ollama(s, method, path, query, body, headers):
    if (method, path) == ("GET", "/api/ps"):
        return {"models": [{"name": m, "model": m, "size": 1, "size_vram": 1, "expires_at": "2030-01-01T00:00:00Z"} for m in s.get()["loaded"]]}
    if (method, path) != ("POST", "/api/generate"):
        return None
    need_object(body)
    model = body.get("model", "")
    need(model in s.installed(), 404, f"model '{model}' not found")
    if not body.get("prompt") and body.get("keep_alive") == 0:
        s.when_idle(lambda: s.unload(model))  # expireRunner: the answer does not wait for it
        return {"model": model, "done": True, "done_reason": "unload"}
    need(model not in s.get().get("embedding", []), 400, f'"{model}" does not support generate')
    s.load(model)
    return {"model": model, "done": True, "done_reason": "load"}


def llamacpp(s, method, path, query, body, headers):
    state = s.get()
    status = {m: "unloaded" for m in s.installed() | {"other"}}
    status.update({m: "loaded" for m in state["loaded"]})
    status.update(state.get("status", {}))
    running = {m for m in status if status[m] in ("loaded", "loading", "sleeping")}

    def fail(code, message):
        raise Refused(code, {"error": {"code": code, "message": message}})
    if (method, path) == ("GET", "/models"):
        return {"object": "list", "data": [{"id": m, "object": "model", "status": {"value": v, "args": []}} for m, v in sorted(status.items())]}
    if (method, path) == ("GET", "/slots"):
        model = query.get("model", "")
        if not model:
            fail(400, "model name is missing from the request")
        if model not in status:
            fail(400, f"model '{model}' not found")
        if status.get(model) == "sleeping":
            s.broke(f"a look woke {model}")
        if model not in running:
            if query.get("autoload", "true") in ("true", "1"):
                s.broke(f"a look loaded {model}")
            fail(400, "model is not loaded")
        return [{"id": 0, "n_ctx": 4096, "is_processing": bool(state.get("busy"))}]
    if method == "POST" and path in ("/models/load", "/models/unload"):
        need_object(body, 500)
        model = body.get("model", "")
        if path.endswith("/load"):
            if model not in status:
                fail(404, "model is not found")
            if model in running:
                fail(400, "model is already running")
            s.load(model)
        else:
            if model not in status:
                fail(400, "model is not found")
            if model not in running:
                fail(400, "model is not running")
            if state.get("busy"):
                s.broke(f"killed {model} at work")  # after the stop timeout
            s.put(status={m: v for m, v in state.get("status", {}).items() if m != model})
            s.unload(model)
        return {"success": True}


def llama_swap(s, method, path, query, body, headers):
    state = s.get()
    key = state.get("api_key")
    if key and path.startswith(("/api/", "/upstream/")):
        need(headers.get("Authorization") == f"Bearer {key}", 401, "unauthorized: invalid or missing API key")
    starting = state.get("starting", [])
    if (method, path) == ("GET", "/running"):
        proxy = f"http://127.0.0.1:{sys.argv[2]}/of/"  # each model has a server of its own; here it is this one, too
        return {"running": [dict({"model": m, "state": "ready", "ttl": 0}, **({"proxy": proxy + m} if state.get("names_proxy", True) else {})) for m in state["loaded"] if m not in starting]}
    if path.startswith(("/upstream/", "/unload")):
        s.broke(f"{path} loads a model, or keeps it loaded")
    if method == "GET" and path.startswith("/of/") and path.endswith("/slots"):
        need("Authorization" not in headers, 400, "this is not the server that the token is for")
        need(state.get("llama_server", True), 404, "File Not Found")  # another program is behind it
        return [{"id": 0, "is_processing": bool(state.get("busy"))}]
    if (method, path) == ("POST", "/api/models/unload"):
        if state.get("busy"):
            s.broke("stopped at work")  # StopImmediately
        s.put(starting=[])
        s.unload()
        return {"msg": "ok"}


def vllm(s, method, path, query, body, headers):
    state = s.get()
    if (method, path) == ("GET", "/load"):
        return {"server_load": 1 if state.get("busy") and state.get("load_tracking", True) else 0}
    if not state.get("dev_mode", True):
        return None  # attach_router adds nothing
    if (method, path) == ("GET", "/is_sleeping"):
        return {"is_sleeping": not state["loaded"] or bool(state.get("asleep"))}
    if (method, path) == ("POST", "/sleep"):
        need(query.get("level", "1").isdigit(), 500, "Internal Server Error")
        need(state.get("sleep_mode", True), 500, "Internal Server Error")  # an assertion in the engine
        if state.get("busy") and query.get("mode", "abort") == "abort":
            s.broke("aborted requests")
        while s.get().get("busy"):
            time.sleep(0.02)
        s.put(asleep=True)
        s.unload()
        return Text("")
    if (method, path) == ("POST", "/wake_up"):
        s.put(asleep=False)
        for model in s.get().get("slept", []):
            s.load(model)
        return Text("")


def sglang(s, method, path, query, body, headers):
    state = s.get()

    def die(why):
        s.broke(why)
        os._exit(1)  # an assertion in the scheduler: the whole engine goes down
    if (method, path) == ("GET", "/get_load"):
        return [{"dp_rank": 0, "num_reqs": 3 if state.get("busy") else 0, "num_waiting_reqs": 0}]
    if (method, path) == ("POST", "/pause_generation"):
        mode = (body or {}).get("mode", "abort")
        need(mode in ("abort", "retract", "in_place"), 422, "Invalid mode")
        if mode == "abort" and state.get("busy"):
            s.broke("aborted requests")
        s.put(paused=True, busy=state.get("busy") or state.get("late_request", False))
        return {"message": "Generation paused successfully.", "status": "ok"}
    if (method, path) == ("POST", "/continue_generation"):
        s.put(paused=False)
        return {"message": "Generation continued successfully.", "status": "ok"}
    if (method, path) == ("POST", "/release_memory_occupation"):
        need_object(body, 422, "body required")
        if state.get("busy"):
            die("release_memory_occupation should be called only when no ongoing request.")
        s.put(released=True)
        s.unload()
        return Text("null")
    if (method, path) == ("POST", "/resume_memory_occupation"):
        need_object(body, 422, "body required")
        if not state.get("released"):
            die("KeyError: offload_tags.remove")
        s.put(released=False)
        for model in s.get().get("slept", []):
            s.load(model)
        return Text("null")


def comfyui(s, method, path, query, body, headers):
    if (method, path) == ("GET", "/queue"):
        return {"queue_running": [[0, "id", {}, {}, []]] if s.get().get("busy") else [], "queue_pending": []}
    if (method, path) == ("POST", "/free"):
        need_object(body, 500, "Internal Server Error")
        if body.get("unload_models"):
            s.when_idle(s.unload)  # flags: read after the job
        return Text("")


def lmstudio(s, method, path, query, body, headers):
    state = s.get()
    token = state.get("api_key")
    need(not token or headers.get("Authorization") == f"Bearer {token}", 401, "unauthorized")
    keys = {instance.split(":")[0] for instance in s.installed()}
    configs = state.get("configs", {})
    if (method, path) == ("GET", "/api/v1/models"):
        return {"models": [{"type": "llm", "key": key, "max_context_length": 32768, "loaded_instances": [
            {"id": i, "config": configs.get(i, {"context_length": 4096})} for i in state["loaded"] if i.split(":")[0] == key]} for key in sorted(keys)]}
    if (method, path) == ("POST", "/api/v1/models/unload"):
        need_object(body)
        need(isinstance(body.get("instance_id"), str), 400, "'instance_id' is required")
        need(body["instance_id"] in state["loaded"], 404, "no such instance")
        s.unload(body["instance_id"])
        return {"instance_id": body["instance_id"]}
    if (method, path) == ("POST", "/api/v1/models/load"):
        need_object(body)
        key, config = body.get("model"), body.get("config", {})
        need(key in keys, 404, f"no model {key}")  # an instance's id is not a model's key
        need(isinstance(config, dict) and set(config) <= set(state.get("config_keys", ["context_length", "flash_attention"])), 400, "Unrecognized key(s)")
        instance = next(i for n in range(1, 99) if (i := key if n == 1 else f"{key}:{n}") not in s.get()["loaded"])
        s.put(configs=dict(configs, **{instance: config}))
        s.load(instance)
        return {"type": "llm", "instance_id": instance, "load_time_seconds": 1.0, "status": "loaded"}


def webui(s, method, path, query, body, headers):
    state = s.get()
    if (method, path) == ("GET", "/sdapi/v1/progress"):
        # shared.state.begin() sets job_count to -1 until the number of jobs is known
        return {"progress": 0, "eta_relative": 0, "state": {"job_count": -1 if state.get("busy") else 0}, "current_image": None, "textinfo": None}
    if (method, path) == ("POST", "/sdapi/v1/unload-checkpoint"):
        if state.get("busy"):
            s.broke("the picture being made lost its model")
        s.unload()
        return {}
    if (method, path) == ("POST", "/sdapi/v1/reload-checkpoint"):
        for model in state.get("slept", []):
            s.load(model)
        return {}


def textgen(s, method, path, query, body, headers):
    state = s.get()
    for key, guarded in (("api_key", "info"), ("admin_key", "load")):
        if state.get(key) and path.endswith(guarded):
            need(headers.get("Authorization") == f"Bearer {state[key]}", 401, "Unauthorized")
    if (method, path) == ("GET", "/v1/internal/model/info"):
        return {"model_name": state["loaded"][0] if state["loaded"] else "None", "lora_names": []}
    if (method, path) == ("POST", "/v1/internal/model/unload"):
        s.unload()
        return Text("null")
    if (method, path) == ("POST", "/v1/internal/model/load"):
        need_object(body, 422)
        need(body.get("model_name") in s.installed(), 400, "Failed to load the model.")
        s.load(body["model_name"])
        return "OK"


def triton(s, method, path, query, body, headers):
    state = s.get()
    if path == "/v2/repository/index":
        need(method == "POST", 405, "Method Not Allowed")
        rows = [{"name": m, "version": v, "state": "READY"} for m in state["loaded"] for v in ("1", "2")]
        return rows + [{"name": "other"}] + [{"name": m, "version": "1", "state": "UNAVAILABLE", "reason": "unloaded"} for m in state.get("slept", [])
                                             if m not in state["loaded"]]
    parts = path.split("/")
    if path.startswith("/v2/repository/models/") and len(parts) == 6 and parts[5] in ("load", "unload"):
        need(method == "POST", 405, "Method Not Allowed")
        need(state.get("explicit", True), 503, "explicit model load / unload is not allowed if polling is enabled")
        model = urllib.parse.unquote(parts[4])
        need(model in s.installed(), 400, f"failed to load '{model}', failed to poll from model repository")
        if parts[5] == "load":
            s.load(model)
        else:
            s.when_idle(lambda: s.unload(model))  # requests in flight are finished first
        return Text("")


KINDS = {"ollama": ollama, "llamacpp": llamacpp, "llama-swap": llama_swap, "vllm": vllm, "sglang": sglang, "comfyui": comfyui,
         "lmstudio": lmstudio, "webui": webui, "textgen": textgen, "triton": triton}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        server = Server(sys.argv[3])
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        url = urllib.parse.urlsplit(self.path)
        with open(sys.argv[3] + ".log", "a") as log:
            log.write(f"{self.command} {self.path} {raw.decode()}\n")
        if server.get().get("dead"):
            self.close_connection = True
            return
        with self.counted(server):  # over before the client can know that it is
            status, out = self.find_answer(server, raw, url)
        with open(sys.argv[3] + ".done", "a") as done:
            done.write(f"{self.command} {self.path}\n")
        data = out.encode() if isinstance(out, Text) else json.dumps(out).encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it was killed meanwhile
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    @contextlib.contextmanager
    def counted(self, server):
        """"peak": the most requests that were there at the same time."""
        global IN_FLIGHT
        with LOCK:
            IN_FLIGHT += 1
            if IN_FLIGHT > server.get().get("peak", 0):
                server.put(peak=IN_FLIGHT)
        try:
            yield
        finally:
            with LOCK:
                IN_FLIGHT -= 1

    def find_answer(self, server, raw, url):
        begin = time.monotonic()
        while time.monotonic() - begin < (state := server.get()).get("slow", 0) or state.get("stuck") and state["stuck"] in self.path:
            time.sleep(0.01)
        try:
            need(not state.get("error"), 500, "internal error")
            body = json.loads(raw) if raw else None
            out = KINDS[sys.argv[1]](server, self.command, url.path, dict(urllib.parse.parse_qsl(url.query)), body, self.headers)
            return (200, out) if out is not None else (404, {"detail": "Not Found"})
        except Refused as refused:
            return refused.status, refused.body
        except ValueError:
            return 400, {"error": "invalid JSON"}

    do_GET = do_POST = answer


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


if __name__ == "__main__":
    Threads(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
