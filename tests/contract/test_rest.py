# SPDX-License-Identifier: Apache-2.0
"""Sections A, B (requests), C (latest) and D of the contract against the running daemon."""
import concurrent.futures
import json
import re
import subprocess
import time

import pytest
import shapes
from conftest import PATIENCE, eventually, throughout
from isolation import ON_WINDOWS

HEALTH = {
    "status": shapes.OneOf("ok", "degraded", "error"), "version": str, "uptime_seconds": shapes.NUMBER,
    "gpu_monitoring": {
        "available": bool, "last_sample_at": shapes.Null(shapes.TIME), "sample_age_seconds": shapes.Null(shapes.NUMBER),
        "sources": [{"name": str, "state": str, "gpu_count": int, "errors_total": int, "consecutive_errors": int,
                     "message": shapes.Null(str)}]},
    "store": {"state": str, "kind": shapes.Null(str), "queued_rows": int, "message": shapes.Null(str)},
    "guard": {"state": str},
}


def test_devices(daemon):
    body = shapes.check(daemon.json("/api/gpu/devices"), shapes.DEVICES)
    assert body["count"] == 2 == len(body["devices"])
    assert [d["index"] for d in body["devices"]] == [0, 1]


def test_no_gpu_is_no_error(start):
    d = start(source=None)
    d.wait_log("GPU features disabled")
    assert d.json("/api/gpu/devices") == {"devices": [], "count": 0}
    driver = shapes.check(d.json("/api/gpu/driver"), shapes.DRIVER)
    assert driver["driver_version"] is None and driver["cuda_driver_version"] is None and driver["nvml_version"] is None
    assert driver["cuda_available"] is False and driver["error_message"]
    assert d.json("/api/gpu/summary")["available"] is False
    assert d.json("/api/gpu/metrics")["gpus"] == []
    assert d.json("/api/system/gpu-stats") == {"gpus": [], "count": 0}
    health = shapes.check(d.json("/api/health"), HEALTH)
    assert health["status"] == "ok" and health["gpu_monitoring"]["available"] is False
    resources = shapes.check(d.json("/api/resources"), shapes.RESOURCES)
    assert resources["gpu_available"] is False and resources["gpu_vram_gb"] == 0.0 and resources["gpu_count"] == 0
    assert d.get("/").status == 200 and "No GPU" in d.get("/", Accept="text/html").body.decode()


def test_a_device_that_cannot_be_read_stays_listed(start):
    d = start(source="sim:gpus=3,scenario=training,fault=lost@1")
    d.wait_sampled()
    devices = shapes.check(d.json("/api/gpu/devices"), shapes.DEVICES)["devices"]
    assert [x["is_available"] for x in devices] == [True, False, True]
    lost = devices[1]
    assert lost["error_message"] and lost["name"]
    for key in ("total_memory_mb", "free_memory_mb", "used_memory_mb", "utilization_percent", "temperature_c"):
        assert lost[key] is None and devices[0][key] is not None
    assert shapes.check(d.json("/api/health"), HEALTH)["status"] == "degraded"


def test_driver_versions(nvml):
    d = nvml("driver 535.104.05\nnvml 12.535.104\ncuda 12020\ngpu NVIDIA GeForce RTX 4090\n")
    d.wait_sampled()
    assert d.json("/api/gpu/driver") == {"driver_version": "535.104.05", "cuda_driver_version": "12.2", "nvml_version": "12.535.104",
                                         "cuda_available": True, "error_message": None,
                                         "drivers": [{"name": "nvidia", "version": "535.104.05", "source": "nvml"}]}


@pytest.mark.parametrize("path", ["/api/gpu/summary", "/api/gpu/metrics", "/api/gpu/devices", "/api/processes"])
def test_every_request_is_answered_with_the_newest_sample(start, path):
    """However long the interval, the answer is of a sample that was taken for it, and says how old that is."""
    d = start("--interval", "600")
    d.wait_age(1)
    reply = d.get(path)
    assert reply.status == 200 and int(reply.headers["x-sample-age-ms"]) <= 500 and reply.headers["age"] == "0", reply.headers


def test_values_are_fresh(start):
    """No older than 250 ms, although samples are a minute apart; and the periodic sample is not replaced by them."""
    d = start("--interval", "60", source="sim:gpus=1,scenario=training,speed=50")
    d.wait_sampled()
    d.wait_age(0.3)
    # Where a busy machine does not take a sample in time, an older one is better than no answer.
    reply = eventually(lambda: int((r := d.get("/api/gpu/devices")).headers["x-sample-age-ms"]) <= 250 and r, explain=d.log)
    assert reply.status == 200 and reply.headers["age"] == "0"


def test_concurrent_requests_share_one_sample(start):
    d = start("--interval", "60", source="sim:gpus=1,scenario=training,fault=slow0.1")
    d.wait_sampled()
    d.wait_age(0.3)
    before, begin = d.json("/api/health")["gpu_monitoring"]["samples_total"], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(lambda _: d.get("/api/gpu/devices"), range(200)))
    took = time.monotonic() - begin
    assert {r.status for r in replies} == {200}
    taken = d.json("/api/health")["gpu_monitoring"]["samples_total"] - before
    assert 1 <= taken <= 1 + took / 0.25, (taken, took)


@pytest.mark.slow
def test_a_hanging_driver_does_not_hang_the_api(start):
    def asked():
        """While it hangs, but is not given up yet: on a busy machine a late sample may look like that, and needs another try."""
        d = start("--interval", "0.5", source="sim:gpus=1,scenario=training,fault=hang:1.5")
        hung = "is hanging in its driver"
        eventually(lambda: d.json("/api/health")["gpu_monitoring"]["last_sample_at"] or hung in d.log(), explain=d.log)
        eventually(lambda: hung in d.log() or d.json("/api/health")["gpu_monitoring"]["sample_age_seconds"] >= 0.8, explain=d.log)  # samples are half a second apart
        begin = time.monotonic()
        reply = d.get("/api/gpu/devices")
        waited.append(time.monotonic() - begin)
        return hung not in d.log() and waited[-1] > 0.3 and (d, reply)

    waited = []
    d, reply = eventually(asked, explain=lambda: waited)
    assert reply.status == 200  # the driver hangs for good, the answer does not
    assert int(reply.headers["x-sample-age-ms"]) > 250
    assert reply.json()["devices"][0]["is_available"] is True
    assert d.get("/api/gpu/metrics").status == 200 and d.get("/api/health").status == 200
    d.wait_log("is hanging in its driver")
    health = eventually(lambda: (h := d.json("/api/health"))["gpu_monitoring"]["sources"][0]["state"] == "hung" and h, explain=d.log)
    assert health["status"] == "degraded"
    assert d.stop()[0] == 0


def test_summary(daemon):
    body = shapes.check(daemon.json("/api/gpu/summary"), shapes.SUMMARY)
    assert body["gpu_count"] == 2 and body["sources"] == ["sim"] and body["answer"]
    assert body["gpus"][0]["top_process"]["name"]


def test_metrics_are_what_the_command_prints(daemon):
    body = shapes.check(daemon.json("/api/gpu/metrics"), shapes.METRICS)
    for gpu in body["gpus"]:
        shapes.check_gpu(gpu)
    printed = shapes.check(json.loads(daemon.whirr("status", "--json").stdout), shapes.METRICS)
    assert printed["gpus"][0].keys() == body["gpus"][0].keys() and printed.keys() == body.keys()


def test_one_gpu(daemon):
    for path, key in (("/api/gpu/metrics", "gpus"), ("/api/gpu/devices", "devices"), ("/api/system/gpu-stats", "gpus"), ("/api/why", "gpus")):
        whole = daemon.json(path)[key]
        one = daemon.json(path + "?gpu=1")[key]
        assert len(whole) == 2 and len(one) == 1
        assert one[0].get("index", one[0].get("gpu_index")) == 1
    assert daemon.get("/api/gpu/metrics?gpu=7").status == 404
    assert daemon.get("/api/gpu/metrics?max_age_ms=soon").status == 400


@pytest.mark.parametrize("path, rows, index", [
    ("/api/gpu/devices", "devices", "index"), ("/api/gpu/metrics", "gpus", "index"), ("/api/gpu/summary", "gpus", "index"), ("/api/gpu/health", "gpus", "gpu_index"),
    ("/api/system/gpu-stats", "gpus", "gpu_index"), ("/api/capacity", "gpus", "gpu_index"), ("/api/forecast", "gpus", "gpu_index"), ("/api/why", "gpus", "gpu_index"),
    ("/api/processes", "processes", "gpu_index"), ("/api/gpu/inventory", "gpus", "gpu_index")])
def test_whatever_lists_gpus_can_be_asked_for_one(daemon, path, rows, index):
    uuid = daemon.json("/api/gpu/metrics")["gpus"][1]["uuid"]
    for query in ("gpu=1", f"gpu={uuid}", "gpu_index=1"):
        body = eventually(lambda: (b := daemon.json(f"{path}?{query}"))[rows] and b)
        assert {row[index] for row in body[rows]} == {1}, (query, body)
    assert daemon.get(f"{path}?gpu=9").status == 404
    assert {row[index] for row in daemon.json(path)[rows]} == {0, 1}


@pytest.mark.parametrize("path", ["/api/leases", "/api/guard", "/api/remedies", "/api/undo"])
def test_what_is_done_about_one_gpu_can_be_asked_for(daemon, path):
    assert daemon.get(path).status == daemon.get(f"{path}?gpu=1").status == 200 and daemon.get(f"{path}?gpu=9").status == 404
    refused = daemon.get(f"{path}?gpux=1")
    assert refused.status == 400 and "did you mean 'gpu'" in refused.json()["error"]["message"], refused.body


def test_a_summary_of_one_gpu_sums_up_that_one(daemon):
    body = daemon.json("/api/gpu/summary?gpu=1")
    shapes.check(body, shapes.SUMMARY)
    assert body["gpu_count"] == 1 and body["totals"]["memory_total_mb"] == body["gpus"][0]["memory_total_mb"] and "GPU 0" not in body["answer"]


def test_alerts_and_stored_rows_of_one_gpu(start, tmp_path):
    (tmp_path / "whirr.toml").write_text('[[alert]]\nname = "busy"\nwhen = "utilization_percent > 1"\n')
    d = start("--interval", "0.2", "--config", str(tmp_path / "whirr.toml"), "--store", f"sqlite:{tmp_path}/h.db", source="sim:gpus=2,scenario=training,start=120")
    eventually(lambda: {a["gpu_index"] for a in d.json("/api/alerts")["alerts"]} >= {0, 1}, explain=d.log)
    one = d.json("/api/alerts?gpu=1")
    assert {a["gpu_index"] for a in one["alerts"]} == {1} and one["counts"]["firing"] == len([a for a in one["alerts"] if a["state"] == "firing"])
    assert d.get("/api/alerts?gpu=9").status == 404
    d.wait_stored(4)
    uuid = d.json("/api/gpu/metrics")["gpus"][1]["uuid"]
    for query in ("gpu=1", f"gpu={uuid}", "gpu_index=1"):
        assert {row["gpu_index"] for row in d.json(f"/api/system/gpu-stats/history?{query}")["rows"]} == {1}
    assert d.get("/api/system/gpu-stats/history?gpu=none").status == 400


def test_processes_and_why(daemon):
    body = shapes.check(daemon.json("/api/processes"), shapes.PS)
    assert {p["gpu_index"] for p in body["processes"]} == {0, 1}
    assert {p["gpu_index"] for p in daemon.json("/api/processes?gpu=1")["processes"]} == {1}
    why = shapes.check(daemon.json("/api/why"), shapes.WHY)
    assert "train.py" in why["answer"] and why["gpus"][0]["causes"][0]["confidence"] > 0.5


def test_health(daemon):
    # Where a busy machine has let no sample be taken for seconds, it is degraded until the next one.
    body = eventually(lambda: (b := shapes.check(daemon.json("/api/health"), HEALTH))["status"] == "ok" and b)
    assert body["gpu_monitoring"]["available"] is True
    assert body["gpu_monitoring"]["sources"][0]["gpu_count"] == 2
    eventually(lambda: daemon.json("/api/health")["gpu_monitoring"]["sample_age_seconds"] < 1)


def test_stats(daemon):
    body = daemon.json("/api/system/gpu-stats")
    shapes.check(body, {"gpus": [{**shapes.STATS_ROW, "recorded_at": shapes.TIME}], "count": int})
    assert body["count"] == 2
    assert all(0 <= row["gpu_utilization_percent"] <= 100 for row in body["gpus"])
    # Floats, also where the value is whole.
    assert re.search(r'"temperature_celsius": ?\d+\.\d', daemon.get("/api/system/gpu-stats").body.decode())


def test_resources(daemon):
    body = shapes.check(daemon.json("/api/resources"), shapes.RESOURCES)
    assert all(not isinstance(v, (dict, list)) for v in body.values())
    assert body["gpu_count"] == 2 and body["gpu_source"] == "sim" and body["gpu_vram_gb"] == body["gpu_free_vram_gb"]

    def at_once():
        begin = time.monotonic()
        daemon.get("/api/resources")
        return time.monotonic() - begin < 0.05
    eventually(at_once)  # the others had to wait for their turn on a busy machine


def test_prometheus_names(daemon):
    reply = daemon.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = reply.body.decode()
    for name, kind in [("gpu_other_processes_count", "gauge"), ("gpu_temperature_celsius", "gauge"), ("gpu_utilization_percent", "gauge"),
                       ("gpu_power_watts", "gauge"), ("gpu_memory_free_bytes", "gauge"), ("gpu_memory_total_bytes", "gauge"),
                       ("gpu_evictions_total", "counter"), ("nvml_query_errors_total", "counter"), ("nvml_init_failures_total", "counter")]:
        assert f"# TYPE {name} {kind}\n" in text, name
    assert int(re.search(r"^whirr_http_requests_total\{.*\} (\d+)$", text, re.M).group(1)) >= 0


def test_the_page_needs_no_scripts(daemon):
    reply = daemon.get("/plain", Accept="text/html,*/*;q=0.1")
    text = reply.body.decode()
    assert reply.status == 200 and reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script" not in text and "http-equiv=\"refresh\"" in text and "style=" not in text
    eventually(lambda: daemon.json("/api/why")["answer"].split(":")[0].split(" (")[0] in daemon.get("/plain", Accept="text/html").body.decode())  # of one sample
    assert "simulated" in text and "python3" in text
    # Numbers as everywhere else.
    assert re.search(r"<dt>VRAM</dt><dd>[\d.]+/[\d.]+ GiB<", text) and re.search(r"<dt>Power</dt><dd>\d+/\d+ W<meter min=\"0\" max=\"100\" high=\"101\"", text) and re.search(r"<td class=\"n\">[\d.]+ [GM]iB</td>", text)
    for path, kind in (("/style.css", "text/css"), ("/icon.svg", "image/svg+xml")):
        assert daemon.get(path).headers["content-type"].startswith(kind)


def test_the_dashboard_carries_the_plain_page_for_browsers_without_scripts(daemon):
    reply = daemon.get("/", Accept="text/html")
    text = reply.body.decode()
    version = re.search(r'"(/web/[0-9a-f]{8})/app.js"', text)
    if not version:
        pytest.skip("built without the dashboard")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy and "unsafe" not in policy and "http" not in policy
    head, plain = text.split("<noscript>")[1:]
    assert "http-equiv=\"refresh\"" in head.split("</noscript>")[0] and "simulated" in plain and "python3" in plain
    # The one script is a file of this server's, nothing comes from elsewhere, and what is written into the page is data.
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.S)
    assert [body for head, body in scripts if "application/json" not in head] == [""] and "style=" not in text and not re.search(r"(https?:)?//[a-z]", text)
    first = {re.search(r'id="([^"]*)"', head)[1]: json.loads(body) for head, body in scripts if "application/json" in head}
    assert first["first-metrics"]["gpus"][0]["utilization_percent"] is not None
    assert [g["gpu_index"] for g in first["first-health"]["gpus"]] == [g["gpu_index"] for g in first["first-forecast"]["gpus"]] == [0, 1] and first["first-history"] is False and isinstance(first["first-utc-offset"], int)
    assert first["first-why"]["severity"] in ("info", "warning", "critical") and first["first-why"]["gpu_index"] in (0, 1)
    sizes = {path: len(daemon.get(path, Accept_Encoding="gzip").body) for path in re.findall(r'(?:src|href)="(/[^"]*)"', text.split("<body>")[0])}
    web = version[1]
    sizes[f"{web}/below.js"] = len(daemon.get(f"{web}/below.js", Accept_Encoding="gzip").body) # which the script loads
    # Files are named by their content: kept for good, and gone with another version.
    assert "immutable" in daemon.get(f"{web}/app.js").headers["cache-control"] and daemon.get("/web/app.js").headers["cache-control"] == "no-cache"
    assert daemon.get("/web/00000000/app.js").status == 404
    assert {f"{web}/app.js", f"{web}/app.css", f"{web}/chunk.js"} <= sizes.keys() and sum(sizes.values()) + len(daemon.get("/", Accept="text/html", Accept_Encoding="gzip").body) < 150 * 1024, sizes
    for path in ("/?at=2026-11-15T03:10:00Z", "/?from=-2h&to=-1h"):
        assert daemon.get(path, Accept="text/html").status == 200


def test_settings_have_their_origin_and_no_secrets(start, tmp_path):
    (tmp_path / "whirr.toml").write_text('[energy]\nprice_per_kwh = 0.31\n[notify.desk]\ntype = "webhook"\nurl = "http://127.0.0.1:1/very-secret"\n')
    d = start(WHIRR_CONFIG=str(tmp_path / "whirr.toml"), WHIRR_ENERGY_CURRENCY="EUR")
    d.wait_sampled()
    body = d.json("/api/settings")
    found = {s["key"]: s for s in body["settings"]}
    assert body["files"] == [str(tmp_path / "whirr.toml")] and "very-secret" not in json.dumps(body)
    assert (found["energy.price_per_kwh"]["value"], found["energy.price_per_kwh"]["origin"], found["energy.price_per_kwh"]["line"]) == (0.31, "file", 2)
    assert (found["energy.currency"]["origin"], found["energy.currency"]["where"]) == ("environment", "WHIRR_ENERGY_CURRENCY")
    assert found["server.max_age_ms"]["origin"] == "default"
    assert d.ask("POST", "/api/settings", body="{}").status == 405


def test_other_pages_get_a_widget_a_badge_and_a_tile(start):
    d = start(source="sim:gpus=2,scenario=training,fault=lost@1")
    d.wait_sampled()
    whole, one, gpus = d.json("/api/widget"), d.json("/api/widget?gpu=0"), d.json("/api/gpu/metrics")["gpus"]
    assert whole["state"] == "critical" and one["state"] in ("ok", "warning") and [g["gpu_index"] for g in one["gpus"]] == [0]
    assert whole["gpu_count"] == 2 and whole["gpus"][1]["text"] == "–" and whole["gpus"][1]["power_watts"] is None
    assert one["memory_total_gib"] == pytest.approx(gpus[0]["memory_total_mb"] / 1024) and " °C, " in one["text"]
    badge = d.get("/badge.svg")
    assert badge.headers["content-type"] == "image/svg+xml" and ">critical<" in badge.body.decode() and ">GPU<" in d.get("/badge.svg?gpu=0").body.decode()
    tile = d.get("/tile?gpu=0", Accept="text/html")
    assert "GPU 0" in tile.body.decode() and "GPU 1" not in tile.body.decode() and "frame-ancestors 'none'" in tile.headers["content-security-policy"]
    for path in ("/api/widget", "/badge.svg", "/tile"):
        assert d.get(path + "?gpu=9").status == 404
    allowed = start(source="sim", WHIRR_SERVER_CORS_ORIGINS="https://home.example,ftp://no.example")
    allowed.wait_sampled()
    assert allowed.get("/tile", Accept="text/html").headers["content-security-policy"].endswith("frame-ancestors https://home.example")
    assert "frame-ancestors 'none'" in allowed.get("/", Accept="text/html").headers["content-security-policy"]


def test_interval_from_the_environment_and_the_flag_wins(start):
    d = start(source="sim", GPU_POLL_INTERVAL_SECONDS="0.25")
    d.wait_sampled()
    eventually(lambda: d.json("/api/health")["status"] == "ok")
    first = d.json("/api/health")["gpu_monitoring"]["last_sample_at"]
    eventually(lambda: d.json("/api/health")["gpu_monitoring"]["last_sample_at"] != first)
    d = start("--interval", "600", source="sim", GPU_POLL_INTERVAL_SECONDS="0.25")
    d.wait_sampled()
    first = d.json("/api/health")["gpu_monitoring"]["last_sample_at"]
    throughout(0.8, lambda: d.json("/api/health")["gpu_monitoring"]["last_sample_at"] == first)


def test_curl_understands_every_endpoint(daemon):
    for path in ("/api/gpu/devices", "/api/gpu/driver", "/api/gpu/summary", "/api/gpu/metrics", "/api/health", "/api/processes", "/api/why",
                 "/api/resources", "/api/system/gpu-stats", "/metrics", "/"):
        for more in ([], ["--compressed"], ["--http1.0"], ["--unix-socket", daemon.sock])[:3 if ON_WINDOWS else 4]:
            done = subprocess.run(["curl", "-sS", "--fail", "-m", str(PATIENCE), *more, daemon.url + path], capture_output=True)
            assert done.returncode == 0 and done.stdout, (path, more, done.stderr)


@pytest.mark.parametrize("source", ["sim:gpus=8,vendor=amd", "sim:gpus=4,scenario=mixed", "sim:gpus=1,scenario=mig", "sim:scenario=asleep",
                                    "sim:gpus=256,scenario=training"])
def test_shapes_hold_on_every_machine(start, source):
    d = start(source=source)
    d.wait_sampled()
    shapes.check(d.json("/api/gpu/devices"), shapes.DEVICES)
    shapes.check(d.json("/api/gpu/summary"), shapes.SUMMARY)
    for gpu in shapes.check(d.json("/api/gpu/metrics"), shapes.METRICS)["gpus"]:
        shapes.check_gpu(gpu)
    shapes.check(d.json("/api/why"), shapes.WHY)
    shapes.check(d.json("/api/resources"), shapes.RESOURCES)


def test_before_the_first_sample_no_answer_says_that_there_is_no_gpu(nvml, tmp_path):
    """A driver that takes its time: the answer says so, at once after the first half second; then it is there."""
    card = "gpu NVIDIA GeForce RTX 4090\n"

    def look(d):
        body = d.json("/api/gpu/summary")
        assert body["gpu_count"] == 0 and "starting" in body["answer"] and "No GPU" not in body["answer"]
        why = d.json("/api/why")
        assert "starting" in why["answer"] and "GPU" not in json.dumps(why["machine"])
        assert "starting" in d.json("/api/gpu/driver")["error_message"]
        assert d.get("/api/gpu/metrics?gpu=0").status == 503 and d.get("/api/snapshot").json()["error"]["code"] == "starting"
        page = d.get("/", Accept="text/html").body.decode()
        assert "starting" in page and "No GPU" not in page

    def at_once(d):
        begin = time.monotonic()
        d.json("/api/gpu/summary")
        return time.monotonic() - begin < 0.25

    def looked():
        """Within the 5 s after which a driver that hangs is given up; a busy machine may need another try."""
        begin, d = time.monotonic(), nvml("hang nvmlInit_v2\n" + card)
        try:
            for _ in range(4):
                look(d)
            return at_once(d) and d  # some may be delayed, but not all by the half second
        except AssertionError:
            if time.monotonic() - begin < 4.5:
                raise

    d = eventually(looked)
    (tmp_path / "new").write_text(card)
    (tmp_path / "new").rename(tmp_path / "script")
    eventually(lambda: d.json("/api/gpu/summary")["gpu_count"] == 1)
    assert d.get("/api/gpu/metrics?gpu=0").status == 200


def test_the_wait_for_the_first_sample_ends_with_it(nvml):
    """Who asks meanwhile is answered when it is there, not at the end of the half second that is the most."""
    def waited():
        d = nvml("hang nvmlInit_v2 0.2\ngpu NVIDIA GeForce RTX 4090\n")
        reply = d.get("/api/gpu/devices")
        d.stop()
        return reply.json()["count"] == 1 and int(reply.headers["x-sample-age-ms"]) < 150

    eventually(waited)  # a busy machine may need another try
