# SPDX-License-Identifier: Apache-2.0
"""Section G: the description of the API is valid, complete and true; a generated client works; the page works offline."""
import json
import re
import shutil
import subprocess
import time

import pytest
import shapes
from conftest import eventually


@pytest.mark.slow
def test_the_description_is_true(start, node, tmp_path):
    """Valid OpenAPI 3.1, its examples fit, and so does every real answer and event."""
    answers, events = [], []
    # Repeated, so that a client that connects at any time still gets it.
    lost = ",".join(f"fault=lost@1:{begin}-{begin + 4}" for begin in range(4, 64, 8))
    for source in ("sim:gpus=2,scenario=bursty,speed=20", f"sim:gpus=3,scenario=mixed,{lost}", "sim:scenario=asleep", "sim:gpus=1,scenario=mig", None):
        d = start("--interval", "0.1", source=source)
        d.wait_log("source started|source closed|no source")
        # Every operation that is described (that every route is, test_openapi.c checks), and some that go wrong.
        asked = [(method.upper(), path, path) for path, methods in d.json("/openapi.json")["paths"].items() for method in methods]
        asked += [("GET", "/api/gpu/metrics", "/api/gpu/metrics?gpu=99"), ("GET", "/api/gpu/devices", "/api/gpu/devices?max_age_ms=x"),
                  ("GET", "/api/processes", "/api/processes?show_secrets=true"), ("GET", "/api/system/gpu-stats/history", "/api/system/gpu-stats/history?limit=0"),
                  ("POST", "/socket.io/", "/socket.io/?EIO=4&transport=polling&sid=x")]
        for method, path, target in asked:
            reply = d.ask(method, target, Accept="*/*")
            body = reply.body.decode(errors="replace") if reply.headers.get("content-type", "").startswith("application/json") else None
            answers.append({"path": path, "method": method, "status": reply.status, "type": reply.headers.get("content-type"), "body": body})
        for body, status in (('{"for_seconds": 0}', 200), ("x", 400)):
            reply = d.ask("POST", "/api/source/release", body=body, unix=True)
            assert reply.status == status
            answers.append({"path": "/api/source/release", "method": "POST", "status": status, "type": "application/json", "body": reply.body.decode()})
        if source:
            with node("ws.mjs", f"ws://127.0.0.1:{d.port}/ws") as client:
                client.wait("gpu_status_update", 5)
                if "bursty" in source:
                    client.wait("high_gpu_usage_alert")
                if "lost" in source:
                    client.wait("gpu_event")
                client.send(text="?")
                client.wait("error")
                heard = [e for e in client.events if e[0] != "open"]
                rare = [e for e in heard if e[0] not in ("gpu_stats", "gpu_status_update")]
                events += [{"name": e[0], "data": e[1]} for e in rare + heard[:100]]
    told = {e["name"] for e in events}
    assert {"gpu_status", "gpu_status_update", "gpu_stats", "high_gpu_usage_alert", "gpu_event", "error"} <= told
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"answers": answers, "events": events}))
    with node("check-openapi.mjs", start.running[0].url, str(file)) as check:
        result = check.wait("checked")[0]
    assert result["problems"] == [], json.dumps(result["problems"], indent=1)[:6000]
    assert result["checked"] > 100


# What clients of others ask for: these may send what they like.
TAKES_ANYTHING = {"/api/gpu/devices", "/api/gpu/driver", "/api/gpu/metrics", "/api/gpu/summary", "/api/health", "/api/resources", "/api/system/gpu-stats", "/api/system/gpu-stats/history"}


def test_parameters_are_those_of_the_description_and_others_are_refused(daemon):
    described = daemon.json("/openapi.json")
    paths = {path: methods["get"] for path, methods in described["paths"].items() if path.startswith("/api/") and "get" in methods}
    assert TAKES_ANYTHING < set(paths)
    for path, operation in paths.items():
        listed = operation.get("parameters", [])
        for name in [p["name"] for p in listed]:
            reply = daemon.get(f"{path}?{name}=")  # which may make no sense, but is known
            assert b"unknown_parameter" not in reply.body, (path, name, reply.body)
        reply = daemon.get(f"{path}?&gpux=1")
        if path == "/api/why/lines":
            assert reply.status == 401  # who may not ask is not told how
        elif path in TAKES_ANYTHING:
            assert b"unknown_parameter" not in reply.body, (path, reply.body)
        else:
            assert reply.status == 400 and reply.json()["error"]["code"] == "unknown_parameter" and "'gpux'" in reply.json()["error"]["message"], (path, reply.status, reply.body)
            assert "gpu" not in [p["name"] for p in listed] or "did you mean 'gpu" in reply.json()["error"]["message"], (path, reply.body)
    assert daemon.get("/?gpux=1").status == daemon.get("/metrics?match=1").status == 200


def beyond(schema):
    """Values that the description excludes."""
    if "enum" in schema:
        return ["nothing-of-these", schema["enum"][0].upper()]
    if schema["type"] == "boolean":
        return ["perhaps"]
    steps = [("minimum", -1), ("maximum", 1)]
    return ["x", "1e400"] + [str(schema[key] + step) for key, step in steps if key in schema] if schema["type"] in ("integer", "number") else []


def test_what_the_description_excludes_is_refused(daemon):
    tried, paths = 0, daemon.json("/openapi.json")["paths"]
    for path, name, schema in [(path, p["name"], p["schema"]) for path, methods in paths.items() if path not in ("/api/why/lines", "/socket.io/")
                               for p in methods.get("get", {}).get("parameters", [])]:
        for value in beyond(schema):
            reply = daemon.get(f"{path}?{name}={value}")
            assert reply.status == 400 and reply.json()["error"]["code"] == "bad_parameter", (path, name, value, reply.status, reply.body)
            assert reply.json()["error"]["message"].startswith(f"{name} must be "), (path, name, value, reply.body)
            tried += 1
    assert tried > 80, tried


def test_every_operation_is_described(daemon):
    """In words of its own beside the summary."""
    for path, methods in daemon.json("/openapi.json")["paths"].items():
        for method, operation in methods.items():
            words = operation.get("description", "")
            assert words.endswith((".", "`", "?", ")")) and words.rstrip(".") != operation["summary"], (method, path, words)


def test_other_tools_find_nothing_wrong_with_the_description(daemon, node, tmp_path):
    """swagger-parser, Redocly with its recommended rules, and openapi-typescript, whose types TypeScript accepts."""
    with node("check-with-others.mjs", daemon.url, str(tmp_path)) as client:
        found = client.wait("checked")[0]
    assert found["problems"] == [], json.dumps(found["problems"], indent=1)[:6000]
    assert found["paths"] == len(daemon.json("/openapi.json")["paths"]) > 50 and found["types"] > 100000


def test_a_generated_client(start, node, tmp_path):
    daemon = start("--interval", "60")  # which is not late for minutes
    with node("generated.mjs", daemon.url, str(tmp_path / "client")) as client:
        refused = client.wait("refused")[0]
        shapes.check(client.named("devices")[0], shapes.DEVICES)
        assert [g["index"] for g in client.named("one")[0]["gpus"]] == [1]
        shapes.check(client.named("summary")[0], shapes.SUMMARY)
        shapes.check(client.named("why")[0], shapes.WHY)
        assert client.named("health")[0]["status"] == "ok"
        assert refused[0] == 404 and refused[1]["error"]["code"] == "no_such_gpu"


def test_the_page_is_served_by_the_program_alone(daemon):
    page = daemon.get("/docs", Accept="text/html")
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    text = page.body.decode()
    if "built without" in text:
        pytest.skip("built without the interactive page")
    assert not re.search(r"(https?:)?//[a-z]", text)
    links = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert links and all(link.startswith("/") for link in links)
    for link in links:
        reply = daemon.get(link, Accept_Encoding="gzip")
        assert reply.status == 200 and reply.body
    script = daemon.get("/docs/swagger-ui-bundle.js", Accept_Encoding="gzip")
    assert script.headers["content-encoding"] == "gzip" and "charset=utf-8" in script.headers["content-type"]
    assert daemon.get("/docs/swagger-ui-bundle.js", Accept_Encoding="gzip", If_None_Match=script.headers["etag"]).status == 304
    assert len(daemon.get("/docs/swagger-ui-bundle.js").body) > 2 * len(script.body)
    assert daemon.ask("POST", "/docs/docs.js").headers["allow"] == "GET, HEAD, OPTIONS"


def browser():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.parametrize("path, words, wait", [
    ("/plain", ["whirr", "simulated", "python3", "GPU 0"], []),
    ("/docs#/GPUs/getDevices", ["/api/gpu/devices", "Execute", "max_age_ms", "/api/source/release"], ["--virtual-time-budget=8000"]),
])
def test_a_browser_shows_the_pages(daemon, tmp_path, path, words, wait):
    if not browser():
        pytest.skip("no chromium (tools/deps test)")
    if path != "/plain" and b"built without" in daemon.get("/docs").body:
        pytest.skip("built without the interactive page")
    done = subprocess.run([browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}",
                           *wait, "--enable-logging=stderr", "--v=0", "--dump-dom", daemon.url + path],
                          capture_output=True, text=True, timeout=120)
    for word in words:
        assert word in done.stdout, (word, done.stdout[-2000:], done.stderr[-2000:])
    # The content policy does not get into its own page's way.
    assert "Content Security Policy" not in done.stderr, done.stderr[-3000:]
