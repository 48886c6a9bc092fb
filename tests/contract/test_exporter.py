# SPDX-License-Identifier: Apache-2.0
"""/metrics, as Prometheus' own tools and an independent parser read it."""
import re
import shutil
import subprocess
import time

import pytest
from tsdb import Prometheus
from waiting import PATIENCE, eventually

OPEN = "application/openmetrics-text"
PROMETHEUS = f"{OPEN};version=1.0.0,{OPEN};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"  # as Prometheus 2.42 asks


FIXED = {"gpu_other_processes_count"}  # this name is fixed by the contract; everything else follows the conventions
OLD = {"gpu_count", "gpu_process_count", "host_cpu_count"}  # of 0.1, until 0.4; metrics.old_names


def lint(text):
    if not shutil.which("promtool"):
        pytest.skip("no promtool (tools/deps test)")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=PATIENCE)
    assert done.returncode in (0, 3), done.stderr
    return done.stderr.decode().splitlines()


def test_promtool_has_nothing_to_say(daemon):
    assert {line.split()[0] for line in lint(daemon.get("/metrics").body)} == FIXED | OLD


def test_old_names_can_be_left_out(start):
    d = start("--interval", "60", WHIRR_METRICS_OLD_NAMES="false")
    eventually(lambda: b"gpu_up{" in d.get("/metrics").body)
    assert {line.split()[0] for line in lint(d.get("/metrics").body)} == FIXED


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
    daemon.wait_sampled()
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


def samples(text, name):
    from prometheus_client.parser import text_string_to_metric_families
    return [s for f in text_string_to_metric_families(text) for s in f.samples if s.name == name]


def test_old_names_say_what_the_new_ones_say(daemon):
    text = daemon.get("/metrics").body.decode()
    for old, new in (("gpu_count", "gpu_devices"), ("gpu_process_count", "gpu_processes"), ("host_cpu_count", "host_cpus")):
        assert samples(text, new) and [(s.labels, s.value) for s in samples(text, old)] == [(s.labels, s.value) for s in samples(text, new)]


def test_every_series_names_its_host(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[metrics]\nlabels = { cluster = "a\\"b", gpu = "never" }\n')
    d = start("--interval", "60", "--config", str(config), NODE_NAME="node-7")
    d.wait_sampled()
    host = d.json("/api/gpu/metrics")["host"]
    lines = [line for line in d.get("/metrics").body.decode().splitlines() if line and not line.startswith("#")]
    assert len(lines) > 60
    for line in lines:
        assert f'host="{host}"' in line and 'cluster="a\\"b"' in line and 'node="node-7"' in line, line
    # A series keeps a label of its own: a repeated one would spoil the scrape.
    assert all(line.count('gpu="') == 1 for line in lines) and any('gpu="0"' in line for line in lines)
    config.write_text('[metrics]\nlabels = { host = "" }\n')
    d = start.reload(d)
    assert b"host=" not in d.get("/metrics?max_age_ms=0").body


def test_shares_of_a_shared_gpu_add_up(start):
    d = start("--interval", "0.3", source="sim:gpus=1,scenario=mixed")
    text = eventually(lambda: samples(t := d.get("/metrics").body.decode(), "gpu_process_power_watts") and t)
    for part, whole in (("gpu_process_memory_bytes", "gpu_memory_used_bytes"), ("gpu_process_utilization_percent", "gpu_utilization_percent"),
                        ("gpu_process_power_watts", "gpu_power_watts")):
        for gpu in samples(text, whole):
            shares = [s.value for s in samples(text, part) if s.labels["gpu"] == gpu.labels["gpu"]]
            assert len(shares) > 1 and abs(sum(shares) - gpu.value) <= max(0.002 * gpu.value, 0.4), (part, shares, gpu)


def test_a_cap_on_process_series_is_reported(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("[metrics]\nprocess_groups = 1\n")
    d = start("--interval", "60", "--config", str(config), source="sim:gpus=1,scenario=mixed")
    eventually(lambda: b"gpu_up{" in d.get("/metrics").body)
    text = d.get("/metrics").body.decode()
    groups = samples(text, "gpu_processes")
    assert len(groups) == 2 and groups[1].labels["process"] == "(others)" and groups[1].value >= 2
    left_out = samples(text, "gpu_process_groups_left_out")
    assert left_out[0].value >= 2
    used = samples(text, "gpu_memory_used_bytes")[0].value
    assert abs(sum(s.value for s in samples(text, "gpu_process_memory_bytes")) - used) < 1
    assert "pid=" not in text
    config.write_text("[metrics]\npids = true\n")
    d = start.reload(d)
    text = d.get("/metrics?max_age_ms=0").body.decode()
    assert {s.labels["pid"] for s in samples(text, "gpu_processes")} and all(s.value == 1 for s in samples(text, "gpu_processes"))


@pytest.mark.parametrize("text, words", [
    ('sets = ["dgcm"]', "unknown set 'dgcm'"), ('labels = { "1a" = "x" }', "invalid label name"), ('labels = { __x = "x" }', "invalid label name")])
def test_wrong_settings_are_refused(start, tmp_path, text, words):
    config = tmp_path / "whirr.toml"
    config.write_text(f"[metrics]\n{text}\n")
    from isolation import WHIRR, environment
    done = subprocess.run([WHIRR, "config", "check", "--config", str(config)], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and words in done.stdout + done.stderr, done


def test_xids_are_counted_by_code(nvml):
    """A gauge would hide the second one: each code has a counter and a time."""
    begin = time.time()
    d = nvml("gpu NVIDIA H200\n  profile h200\n  pci 0000:05:00.0\n  event xid 31\n  event xid 94\n", "--interval", "0.3")
    def counted():
        text = d.get("/metrics?max_age_ms=0").body.decode()
        return {s.labels["xid"]: s.value for s in samples(text, "gpu_xid_errors_total")}
    eventually(lambda: set(counted()) == {"31", "94"}, explain=lambda: d.log()[-2000:])
    when = samples(d.get("/metrics").body.decode(), "gpu_xid_last_timestamp_seconds")
    assert {s.labels["xid"] for s in when} == {"31", "94"} and all(begin - 1 < s.value < time.time() + 1 for s in when)


def test_a_lost_gpu_stays_visible(start):
    d = start("--interval", "0.2", source="sim:gpus=2,scenario=gpu-lost,speed=20")
    lost = eventually(lambda: [s for s in samples(d.get("/metrics?max_age_ms=0").body.decode(), "gpu_up") if s.value == 0])
    assert lost[0].labels["gpu"] == "0" and lost[0].labels["name"]


GPU = '{uuid=~"$gpu", instance="$node", job="whirr"}'
# What the panels of Grafana's dashboard 14574 show: metrics as they are, and what is computed of several.
SMI = [name + GPU for name in (
    "gpu_info", "gpu_recovery_action", "pstate", "compute_mode", "temperature_gpu", "utilization_memory_ratio", "utilization_gpu_ratio",
    "memory_used_bytes", "power_draw_watts", "fan_speed_ratio", "clocks_current_graphics_clock_hz", "clocks_current_video_clock_hz",
    "clocks_current_sm_clock_hz", "clocks_current_memory_clock_hz", "compute_app_used_memory_bytes", "xid_errors_total",
    "pcie_throughput_tx_bytes_per_second", "pcie_throughput_rx_bytes_per_second", "fabric_state")]
SMI += [f"clocks_event_reasons_{reason}{GPU} or nvidia_smi_clocks_throttle_reasons_{reason}{GPU}" for reason in (
    "gpu_idle", "sw_power_cap", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "applications_clocks_setting", "sync_boost")]
SMI += [
    f"power_draw_watts{GPU} / (nvidia_smi_enforced_power_limit_watts{GPU} or nvidia_smi_power_limit_watts{GPU})",
    f"clocks_current_graphics_clock_hz{GPU} / nvidia_smi_clocks_max_graphics_clock_hz{GPU}",
    f"clocks_current_memory_clock_hz{GPU} / nvidia_smi_clocks_max_memory_clock_hz{GPU}",
    f"memory_used_bytes{GPU} / nvidia_smi_memory_total_bytes{GPU}",
    f"compute_app_used_memory_bytes{GPU} / on(uuid) group_left() nvidia_smi_memory_total_bytes{GPU}",
    'compute_apps_last_collect_success{instance="$node", job="whirr"}',
]
SMI = ["nvidia_smi_" + expression for expression in SMI] + [
    f"sum by(uuid) (nvidia_smi_ecc_errors_uncorrected_aggregate_total{GPU})",
    'label_replace({__name__=~"nvidia_smi_ecc_errors_uncorrected_.+", uuid=~"$gpu"}, "kind", "$1", "__name__", "nvidia_smi_ecc_errors_uncorrected_(.+)")',
    f"sum(nvidia_smi_utilization_gpu_ratio{GPU}) or sum(nvidia_smi_gpu_info{GPU}) * 0 - 1",
    f"time() - max(nvidia_smi_xid_last_timestamp_seconds{GPU})",
    f"rate(nvidia_smi_energy_joules_total{GPU}[1m])", f"sum(increase(nvidia_smi_energy_joules_total{GPU}[24h])) / 3.6e6",
    *(f'(nvidia_smi_mig_{what}{GPU}) * on(uuid, gpu_instance_id) group_left(profile) (max by (uuid, gpu_instance_id, profile) '
      f'(label_replace(nvidia_smi_mig_info{GPU}, "profile", "$1", "profile", "^[0-9]+c\\\\.(.*)$")))'
      for what in ("memory_used_bytes", "sm_activity_ratio", "tensor_activity_ratio")),
]
DCGM = [expression.replace("@", '{instance=~"$node", gpu=~".*"}') for expression in (
    "DCGM_FI_DEV_GPU_TEMP@", "avg(DCGM_FI_DEV_GPU_TEMP@)", "DCGM_FI_DEV_POWER_USAGE@", "sum(DCGM_FI_DEV_POWER_USAGE@)",
    "DCGM_FI_DEV_SM_CLOCK@ * 1000000", "DCGM_FI_DEV_GPU_UTIL@", "DCGM_FI_DEV_FB_USED@", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE@")]
XID_CARD = "gpu NVIDIA H200\n  profile h200\n  pci 0000:05:00.0\n  fabric 3\n  event xid 31\n"


@pytest.mark.slow
def test_dashboards_made_for_other_exporters_have_data(start, nvml, tmp_path):
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    sets = {"WHIRR_METRICS_SETS": "dcgm-4.8,nvidia_smi"}
    hosts = [start("--interval", "0.5", source="sim:gpus=2,scenario=training,model=rtx4090", **sets),
             start("--interval", "0.5", source="sim:gpus=1,scenario=training,model=h100,speed=30", **sets),
             start("--interval", "0.5", source="sim:gpus=1,scenario=mig,model=h100", **sets), nvml(XID_CARD, "--interval", "0.5", **sets)]
    nodes = [f"127.0.0.1:{d.port}" for d in hosts]
    prometheus = Prometheus(tmp_path / "prometheus", nodes).start()
    try:
        eventually(lambda: len(prometheus.query("up == 1")) == len(hosts), explain=prometheus.log)
        eventually(lambda: set(prometheus.get("/api/v1/label/instance/values", **{"match[]": "nvidia_smi_index"})) == set(nodes), explain=prometheus.log)
        eventually(lambda: set(prometheus.get("/api/v1/label/gpu/values", **{"match[]": "DCGM_FI_DEV_GPU_TEMP"})) == {"0", "1"}, explain=prometheus.log)
        for expression in SMI + DCGM:
            def has_data():
                return any(prometheus.query(expression.replace("$node", node).replace("$gpu", ".+")) for node in nodes)
            eventually(has_data, explain=lambda: f"no data for {expression}\n{prometheus.log()}")
        # The variable of 14574: a GPU by name, number and the beginning of its UUID, which has no "GPU-".
        # A host that did not answer within the second has none until the next scrape.
        asked = 'label_join(label_replace(nvidia_smi_gpu_info, "us", "($1)", "uuid", "^(........).*"), "gpu_label", " ", "name", "us")'
        named = eventually(lambda: len(n := prometheus.query(asked)) == 5 and n, explain=prometheus.log)
        assert all("GPU-" not in r["metric"]["uuid"] for r in named)
        assert all(r["metric"]["hostname"] for r in eventually(lambda: prometheus.query("DCGM_FI_DEV_GPU_TEMP"), explain=prometheus.log))
    finally:
        prometheus.stop()
