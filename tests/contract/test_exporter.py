# SPDX-License-Identifier: Apache-2.0
"""/metrics, as Prometheus' own tools and an independent parser read it."""
import re
import shutil
import subprocess

import pytest

OPEN = "application/openmetrics-text"
PROMETHEUS = f"{OPEN};version=1.0.0,{OPEN};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"  # as Prometheus 2.42 asks


def test_promtool_has_nothing_to_say(daemon):
    if not shutil.which("promtool"):
        pytest.skip("no promtool (tools/deps test)")
    done = subprocess.run(["promtool", "check", "metrics"], input=daemon.get("/metrics").body, capture_output=True, timeout=30)
    # This name is fixed by the contract; everything else follows the conventions.
    found = [line for line in done.stderr.decode().splitlines() if not line.startswith("gpu_other_processes_count ")]
    assert found == [], found
    assert done.returncode in (0, 3)


@pytest.mark.parametrize("accept, wanted", [
    (PROMETHEUS, OPEN), (OPEN, OPEN), (f"{OPEN}; version=1.0.0", OPEN), (f"text/plain, {OPEN}", OPEN),
    ("*/*", "text/plain"), ("text/plain", "text/plain"), ("text/html,*/*;q=0.8", "text/plain"), (f"{OPEN};q=0.1,text/plain", "text/plain"), (f"{OPEN};q=0, */*", "text/plain"),
])
def test_the_format_is_negotiated(daemon, accept, wanted):
    reply = daemon.get("/metrics", Accept=accept)
    assert reply.status == 200 and reply.headers["content-type"].startswith(wanted)
    assert "Accept" in re.split(r", *", reply.headers["vary"])
    assert reply.body.endswith(b"# EOF\n") == (wanted == OPEN)
    if wanted == OPEN:
        assert reply.headers["content-type"] == f"{OPEN}; version=1.0.0; charset=utf-8"


def test_an_independent_parser_reads_openmetrics(start):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    from prometheus_client.parser import text_string_to_metric_families
    daemon = start("--interval", "60", source="sim:gpus=3,scenario=mixed")
    # Twice the same sample: only the server's own counters may differ.
    families = {f.name: f for f in parser.text_string_to_metric_families(daemon.get("/metrics", Accept=OPEN).body.decode())}
    plain = {f.name: f for f in text_string_to_metric_families(daemon.get("/metrics").body.decode())}
    assert families.keys() == plain.keys() and len(families) > 60
    for name, family in families.items():
        assert family.type == plain[name].type and len(family.samples) == len(plain[name].samples)
        assert family.documentation == plain[name].documentation
    energy = families["gpu_energy_joules"]
    assert (energy.type, energy.unit) == ("counter", "joules") and all(s.name == "gpu_energy_joules_total" for s in energy.samples)
    assert families["gpu_temperature_celsius"].unit == "celsius" and families["gpu_memory_free_bytes"].unit == "bytes"
