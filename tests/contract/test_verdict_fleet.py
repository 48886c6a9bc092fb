# SPDX-License-Identifier: Apache-2.0
"""One verdict: what a host says of its GPUs is what the fleet says of them, from the first sample on, by PromQL and from PostgreSQL."""
import json
import os
import subprocess

import pytest
from isolation import WHIRR, environment
from tsdb import Prometheus
from waiting import PATIENCE, eventually

URL, CONTROL = os.environ.get("WHIRR_TEST_POSTGRES"), os.environ.get("WHIRR_TEST_PGCTL")
# What was once said by one surface and not by another, and what is no trouble.
SCENARIOS = ["ecc-errors,start=300", "bad-link,start=300", "fan-stopped,start=300", "crypto-miner,start=120", "hot-idle", "overheat,start=600", "training,start=300", "held-context"]

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(start, tmp_path):
    """One for each scenario: where it is asked, and where it writes."""
    def run(store):
        found = {}
        for scenario in SCENARIOS:
            name = scenario.split(",")[0]
            config = tmp_path / f"{name}.toml"
            config.write_text(f'[metrics]\nlabels = {{ host = "{name}" }}\n')
            more = ("--store", store) if store else ()
            found[name] = start("--interval", "0.5", "--config", str(config), *more, source=f"sim:gpus=2,scenario={scenario}", WHIRR_STORE_HOST=name)
        return found
    return run


def said_by_hosts(hosts):
    """The first finding of every GPU, by host and index."""
    said = {}
    for name, d in hosts.items():
        for f in d.json("/api/why")["findings"]:
            if f["gpu_index"] is not None and f["gpu_index"] >= 0:
                said.setdefault((name, f["gpu_index"]), (f["severity"], f["code"]))
    return said


def agree(hosts, url, tmp_path):
    """The same of every GPU at one look, and work goes only where no finding forbids it."""
    codes = {c["code"]: c for c in json.loads(next(iter(hosts.values())).whirr("why", "--codes", "--json").stdout)["codes"]}
    looks = {}

    def fleet(*args):
        done = subprocess.run([WHIRR, *args, "--fleet", url, "--json"], env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        return json.loads(done.stdout) if done.stdout else {"hosts": [], "gpus": []}

    def same():
        looks["hosts"] = said_by_hosts(hosts)
        looks["fleet"] = {(g["host"], g["gpu_index"]): (g["severity"], g["code"]) for h in fleet("status")["hosts"] for g in h["gpus"]}
        return looks["hosts"] == looks["fleet"] and len(looks["fleet"]) == 2 * len(SCENARIOS)

    # A sample may lie between two questions, and a finding that comes and goes is kept for half a minute.
    eventually(same, explain=lambda: "\n".join(f"{k}: {looks['hosts'].get(k)} {looks['fleet'].get(k)}" for k in sorted({*looks["hosts"], *looks["fleet"]})))
    placed = {(g["host"], g["gpu_index"]) for g in fleet("fit", "64MiB")["gpus"]}
    forbidden = {k for k, (severity, code) in looks["hosts"].items() if severity != "info" and not codes[code]["work_may_go_there"]}
    assert forbidden and placed and not placed & forbidden, (placed, forbidden)
    assert {h["host"]: h["code"] for h in fleet("status")["hosts"]}["fan-stopped"] == "fan_stopped"


def test_what_a_host_says_is_what_the_fleet_says_by_promql(hosts, tmp_path):
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    running = hosts(None)
    prometheus = Prometheus(tmp_path / "prometheus", [f"127.0.0.1:{d.port}" for d in running.values()]).start()
    try:
        agree(running, prometheus.url, tmp_path)
    finally:
        prometheus.stop()


@pytest.mark.skipif(not URL, reason="no PostgreSQL server (tools/with-postgres starts one)")
def test_what_a_host_says_is_what_the_fleet_says_from_postgresql(hosts, tmp_path):
    subprocess.run([CONTROL, "start"], timeout=PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    clean = "SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC"
    subprocess.run(["psql", "-X", "-q", "-c", clean, URL], check=True, timeout=PATIENCE, capture_output=True)
    agree(hosts(URL), URL, tmp_path)
