# SPDX-License-Identifier: Apache-2.0
"""Capacity and placement in the daemon, and the machine around the GPUs in every interface: one truth in all of them."""
import re
import sqlite3
import time

import pytest
import shapes
from conftest import PATIENCE, eventually

from .test_postgres import URL as POSTGRES

N, NULL = shapes.NUMBER, shapes.Null
CAPACITY = {"timestamp": shapes.TIME, "host": NULL(str), "tracking": bool, "guard": bool, "gpus": [{
    "gpu_index": int, "instance": NULL(int), "uuid": NULL(str), "name": NULL(str), "usable": bool, "problem": NULL(str), "memory_total_mb": NULL(N),
    "memory_free_mb": NULL(N), "reserve_mb": N, "available_mb": NULL(N), "reclaimable_mb": NULL(N), "free_least_1h_mb": NULL(N),
    "free_least_24h_mb": NULL(N), "watched_seconds": int, "workers": list, "course": [{"from": shapes.TIME, "free_least_mb": N}]}]}
PLACEMENT = {"fits": NULL(bool), "fits_now": NULL(bool), "gpus": [int], "reason": str, "missing_mb": NULL(N), "would_evict": [str],
             "size_mb": N, "count": int, "placements": [{"gpus": [{"gpu_index": int, "memory_mb": N, "layers": NULL(int)}], "env": dict}]}


def sampled(daemon, path="/api/capacity"):
    eventually(lambda: daemon.get("/api/capacity").status == 200, explain=daemon.log)
    return daemon.json(path)


def series(daemon):
    """By name and labels, without those that all series have."""
    found = re.finditer(r"^(\S+(?:\{.*\})?) (\S+)$", daemon.get("/metrics").body.decode(), re.M)
    return {re.sub(r'(\{|,)host="[^"]*"\}', lambda m: "}" if m[1] == "," else "", m[1]): float(m[2]) for m in found}


def test_capacity_is_what_the_driver_calls_free(daemon):
    body = shapes.check(sampled(daemon), CAPACITY)
    assert body["tracking"] is True and len(body["gpus"]) == 2
    for gpu in body["gpus"]:
        assert gpu["available_mb"] == gpu["memory_free_mb"] - gpu["reserve_mb"] and gpu["reclaimable_mb"] == 0
        assert gpu["free_least_1h_mb"] <= gpu["memory_free_mb"] and gpu["course"][-1]["free_least_mb"] >= gpu["free_least_24h_mb"]
        assert gpu["watched_seconds"] >= 60


def test_placement_answers_for_sizes(daemon):
    room = max(g["available_mb"] for g in sampled(daemon)["gpus"])
    body = shapes.check(daemon.json("/api/placement?bytes=1GiB"), PLACEMENT)
    assert body["fits"] is True and len(body["gpus"]) == 1 and body["size_mb"] == 1024
    assert body["placements"][0]["env"]["CUDA_VISIBLE_DEVICES"].startswith("GPU-")
    no = shapes.check(daemon.json(f"/api/placement?bytes={int(room + 10000) << 20}&gpus=1"), PLACEMENT)
    assert no["fits"] is False and 9000 < no["missing_mb"] < 20000 and no["gpus"] == []
    two = shapes.check(daemon.json("/api/placement?bytes=536870912&count=2&evict=false"), PLACEMENT)
    assert two["count"] == 2 and len(two["placements"]) == 2
    assert daemon.json("/api/placement?bytes=1GiB&gpu=1")["gpus"] == [1]


@pytest.mark.parametrize("query", ["", "?bytes=", "?bytes=x", "?bytes=-1", "?bytes=0", "?bytes=1e9", "?bytes=9223372036854775807", "?bytes=1&gpus=0", "?bytes=1&gpus=99",
                                   "?bytes=1&count=x", "?bytes=1&evict=perhaps"])
def test_a_wrong_question_is_400(daemon, query):
    sampled(daemon)
    reply = daemon.get("/api/placement" + query)
    assert reply.status == 400 and reply.json()["error"]["code"] == "bad_parameter"


def test_the_memory_is_that_of_the_moment(nvml):
    """Not of the last sample, which may be a minute old."""
    script = "gpu NVIDIA H200\n  total 40000\n  used {}\n".format
    d = nvml(script(1000), "--interval", "60")
    before = d.json("/api/capacity")["gpus"][0]["memory_free_mb"]
    (d.folder.parent / "new").write_text(script(31000))
    (d.folder.parent / "new").rename(d.folder.parent / "script")
    after = eventually(lambda: (free := d.json("/api/capacity?max_age_ms=0")["gpus"][0]["memory_free_mb"]) != before and free, explain=d.log)
    assert before - after == 30000
    assert d.json("/api/placement?bytes=20GiB&max_age_ms=0")["fits"] is False


def test_an_unknown_gpu_is_404(daemon):
    sampled(daemon)
    assert daemon.get("/api/placement?bytes=1&gpu=77").status == 404


def test_metrics_say_the_same(daemon):
    sampled(daemon)
    found = series(daemon)
    for name in ("gpu_memory_available_bytes", "gpu_memory_desktop_reserve_bytes", "gpu_memory_reclaimable_bytes"):
        assert len([s for s in found if s.startswith(name + "{")]) == 2, name
    assert {"1h", "24h"} == {re.search(r'window="(\w+)"', s)[1] for s in found if s.startswith("gpu_memory_free_least_bytes{")}
    free = {re.search(r'gpu="(\d+)"', s)[1]: v for s, v in found.items() if s.startswith("gpu_memory_free_bytes{")}
    least = {re.search(r'gpu="(\d+)"', s)[1]: v for s, v in found.items() if s.startswith("gpu_memory_free_least_bytes{") and "24h" in s}
    assert all(least[gpu] <= free[gpu] for gpu in free)


def test_tracking_can_be_switched_off(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[worker]\nenable_capacity_tracking = false\nreserve = "1GiB"\n')
    d = start("--interval", "0.1", "--config", str(config))
    body = shapes.check(sampled(d), CAPACITY)
    assert body["tracking"] is False
    for gpu in body["gpus"]:
        assert gpu["reserve_mb"] == 1024 and gpu["free_least_1h_mb"] is None and gpu["course"] == [] and gpu["watched_seconds"] == 0
    assert not [s for s in series(d) if s.startswith("gpu_memory_free_least_bytes")]


def test_the_day_before_comes_from_the_history(start, tmp_path):
    file = tmp_path / "history.db"
    first = start("--interval", "0.1", "--store", f"sqlite:{file}", source="sim:gpus=1,scenario=idle")
    first.wait_stored(5)
    first.stop()
    # Three hours ago, less was free than ever since.
    base = sqlite3.connect(file)
    at = int(time.time() * 1000) - 3 * 3600 * 1000
    gpu = base.execute("SELECT id FROM gpus").fetchone()[0]
    base.execute("INSERT INTO samples (id, gpu_index, mem_free_bytes) VALUES (?, 0, ?)", (at * 16384 + gpu, 123 << 20))
    base.execute("INSERT OR IGNORE INTO pending VALUES (0, 1, ?, ?)", (gpu, at // 60000))
    base.commit()
    base.close()
    second = start("--interval", "0.1", "--store", f"sqlite:{file}", source="sim:gpus=1,scenario=idle")
    gpu = eventually(lambda: next((g for g in sampled(second)["gpus"] if g["free_least_24h_mb"] == 123), None), explain=lambda: (second.log(), sampled(second)))
    assert gpu["free_least_1h_mb"] > 1000 and gpu["watched_seconds"] >= 120
    assert {p["free_least_mb"] for p in gpu["course"]} >= {123}


# ---- the machine around the GPUs ----

def test_the_machine_is_the_same_in_every_interface(start, tmp_path):
    file = tmp_path / "history.db"
    d = start("--interval", "0.3", "--store", f"sqlite:{file}")
    body = eventually(lambda: (b := d.json("/api/gpu/metrics"))["machine"]["cpu_percent"] is not None and b, explain=d.log)
    machine, flat = body["machine"], d.json("/api/resources")
    assert isinstance(body["host"], str)  # the contract's
    assert machine.keys() - {"absent"} >= {"cpu_percent", "cpu_core_max_percent", "memory_total_mb", "memory_available_mb", "swap_total_mb", "load_average_1m",
                                           "network_rx_bytes_per_second", "disk_read_bytes_per_second", "disk_busy_percent", "memory_pressure_percent"}
    assert set(machine["absent"]) == {k for k, v in machine.items() if v is None}
    assert 0 <= machine["cpu_percent"] <= 100 and machine["cpu_percent"] <= machine["cpu_core_max_percent"] + 0.2
    assert flat["memory_total_gb"] == pytest.approx(machine["memory_total_mb"] / 1024, abs=1e-3) and flat["cpu_count"] == machine["cpu_count"]
    found = series(d)
    assert found["host_memory_total_bytes"] == pytest.approx(machine["memory_total_mb"] * 2**20, rel=1e-9) and found["host_cpus"] == machine["cpu_count"]
    assert "host_load_average_1m" in found
    eventually(lambda: "host_cpu_percent" in series(d), explain=d.log)  # two samples close to each other have none

    def sql(text):
        try:
            return sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=PATIENCE).execute(text).fetchall()
        except sqlite3.OperationalError:  # a column comes with its first value
            return None

    rows = eventually(lambda: sql("SELECT host, recorded_at, cpu_percent, memory_total_mb, memory_percent FROM host_stats WHERE cpu_percent IS NOT NULL ORDER BY id"))
    assert rows[0][0] == body["host"] and rows[0][1].endswith("Z") and rows[0][3] == pytest.approx(machine["memory_total_mb"]) and 0 < rows[0][4] <= 100
    assert sql("SELECT * FROM host_stats_minute LIMIT 1") is not None and sql("SELECT * FROM host_stats_hour LIMIT 1") is not None


@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL server (tools/with-postgres starts one)")
def test_postgresql_shows_the_machine_too(start):
    from .test_postgres import number, sql
    sql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")
    d = start("--interval", "0.2", "--store", POSTGRES)
    eventually(lambda: d.json("/api/health")["store"]["state"] == "ok" and number("SELECT COUNT(*) FROM hosts"), explain=d.log)
    # A column comes with its first value.
    eventually(lambda: number("SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'host_stats' AND column_name = 'cpu_percent'"), explain=d.log)
    eventually(lambda: number("SELECT COUNT(*) FROM host_stats WHERE cpu_percent IS NOT NULL AND memory_percent > 0"), explain=d.log)
    assert number("SELECT COUNT(*) FROM host_stats_minute") >= 0
