# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for inference servers, as far as the guard speaks with them. What the real one rejects, they reject.

    servers.py KIND PORT STATE

STATE is a JSON file that tests write and read: {"loaded": [...], "busy": bool, "lie": bool, "dead": bool, "slow": seconds}. "lie": says
yes and frees nothing. Each request is appended to STATE.log.

Read in the source:
  llama-swap  mostlygeek/llama-swap proxy/proxymanager.go at 00460400 (GET /running; the unload route itself is in proxymanager_api.go,
              not read)
  sglang      sgl-project/sglang http_server.py (release, resume, get_load), release_memory_occupation() with its assertion of idleness,
              PauseGenerationReqInput; excerpts of several versions, the release not known
  webui       AUTOMATIC1111 modules/api/api.py: the two routes only
Not yet checked against a named version of the source (written from a description of the API): ollama, llamacpp (also that the router's
/slots takes model and autoload), vllm, comfyui, lmstudio, triton, and the rest of webui.
"""
import http.server
import json
import os
import socketserver
import sys
import time
import urllib.parse


class Refused(Exception):
    def __init__(self, status, body):
        self.status, self.body = status, body


class Server:
    def __init__(self, path):
        self.path = path

    def get(self):
        return json.load(open(self.path))

    def put(self, **changes):
        state = dict(self.get(), **changes)
        with open(self.path + ".new", "w") as f:
            json.dump(state, f)
        os.rename(self.path + ".new", self.path)

    def load(self, model):
        state = self.get()
        if model not in state["loaded"]:
            self.put(loaded=state["loaded"] + [model])

    def unload(self, model=None):
        state = self.get()
        if model is not None and model not in state["loaded"]:
            return False
        if not state.get("lie"):
            self.put(loaded=[m for m in state["loaded"] if model is not None and m != model])
        return True


def need(condition, status=400, body="bad request"):
    if not condition:
        raise Refused(status, {"error": body})


def ollama(s, method, path, query, body):
    if (method, path) == ("GET", "/api/ps"):
        return {"models": [{"name": m, "model": m, "size": 1, "size_vram": 1, "expires_at": "2030-01-01T00:00:00Z"} for m in s.get()["loaded"]]}
    if (method, path) == ("POST", "/api/generate"):
        need(isinstance(body, dict) and body.get("model"), 400, "model is required")
        if not body.get("prompt") and body.get("keep_alive") == 0:
            need(s.unload(body["model"]) or True)
            return {"model": body["model"], "done": True, "done_reason": "unload"}
        s.load(body["model"])
        return {"model": body["model"], "done": True, "done_reason": "load"}


def llamacpp(s, method, path, query, body):
    if (method, path) == ("GET", "/models"):
        known = sorted(set(s.get()["loaded"]) | {"other"})
        return {"object": "list", "data": [{"id": m, "status": {"value": "loaded" if m in s.get()["loaded"] else "unloaded"}} for m in known]}
    if (method, path) == ("GET", "/slots"):
        need(query.get("model"), 400, "model name is missing from the request")
        return [{"id": 0, "is_processing": bool(s.get().get("busy"))}]
    if method == "POST" and path in ("/models/load", "/models/unload"):
        need(isinstance(body, dict) and isinstance(body.get("model"), str))
        if path.endswith("unload"):
            need(s.unload(body["model"]), 400, "model is not running")
        else:
            need(body["model"] not in s.get()["loaded"], 400, "model is already running")
            s.load(body["model"])
        return {"success": True}


def llama_swap(s, method, path, query, body):
    if (method, path) == ("GET", "/running"):
        return {"running": [{"model": m, "state": "ready"} for m in s.get()["loaded"]]}
    if method == "POST" and path.startswith("/api/models/unload/"):
        need(s.unload(urllib.parse.unquote(path[len("/api/models/unload/"):])), 404, "Model not found")
        return {"msg": "ok"}


def vllm(s, method, path, query, body):
    if (method, path) == ("GET", "/is_sleeping"):
        return {"is_sleeping": not s.get()["loaded"]}
    if (method, path) == ("POST", "/sleep"):
        need(query.get("level", "1") in ("1", "2"))
        need(query.get("mode", "abort") == "wait" or not s.get().get("busy"), 500, "this would have aborted requests")
        s.put(slept=s.get()["loaded"] or s.get().get("slept", []))
        s.unload()
        return ""
    if (method, path) == ("POST", "/wake_up"):
        for model in s.get().get("slept", []):
            s.load(model)
        return ""


def sglang(s, method, path, query, body):
    if (method, path) == ("GET", "/get_load"):
        return [{"dp_rank": 0, "num_reqs": 3 if s.get().get("busy") else 0, "num_waiting_reqs": 0}]
    if (method, path) == ("POST", "/pause_generation"):
        need((body or {}).get("mode", "abort") in ("abort", "retract", "in_place"), 422, "Invalid mode")
        s.put(paused=True)
        return {"message": "Generation paused successfully.", "status": "ok"}
    if (method, path) == ("POST", "/continue_generation"):
        s.put(paused=False)
        return {"message": "Generation continued successfully.", "status": "ok"}
    if (method, path) == ("POST", "/release_memory_occupation"):
        need(isinstance(body, dict), 422, "body required")
        if s.get().get("busy"):
            s.put(died=True)
            os._exit(1)  # AssertionError in the scheduler: the whole engine goes down
        s.put(slept=s.get()["loaded"])
        s.unload()
        return None
    if (method, path) == ("POST", "/resume_memory_occupation"):
        need(isinstance(body, dict), 422, "body required")
        for model in s.get().get("slept", []):
            s.load(model)
        return None


def comfyui(s, method, path, query, body):
    if (method, path) == ("GET", "/queue"):
        return {"queue_running": [[0, "id", {}, {}, []]] if s.get().get("busy") else [], "queue_pending": []}
    if (method, path) == ("POST", "/free"):
        if body.get("unload_models"):
            s.unload()
        return ""


def lmstudio(s, method, path, query, body):
    if (method, path) == ("GET", "/api/v1/models"):
        return {"models": [{"key": "m", "type": "llm", "loaded_instances": [{"id": m} for m in s.get()["loaded"]]}]}
    if (method, path) == ("POST", "/api/v1/models/unload"):
        need(isinstance(body.get("instance_id"), str), 400, "instance_id is required")
        need(s.unload(body["instance_id"]), 404, "no such instance")
        return {"instance_id": body["instance_id"]}
    if (method, path) == ("POST", "/api/v1/models/load"):
        need(isinstance(body.get("model"), str), 400, "model is required")
        s.load(body["model"])
        return {"type": "llm", "instance_id": body["model"], "status": "loaded"}


def webui(s, method, path, query, body):
    if (method, path) == ("GET", "/sdapi/v1/progress"):
        return {"progress": 0, "eta_relative": 0, "state": {"job_count": 1 if s.get().get("busy") else 0}}
    if (method, path) == ("POST", "/sdapi/v1/unload-checkpoint"):
        s.put(slept=s.get()["loaded"])
        s.unload()
        return {}
    if (method, path) == ("POST", "/sdapi/v1/reload-checkpoint"):
        for model in s.get().get("slept", []):
            s.load(model)
        return {}


def triton(s, method, path, query, body):
    if (method, path) == ("POST", "/v2/repository/index"):
        return [{"name": m, "version": "1", "state": "READY"} for m in s.get()["loaded"]] + [{"name": "other", "state": "UNAVAILABLE"}]
    parts = path.split("/")
    if method == "POST" and path.startswith("/v2/repository/models/") and len(parts) == 6:
        model = urllib.parse.unquote(parts[4])
        need(parts[5] in ("load", "unload"))
        s.unload(model) if parts[5] == "unload" else s.load(model)
        return ""


KINDS = {"ollama": ollama, "llamacpp": llamacpp, "llama-swap": llama_swap, "vllm": vllm, "sglang": sglang, "comfyui": comfyui,
         "lmstudio": lmstudio, "webui": webui, "triton": triton}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_one(self):
        server = Server(sys.argv[3])
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        url = urllib.parse.urlsplit(self.path)
        with open(sys.argv[3] + ".log", "a") as log:
            log.write(f"{self.command} {self.path} {raw.decode()}\n")
        state = server.get()
        if state.get("dead"):
            self.close_connection = True
            return
        time.sleep(state.get("slow", 0))
        try:
            body = json.loads(raw) if raw else None
            answer = KINDS[sys.argv[1]](server, self.command, url.path, dict(urllib.parse.parse_qsl(url.query)), body)
            known = answer is not None or url.path.endswith("memory_occupation")
            status, out = (200, answer) if known else (404, {"error": "not found"})
        except Refused as refused:
            status, out = refused.status, refused.body
        except ValueError:
            status, out = 400, {"error": "invalid JSON"}
        data = b"" if out == "" else json.dumps(out).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = handle_one


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


if __name__ == "__main__":
    Threads(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
