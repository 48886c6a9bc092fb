# SPDX-License-Identifier: Apache-2.0
"""Forecasts of the running daemon: what it says of a leak, to clients, Prometheus, alert rules and the command."""
import json
import re
import time

import pytest
import shapes
from conftest import BUILD, Starter, eventually

WHEN = {"verdict": shapes.OneOf("unknown", "no_trend", "never", "expected", "reached"), "reason": str, "at": shapes.Null(shapes.TIME),
        "seconds": shapes.Null(shapes.NUMBER), "earliest_seconds": shapes.Null(shapes.NUMBER),
        "latest_seconds": shapes.Null(shapes.NUMBER), "basis_seconds": shapes.Null(shapes.NUMBER)}
MEMORY = {**WHEN, "used_mb": shapes.Null(int), "room_mb": shapes.Null(int), "growth_mb_per_minute": shapes.Null(shapes.NUMBER),
          "process": shapes.Null({"pid": int, "name": str, "user": str})}
TEMPERATURE = {**WHEN, "temperature_celsius": shapes.Null(shapes.NUMBER), "limit_celsius": shapes.Null(shapes.NUMBER),
               "final_celsius": shapes.Null(shapes.NUMBER), "time_constant_seconds": shapes.Null(shapes.NUMBER)}
FORECAST = {"timestamp": shapes.Null(shapes.TIME), "host": shapes.Null(str), "answer": str, "simulated": bool, "remembered": bool,
            "watched_seconds": shapes.NUMBER, "store": shapes.Null(dict),
            "gpus": [{"gpu_index": int, "gpu_name": str, "gpu_uuid": shapes.Null(str), "memory": MEMORY, "temperature": TEMPERATURE}]}


QUIET = """
driver 580.159.04
gpu NVIDIA H200
  profile h200
"""


@pytest.fixture(scope="module", autouse=True)
def quiet(tmp_path_factory):
    """A daemon that writes the history of an idle card, while the other tests run: it takes 10 s until that is worth something."""
    folder = tmp_path_factory.mktemp("quiet")
    library = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
    if not library.exists():
        yield None
        return
    (folder / "script").write_text(QUIET)
    starter, store = Starter(folder), f"sqlite:{folder}/history.db"
    yield starter("--interval", "0.2", "--store", store, source="nvml", WHIRR_NVML_LIBRARY=str(library),
                  WHIRR_FAKE_NVML=str(folder / "script"), WHIRR_STORE_URL=store)
    starter.stop()


@pytest.mark.slow
def test_a_leak_is_foreseen(start, tmp_path):
    # Fast enough to be seen within the shortest stretch that is believed (10 s), slow enough not to be over by then.
    rules = tmp_path / "rules.toml"
    rules.write_text('[[alert]]\nname = "filling"\nwhen = "vram_full_seconds < 10min"\nfor = "0s"\nseverity = "warning"\n')
    d = start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/whirr.db", "--config", str(rules),
              source="sim:scenario=vram-leak,start=850,speed=2")
    first = shapes.check(d.json("/api/forecast"), FORECAST)
    assert first["remembered"] and all(g["memory"]["seconds"] is None for g in first["gpus"])

    def expected():
        body = shapes.check(d.json("/api/forecast"), FORECAST)
        return body if body["gpus"] and body["gpus"][0]["memory"]["verdict"] == "expected" else None

    body = eventually(expected)
    memory = body["gpus"][0]["memory"]
    assert memory["earliest_seconds"] <= memory["seconds"] <= memory["latest_seconds"] < 300
    assert memory["process"]["name"] == "python3" and memory["growth_mb_per_minute"] > 1000
    assert "memory full in" in body["answer"] and "has been growing by" in body["answer"]
    assert body["store"]["cap_bytes"] > 0 and body["store"]["disk_free_bytes"] > 0

    # Should the GPU be full by now, its server dies and leaks again: then the forecast comes again, too.
    metrics = eventually(lambda: re.search(r'^gpu_memory_full_seconds\{gpu="0",.*\} [\d.]+$', m := d.get("/metrics").body.decode(), re.M) and m)
    assert "gpu_throttle_forecast_seconds{" not in metrics

    firing = eventually(lambda: [a for a in d.json("/api/alerts")["alerts"] if a["alert"] == "filling" and a["state"] == "firing"])
    assert firing[0]["gpu_index"] == 0

    # The command asks the daemon: no waiting, the same answer.
    eventually(lambda: re.search(r"GPU 0 +memory +full in (\d+s|\d+m( \d+s)?) +\d\d:\d\d.*growing by", d.whirr("forecast").stdout.replace("\n", " ")), explain=d.log)

    def the_same():
        known, said = expected(), json.loads(d.whirr("forecast", "--json", "--gpu", "0").stdout)
        process = said["gpus"][0]["memory"]["process"]
        return known and said["remembered"] and process and process["pid"] == known["gpus"][0]["memory"]["process"]["pid"]
    eventually(the_same, explain=d.log)


def test_one_gpu_or_none(daemon):
    eventually(lambda: daemon.json("/api/forecast")["gpus"])  # the first sample
    assert [g["gpu_index"] for g in daemon.json("/api/forecast?gpu=1")["gpus"]] == [1]
    reply = daemon.get("/api/forecast?gpu=99")
    assert reply.status == 404 and reply.json()["error"]["code"] == "no_such_gpu"
    assert daemon.ask("POST", "/api/forecast").status == 405


def test_no_gpu_is_no_error(start):
    d = start(source=None)
    d.wait_log("GPU features disabled")
    body = shapes.check(d.json("/api/forecast"), FORECAST)
    assert body["gpus"] == [] and body["answer"]


@pytest.mark.slow
def test_a_fresh_history_is_read_instead_of_waiting(quiet):
    if not quiet:
        pytest.skip("the fake NVML library was not built")
    eventually(lambda: quiet.json("/api/system/gpu-stats/history?limit=10000&until=-11s")["rows"], explain=quiet.log)  # what is stored reaches so far back
    quiet.stop()
    file = quiet.folder.parent / "history.db"
    written = file.stat().st_mtime_ns

    def at_once():
        """Without history it watches for 20 s; a busy machine may need another try."""
        begin = time.monotonic()
        body = json.loads(quiet.whirr("forecast", "--json").stdout)
        return time.monotonic() - begin < 20 and body

    body = eventually(at_once)
    assert body["remembered"] is False and body["watched_seconds"] > 8
    assert body["gpus"][0]["memory"]["verdict"] == "no_trend" and body["gpus"][0]["temperature"]["verdict"] == "never"
    assert file.stat().st_mtime_ns == written
