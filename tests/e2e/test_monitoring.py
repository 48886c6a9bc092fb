# SPDX-License-Identifier: Apache-2.0
"""Templates for Zabbix and Checkmk: made from the metric table, and their queries find something on a host."""
import os
import re
import subprocess

import pytest
import yaml
from isolation import ROOT, WHIRR, environment, run_whirr
from waiting import PATIENCE


@pytest.fixture(scope="module")
def template():
    whole = yaml.safe_load((ROOT / "packaging/zabbix/whirr.yaml").read_text())["zabbix_export"]
    assert whole["version"] == "6.0" and len(whole["templates"]) == 1
    return whole["templates"][0]


def prototypes(template):
    return template["discovery_rules"][0]["item_prototypes"]


def pattern(item):
    first = item["preprocessing"][0]
    assert first["type"] == "PROMETHEUS_PATTERN" and first["parameters"][1:] == ["value", ""] and first["error_handler"] == "DISCARD_VALUE", item
    return first["parameters"][0]


def test_the_files_are_what_the_metric_table_says(tmp_path):
    done = subprocess.run([ROOT / "tools/check-monitoring"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_zabbix_has_an_item_for_every_metric_that_prometheus_gets(template):
    named = {re.match(r"\w+", pattern(p))[0] for p in prototypes(template)}
    table = set(re.findall(r'^METRIC\(.*?"\w+",[^"]*"(gpu_\w+)"', (ROOT / "src/model/metrics.def").read_text(), re.M))
    assert len(table) > 80 and table | {"whirr_severity"} == named


def test_what_refers_to_something_finds_it(template):
    everything = [*template["items"], *template["discovery_rules"], *prototypes(template)]
    keys = {i["key"] for i in everything}
    assert len(keys) == len(everything) and all(i["master_item"]["key"] in keys for i in everything if i["type"] == "DEPENDENT")
    uuids = re.findall(r'uuid: "(\w+)"', (ROOT / "packaging/zabbix/whirr.yaml").read_text())
    assert len(set(uuids)) == len(uuids) and all(re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", u) for u in uuids)
    triggers = [t for i in everything for t in i.get("triggers", []) + i.get("trigger_prototypes", [])]
    assert len(triggers) == 3
    for t in triggers:
        name, key = re.search(r"/([^/]+)/([^,]+),", t["expression"]).groups()
        assert name == template["template"] and key in keys, t
    macros = {m["macro"] for m in template["macros"]}
    assert set(re.findall(r"\{\$[^}]+\}", str(template["items"]))) == macros


def test_zabbix_finds_gpus_and_readings_on_a_host(template):
    text = run_whirr("export", "--source", "sim:model=h100,gpus=2,scenario=training").stdout
    series = [(m[0], dict(re.findall(r'(\w+)="([^"]*)"', m[1]))) for m in re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.M)]
    gpus = [labels for name, labels in series if name == "whirr_severity"]
    assert len(gpus) == 2 and all({p["path"].rsplit(".", 1)[1] for p in template["discovery_rules"][0]["lld_macro_paths"]} <= set(g) and g["uuid"] for g in gpus)
    of_host = {re.match(r"\w+", pattern(i))[0] for i in template["items"] if i["type"] == "DEPENDENT"}
    assert of_host and of_host <= set(re.findall(r"^\w+", text, re.M)), of_host
    there = {name for name, labels in series if labels.get("uuid") == gpus[0]["uuid"]}
    asked = [re.match(r"\w+", pattern(p))[0] for p in prototypes(template)]
    assert {"gpu_temperature_celsius", "gpu_power_watts", "gpu_memory_used_bytes", "gpu_energy_joules_total", "whirr_severity"} <= there & set(asked) and len(there & set(asked)) > 35


def test_counters_become_rates_and_shares_percents(template):
    by_name = {re.match(r"\w+", pattern(p))[0]: p for p in prototypes(template)}
    energy, fan = by_name["gpu_energy_joules_total"], by_name["gpu_fan_speed_ratio"]
    assert [s["type"] for s in energy["preprocessing"]][1:] == ["CHANGE_PER_SECOND"] and energy["units"] == "W"
    assert fan["preprocessing"][1] == {"type": "MULTIPLIER", "parameters": ["100"]} and fan["units"] == "%"


@pytest.fixture
def checkmk(tmp_path):
    """The local check on a simulated machine."""
    def run(source):
        program = tmp_path / "whirr"
        program.write_text(f'#!/bin/sh\nexec {WHIRR} --source {source} "$@"\n' if source else "#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        done = subprocess.run([ROOT / "packaging/checkmk/whirr"], capture_output=True, text=True, timeout=PATIENCE, env=environment(PATH=f"{tmp_path}:/usr/bin:/bin"))
        assert done.returncode == 0, done
        return done.stdout.splitlines()
    return run


LINE = re.compile(r'([0-3]) "([^"]+)" (-|\w+=-?[\d.e+]+(?:\|\w+=-?[\d.e+]+)*) (.+)')


def test_checkmk_gets_a_service_for_each_gpu_as_the_host_judges_it(checkmk):
    lines = [LINE.fullmatch(line).groups() for line in checkmk("sim:scenario=training,gpus=2,fault=lost@1")]
    assert [(state, name) for state, name, _, _ in lines] == [("0", "GPU 0"), ("2", "GPU 1")] and "lost" in lines[1][3] and lines[1][2] == "-"
    values = dict(pair.split("=") for pair in lines[0][2].split("|"))
    assert 20 < float(values["gpu_temperature_celsius"]) < 110 and values["gpu_memory_total_bytes"].isdigit() and 1 < float(values["gpu_sm_active_ratio"]) <= 100  # a percentage
    known = set(re.findall(r"^metric_(\w+) = Metric\(name=\"\1\"", (ROOT / "packaging/checkmk/graphing.py").read_text(), re.M))
    assert set(values) <= known


def test_checkmk_says_where_nothing_is_known(checkmk):
    assert LINE.fullmatch(checkmk("")[0]).groups()[:2] == ("3", "GPUs")
    assert os.access(ROOT / "packaging/checkmk/whirr", os.X_OK)
