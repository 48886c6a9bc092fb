# SPDX-License-Identifier: Apache-2.0
"""Rules and dashboards that come with whirr: checked by Prometheus' own tools, and run against metrics of real daemons."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest
from isolation import run_whirr
from tsdb import Prometheus
from waiting import PATIENCE, eventually, patience

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging" / "prometheus"
DASHBOARD = ROOT / "packaging" / "grafana" / "whirr.json"
EMPTY_IS_FINE = {"Held but idle", "XIDs: seconds ago"}  # nothing to show is good news


def promtool(*args):
    if not shutil.which("promtool"):
        pytest.skip("no promtool (tools/deps test)")
    return subprocess.run(["promtool", *args], cwd=RULES, capture_output=True, text=True, timeout=patience(PATIENCE))


def test_rules_are_valid_and_do_what_they_say():
    checked = promtool("check", "rules", "whirr.rules.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = promtool("test", "rules", "whirr.test.yml", "whirr.findings.test.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


MONTH = """rule_files: [{rules}]
evaluation_interval: 1h
tests:
  - name: a fault is told as long as it lasts, scraped or pushed, and what a person forgot is not
    interval: 1h
    input_series:
      - {{series: 'whirr_expected{{host="a",gpu="1",uuid="v",name="X",job="chart",instance="a:9447"}}', values: '1x730'}}
      - {{series: 'gpu_up{{host="a",gpu="1",uuid="v",name="X",job="chart",instance="a:9447"}}', values: '1x2 0x728'}}
      - {{series: 'whirr_expected{{host="a",gpu="2",uuid="w",name="X",job="chart",instance="a:9447"}}', values: '1x6 stale'}}
      - {{series: 'gpu_up{{host="a",gpu="2",uuid="w",name="X",job="chart",instance="a:9447"}}', values: '1x2 0x4 stale'}}
      - {{series: 'whirr_build_info{{host="a",job="chart",instance="a:9447"}}', values: '1x730'}}
      - {{series: 'whirr_build_info{{host="b",job="b",instance="b"}}', values: '1x2'}}
      - {{series: 'whirr_build_info{{host="c",job="chart",instance="c:9447"}}', values: '1x2 stale'}}
      - {{series: 'up{{job="chart",instance="c:9447"}}', values: '1x2 0x728'}}
    promql_expr_test:
{expectations}"""
FIRING = """      - expr: count by (alertname, host, gpu) (ALERTS{{alertstate="firing"}})
        eval_time: {at}
        exp_samples: [{samples}]
"""


def test_a_fault_is_told_for_a_month(tmp_path):
    """No rule resolves because its window has passed what it remembers."""
    groups = re.split(r"(?m)(?=^  - name: )", (RULES / "whirr.rules.yml").read_text())
    recorded = re.search(r"      - record: host:whirr_expected\n        expr: .*\n", groups[1])
    silence = next(g for g in groups if g.startswith("  - name: whirr-silence"))
    (tmp_path / "rules.yml").write_text(f"groups:\n  - name: recorded\n    rules:\n{recorded.group()}{silence}")
    gone = ['{labels: \'{alertname="GpuMissing",host="a",gpu="1"}\', value: 1}',
            *(f'{{labels: \'{{alertname="WhirrDown",host="{host}"}}\', value: 1}}' for host in "bc")]
    also = '{labels: \'{alertname="GpuMissing",host="a",gpu="2"}\', value: 1}'
    expectations = "".join(FIRING.format(at=at, samples=", ".join(samples)) for at, samples in
                           (("2h", []), ("5h", [*gone, also]), ("9h", gone), ("3d", gone), ("9d", gone), ("30d", gone)))
    (tmp_path / "test.yml").write_text(MONTH.format(rules="rules.yml", expectations=expectations))
    tested = promtool("test", "rules", str(tmp_path / "test.yml"))
    assert tested.returncode == 0, tested.stdout + tested.stderr


CALM = """rule_files: [{rules}]
evaluation_interval: 30s
tests:
  - interval: 30s
    input_series: [{series}]
    promql_expr_test:
      - {{expr: 'count by (alertname) (ALERTS)', eval_time: 1h, exp_samples: []}}
      - {{expr: 'count by (alertname) (count_over_time(ALERTS[1h]))', eval_time: 1h, exp_samples: []}}
"""


@pytest.mark.parametrize("fault", ["", ",fault=xid79"])
def test_an_hour_of_a_calm_host_fires_nothing(tmp_path, fault):
    """What a host at work exports, scraped every 30 s for an hour with its clocks going on; and to see that it is looked at, a fault."""
    text = run_whirr("export", "--source", f"sim:scenario=training,gpus=2,model=h100{fault}").stdout
    series = []
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if line and not line.startswith("#"):
            moving = "_timestamp_seconds" in name or name.startswith("whirr_time_seconds") or name.startswith("gpu_energy_joules_total")
            name = name if "{" in name else name + "{}"
            labels = name.replace("{", '{job="whirr",instance="a:9447",', 1).replace(",}", "}").replace("'", "''")
            series.append(f"{{series: '{labels}', values: '{'0+30x120' if moving else value + 'x120'}'}}")
    (tmp_path / "test.yml").write_text(CALM.format(rules=RULES / "whirr.rules.yml", series=", ".join(series)))
    tested = promtool("test", "rules", str(tmp_path / "test.yml"))
    assert (tested.returncode == 0) == (not fault) and ("GpuXid" in tested.stdout + tested.stderr) == bool(fault), tested.stdout[-2000:] + tested.stderr[-3000:]


def test_every_alert_is_seen_to_fire_and_to_stay_quiet():
    tests = "".join(path.read_text() for path in RULES.glob("*.test.yml"))
    quiet = set(re.findall(r"alertname: (\w+), exp_alerts: \[\]", tests))
    fires = set(re.findall(r"alertname: (\w+)\n +exp_alerts:(?: &\w+)?\n", tests))
    named = set(re.findall(r"- alert: (\w+)", (RULES / "whirr.rules.yml").read_text()))
    assert named == fires and named <= quiet, (named - fires, named - quiet)


def test_every_alert_gives_advice():
    text = (RULES / "whirr.rules.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)\n(.*?)(?=\n      - |\n\n|\Z)", text, re.S)
    assert len(alerts) >= 12 and len({name for name, _ in alerts}) == len(alerts)
    for name, body in alerts:
        assert "summary:" in body and "description:" in body, name
        page, anchor = re.search(r'runbook_url: "https://whirr.invalid/(docs/\w+\.md)#([\w-]+)"', body).groups()
        headings = re.findall(r"(?m)^#+ (.*)$", (RULES.parents[1] / page).read_text())
        assert anchor in [heading.lower().replace(" ", "-") for heading in headings], (name, page, anchor)
        assert "severity:" in body or "(whirr_finding{" in body, name  # a finding brings its own


@pytest.mark.slow
def test_rules_and_panels_ask_for_metrics_that_exist(start, tmp_path):
    """On a real Prometheus: no panel is empty, and no rule names a metric that whirr does not have."""
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    hosts = [start("--interval", "0.5", source="sim:gpus=2,scenario=training,model=rtx4090", WHIRR_SERVER_HOST_NAME="a"),
             start("--interval", "0.5", source="sim:gpus=1,scenario=ecc-errors,model=h100,speed=30", WHIRR_SERVER_HOST_NAME="b")]
    rules = tmp_path / "whirr.rules.yml"  # as it is, but without its waits
    rules.write_text((RULES / "whirr.rules.yml").read_text().replace("interval: 1m", "interval: 1s").replace("keep_firing_for: 5m", "keep_firing_for: 1s"))
    prometheus = Prometheus(tmp_path / "prometheus", [f"127.0.0.1:{d.port}" for d in hosts], rules=[rules]).start()
    try:
        eventually(lambda: len(prometheus.query("up == 1")) == 2, explain=prometheus.log)
        board = json.loads(DASHBOARD.read_text())
        panels = [p for p in board["panels"] if p["type"] != "row"]
        assert len(panels) > 20 and len({p["id"] for p in board["panels"]}) == len(board["panels"])
        for panel in panels:
            for target in panel["targets"]:
                expression = target["expr"].replace("$host", ".*").replace("$gpu", ".*").replace("$datasource", "")
                assert "$" not in expression, expression
                if panel["title"] in EMPTY_IS_FINE:
                    prometheus.query(expression)
                else:
                    eventually(lambda: prometheus.query(expression), explain=lambda: f"{panel['title']}: no data for {expression}")

        def evaluated():
            found = [r for g in prometheus.get("/api/v1/rules")["groups"] for r in g["rules"]]
            return found and all(r["health"] == "ok" for r in found) and found
        everything = eventually(evaluated, explain=prometheus.log)
        for rule in everything:
            if rule["type"] == "recording" and rule["name"] != "gpu:held_idle_bytes" and not rule["name"].startswith("gpu:odd_"):  # nothing is held for an hour yet, or has siblings
                eventually(lambda: prometheus.query(rule["name"]), explain=lambda: f"{rule['name']} is empty: {rule['query']}")
        named = set(re.findall(r"\b((?:gpu|whirr|host)_\w+)", " ".join(r["query"] for r in everything)))
        rare = {"whirr_push_clock_ahead_seconds", "whirr_push_samples_lost_total", "whirr_push_samples_refused_total", "whirr_host_forgotten_timestamp_seconds"}

        def unknown():
            return named - rare - set(prometheus.get("/api/v1/label/__name__/values"))
        assert named
        eventually(lambda: not unknown(), explain=unknown)
        # What a host finds is what fires, with the severity from there; a host without trouble has no alert.

        def fires_what_was_found():
            found = {(f["code"], f["severity"], host) for host, d in zip("ab", hosts) for f in d.json("/api/why")["findings"] if f["severity"] in ("warning", "critical")}
            firing = prometheus.query('ALERTS{alertstate="firing",code!=""}')
            return found and found == {(a["metric"]["code"], a["metric"]["severity"], a["metric"]["host"]) for a in firing}
        eventually(fires_what_was_found, explain=lambda: prometheus.query("whirr_finding"))
        assert prometheus.query('ALERTS{alertname="GpuDriverVerdict",severity="critical",gpu="0"}')
    finally:
        prometheus.stop()
