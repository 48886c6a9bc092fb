# SPDX-License-Identifier: Apache-2.0
"""One verdict: whatever is asked, the severity and the first finding are the same."""
import contextlib
import json
import re
import sqlite3

import pytest
from conftest import run_whirr
from waiting import eventually

SCENARIOS = ["idle", "mixed", "training,start=300", "overheat,start=600", "ecc-errors,start=300", "hot-idle", "crypto-miner,start=120", "held-context", "video-encode",
             "fan-stopped,start=300", "bad-link,start=300", "power-cap", "mig", "vram-leak,start=600", "multi-user", "bursty", "shared-desktop", "asleep"]
ORDER = ["info", "notice", "warning", "critical"]


def first(body):
    finding = body["findings"][0] if "findings" in body else body["finding"]
    return body["severity"], finding["code"], finding["gpu_index"]


def exported(text):
    """The findings of /metrics as pairs of code and severity."""
    return {(m[1], m[2]) for m in re.finditer(r'^whirr_finding\{.*?code="(\w+)",severity="(\w+)".*?\} 1$', text, re.M)}


def answers(d):
    """Each surface's severity, first code and GPU."""
    said = {path: first(d.json(path)) for path in ("/api/why", "/api/gpu/metrics", "/api/gpu/summary", "/api/gpu/health")}
    for command in (["why"], ["status"], ["health"]):
        said[command[0]] = first(json.loads(d.whirr(*command, "--json").stdout))
    return said


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_surface_says_the_same(start, scenario):
    d = start("--interval", "0.5", source=f"sim:scenario={scenario}")
    d.wait_sampled()
    said = {}

    def agree():
        said.clear()
        said.update(answers(d))
        return len(set(said.values())) == 1

    eventually(agree, explain=lambda: json.dumps(said, indent=1) + d.log())  # a sample may lie between two questions


def test_a_late_rank_leads_everywhere_and_a_job_can_be_asked_about(start):
    d = start("--interval", "0.5", source="sim:scenario=late-rank")
    d.wait_sampled()
    eventually(lambda: set(answers(d).values()) == {("notice", "straggler", 0)}, explain=d.log)
    said = d.json("/api/why?job=4711")
    assert len(said["gpus"]) == 8 and "GPUs 1-7 are waiting for GPU 0" in said["answer"]
    assert "7 of 8 wait" in d.whirr("why", "--job", "4711", "-v").stdout
    assert d.get("/api/why?job=4712").status == 404
    refused = run_whirr("why", "--job", "4712", "--source", "sim:scenario=late-rank")
    assert refused.returncode == 1 and "whirr ps --by job" in refused.stderr
    other = run_whirr("why", "--job", "4711", "--source", "sim:scenario=late-rank,gpus=2", "--json")
    assert [g["gpu_index"] for g in json.loads(other.stdout)["gpus"]] == [0, 1]


def test_metrics_have_the_findings_that_matter(start):
    """What is more than information, what keeps an idle GPU from resting, and the first of each GPU."""
    d = start("--interval", "0.5", source="sim:scenario=overheat,start=600")
    d.wait_sampled()

    def same():
        findings = d.json("/api/why")["findings"]
        firsts = [next(f for f in findings if f["gpu_index"] == gpu) for gpu in {f["gpu_index"] for f in findings}]
        listed = {(f["code"], f["severity"]) for f in findings if f["severity"] != "info" or f["area"] == "idle" or f in firsts}
        return any(severity != "info" for _, severity in listed) and exported(d.get("/metrics").body.decode()) == listed

    eventually(same, explain=d.log)
    assert 'whirr_severity{' in d.get("/metrics").body.decode()


def test_metrics_say_when_a_finding_has_held_as_the_settings_have_it(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[finding.driver_verdict]\nhold = "1h"\n')
    d = start("--interval", "0.2", "--config", str(config), source="sim:scenario=ecc-errors,start=300")

    def held():
        return set(re.findall(r'^whirr_finding\{.*?code="(driver_verdict|row_remap)",.*?held="(\w+)"', d.get("/metrics").body.decode(), re.M))

    eventually(lambda: held() == {("driver_verdict", "false"), ("row_remap", "true")}, explain=held)


def test_findings_are_ranked_and_complete(start):
    d = start("--interval", "0.5", source="sim:scenario=overheat,start=600,gpus=2")
    d.wait_sampled()
    findings = d.json("/api/why")["findings"]
    ranks = [ORDER.index(f["severity"]) for f in findings]
    assert ranks == sorted(ranks, reverse=True)
    for f in findings:
        assert set(f) == {"code", "severity", "area", "confidence", "gpu_index", "pid", "since", "tense", "until", "share", "reference", "seen", "effect_of", "headline", "muted"}
        assert f["headline"] and not f["headline"].endswith(".")


def test_the_summary_has_the_first_finding_of_each_gpu_and_no_more(start):
    """It goes out with every sample."""
    d = start("--interval", "0.5", source="sim:scenario=overheat,start=600,gpus=2")
    d.wait_sampled()

    def same():
        summary, findings = d.json("/api/gpu/summary"), d.json("/api/gpu/metrics")["findings"]
        firsts = {i: next((f["code"] for f in findings if f["gpu_index"] == i), None) for i in (0, 1)}
        return "findings" not in summary and summary["finding"]["code"] == findings[0]["code"] and {g["index"]: g["finding"]["code"] for g in summary["gpus"]} == firsts

    eventually(same, explain=d.log)


def test_a_status_of_the_daemon_shows_its_verdict(start):
    """The command has no memory of its own here: what it shows was handed over."""
    d = start("--interval", "0.5", source="sim:scenario=overheat,start=600")
    d.wait_sampled()
    line = d.whirr("status").stdout.splitlines()[0]
    assert d.json("/api/gpu/metrics")["findings"][0]["headline"].split(" (")[0] in line and "THERMAL" in d.whirr("status").stdout


@pytest.mark.parametrize("scenario, word, level", [("fan-stopped,start=300", "▲ FAN STOPPED", "critical"), ("overheat,start=600", "▲ THERMAL", "critical"), ("ecc-errors,start=300", "▲ FAILING", "critical"),
                                                   ("training,start=300", "", "busy"), ("idle", "", "idle")])
def test_a_bar_is_colored_by_the_verdict(start, scenario, word, level):
    d = start("--interval", "0.5", source=f"sim:scenario={scenario}")
    d.wait_sampled()

    def same():
        bar = json.loads(d.whirr("--line", "--format", "waybar").stdout)
        return bar["class"] == level and word in bar["text"] and ("▲" in bar["text"]) == bool(word) and word in d.whirr("--line").stdout

    eventually(same, explain=lambda: d.whirr("--line", "--format", "waybar").stdout + d.log())


@pytest.mark.parametrize("scenario, words", [("fan-stopped,start=300", "fan has stopped"), ("overheat,start=600", "throttling (9"), ("bad-link,start=300", "PCIe"), ("training,start=300", "")])
def test_top_shows_the_verdict(start, scenario, words):
    d = start("--interval", "0.5", source=f"sim:scenario={scenario}")
    d.wait_sampled()
    said = []

    def same():
        said[:] = [line for line in d.whirr("top", "--once", "--size", "160x30").stdout.splitlines() if line.startswith((" ▲ ", " ◆ ", " ■ ", " ● "))]
        return said and (words in said[0] if words else "▲" not in said[0])

    eventually(same, explain=lambda: "\n".join(said) + d.log())


def test_since_goes_on_while_a_finding_holds(start):
    d = start("--interval", "0.3", source="sim:scenario=overheat,start=600")
    d.wait_sampled()
    began = d.json("/api/gpu/metrics")["findings"][0]["since"]
    at = d.json("/api/gpu/metrics")["timestamp"]
    later = eventually(lambda: (b := d.json("/api/gpu/metrics"))["timestamp"] > at and b)
    assert later["findings"][0]["since"] == began < later["timestamp"]


def test_codes_are_listed_with_their_meaning(daemon):
    codes = {c["code"]: c for c in json.loads(daemon.whirr("why", "--codes", "--json").stdout)["codes"]}
    assert codes["fan_stopped"]["severity"] == "critical" and not codes["fan_stopped"]["work_may_go_there"]
    text = daemon.whirr("why", "--codes").stdout
    assert all(code in text for code in codes)


def test_fewer_lanes_are_found_at_once(start):
    """Health waits for a minute; that the work is normal is not said meanwhile."""
    d = start("--interval", "0.5", source="sim:scenario=bad-link,start=300")
    d.wait_sampled()
    body = d.json("/api/why")
    assert body["findings"][0]["code"] == "pcie_link" and "normal for this work" not in body["answer"]
    assert "LINK" in d.whirr("status").stdout


def stored(file):
    """Open episodes as triples of severity, code and GPU."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        return set(db.execute("SELECT severity, code, COALESCE(gpu_index, -1) FROM finding_log WHERE ended = 0"))


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_history_keeps_what_was_said(start, tmp_path, scenario):
    file = tmp_path / "h.db"
    d = start("--interval", "0.5", "--store", f"sqlite:{file}", source=f"sim:scenario={scenario}")
    d.wait_stored(4)
    said = {}

    def agree():
        live = d.json("/api/why")
        then = d.json(f"/api/why?at={live['timestamp']}")
        said.update(live=first(live), at=first(then), stored=stored(file))
        return said["live"] in said["stored"] and said["live"] == said["at"]

    eventually(agree, explain=lambda: f"{said}\n{d.log()}")


def test_trouble_of_the_past_has_its_own_times_and_numbers(start, tmp_path):
    file = tmp_path / "h.db"
    d = start("--interval", "0.5", "--store", f"sqlite:{file}", source="sim:scenario=ecc-errors,start=300")
    d.wait_stored(6)
    live = d.json("/api/why")["findings"][0]

    def told():
        return next((e for e in d.json("/api/why?since=-2m")["episodes"] if e["causes"][0]["code"] == live["code"]), None)

    episode = eventually(told, explain=d.log)
    assert episode["severity"] == live["severity"] and episode["duration_seconds"] < 120
    assert live["code"] in json.dumps(json.loads(d.whirr("why", "--since", "-2m", "--json").stdout)["episodes"][0]["causes"])


def test_a_report_lists_what_was_found(start, tmp_path):
    file = tmp_path / "h.db"
    d = start("--interval", "0.5", "--store", f"sqlite:{file}", source="sim:scenario=ecc-errors,start=300")

    def listed():
        body = json.loads(d.whirr("report", "--json").stdout)
        return {(f["code"], f["gpu_index"], f["severity"]): f for f in body["findings"] if f["duration_seconds"] > 1}

    eventually(lambda: {("driver_verdict", 0, "critical"), ("row_remap", 0, "warning")} <= set(listed()), explain=listed)
    found = listed()
    worst = found["driver_verdict", 0, "critical"]
    assert next(iter(found.values())) == worst and worst["times"] == 1 and worst["headline"].startswith("GPU 0 ")
    assert all(f["severity"] != "info" for f in found.values())
    text = d.whirr("report").stdout
    assert "What was found" in text and "(critical): " in text


def test_a_history_without_findings_is_judged_again(start, tmp_path):
    file = tmp_path / "h.db"
    d = start("--interval", "0.5", "--store", f"sqlite:{file}", source="sim:scenario=overheat,start=600")
    d.wait_stored(6)
    at = d.json("/api/why")["timestamp"]
    eventually(lambda: d.json("/api/why")["timestamp"] > at)
    d.stop()
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("DELETE FROM finding_episodes")
        db.commit()
    body = json.loads(d.whirr("why", "--at", at, "--store", str(file), "--json").stdout)
    assert body["severity"] == "critical" and body["findings"][0]["code"] == "heat_limit"


@pytest.mark.slow
def test_an_end_when_the_memory_was_full_is_told_and_kept(start, tmp_path):
    """The server of the scenario leaks until its GPU is full, dies and is started again."""
    d = start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/h.db", source="sim:scenario=vram-leak,start=1200,speed=20")

    def died(body):
        return next((f for f in body["findings"] if f["code"] == "died_memory_full"), None)

    live = eventually(lambda: died(d.json("/api/why")), explain=d.log)
    assert live["severity"] == "warning" and live["pid"] and re.match(r"GPU 0's memory was full \(.* GiB of 24.0 GiB\) when .* ended$", live["headline"]), live

    def told():
        return next((e for e in d.json("/api/why?since=-2m")["episodes"] if e["causes"][0]["code"] == "died_memory_full"), None)

    episode = eventually(told, explain=d.log)
    assert episode["pid"] == live["pid"] and live["headline"] in episode["answer"], episode
    assert "memory was full" in d.whirr("why", "--since", "-2m").stdout
    events = d.json("/api/history/events?since=-2m&kind=finding")["events"]
    assert [e["data"]["code"] for e in events if e["text"] == live["headline"]] == ["died_memory_full"], events
    assert "memory was full (" in d.whirr("history", "--events", "--since", "-2m").stdout


@pytest.mark.parametrize("scenario", ["overheat,start=600", "ecc-errors,start=300", "training,start=300"])
def test_a_recording_and_its_history_say_the_same(start, tmp_path, scenario):
    path = tmp_path / "run.whirr"
    assert run_whirr("--source", f"sim:scenario={scenario}", "record", str(path), "--interval", "0.2", "--duration", "1").returncode == 0
    played = first(json.loads(run_whirr("--source", f"replay:{path}", "why", "--json").stdout))
    d = start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/h.db", source=f"replay:{path}")
    d.wait_stored(2)
    said = {}

    def agree():
        live = d.json("/api/why")
        said.update(live=first(live), at=first(d.json(f"/api/why?at={live['timestamp']}")))
        return set(said.values()) == {played}

    eventually(agree, explain=lambda: f"{played} {said}\n{d.log()}")
def test_one_trouble_is_one_event(start, tmp_path):
    """The alert and the change of health of a finding are there by their kind; among all events, its row tells them."""
    config = tmp_path / "whirr.toml"
    config.write_text('[finding.fan_stopped]\nhold = "1s"\n')
    d = start("--interval", "0.1", "--store", f"sqlite:{tmp_path}/h.db", "--config", str(config), source="sim:scenario=fan-stopped")

    def events(query=""):
        return [e for e in d.json(f"/api/history/events?since=-10m{query}")["events"] if e["gpu_index"] == 0]

    alert = eventually(lambda: [e for e in events("&kind=alert") if e["data"]["code"] == "fan_stopped"], explain=d.log)
    health = eventually(lambda: events("&kind=health"), explain=d.log)
    assert len(alert) == 1 and len(health) == 1
    listed = events()
    assert {e["kind"] for e in listed} == {"finding"}, listed
    fan, = [e for e in listed if e["data"]["code"] == "fan_stopped"]
    assert fan["severity"] == "critical" and fan["data"]["ended"] is False
    # Pages of one event each are the same events.
    paged, cursor = [], ""
    while cursor is not None:
        page = d.json(f"/api/history/events?since=-10m&limit=1{cursor and '&cursor=' + cursor}")
        paged += [e["id"] for e in page["events"] if e["gpu_index"] == 0]
        cursor = page["next_cursor"]
    assert set(paged) >= {e["id"] for e in listed} and len(paged) == len(set(paged))
    header, *rows = d.whirr("history", "--events", "--since", "-10m").stdout.splitlines()[1:]
    assert header.split() == ["FROM", "TO", "GPU", "KIND", "SEVERITY", "WHAT"]
    told, = [r for r in rows if "fan has stopped" in r]
    assert "ongoing" in told and "critical" in told, rows


@pytest.mark.parametrize("scenario, words", [("hot-memory", "its memory is hot (97 °C)"), ("hot-spot", "its hot spot is much hotter than the rest")])
def test_heat_of_a_part_leads_the_answer_about_work(scenario, words):
    """The answer begins with what leads the list, and says it once."""
    asked = run_whirr("why", "--source", f"sim:scenario={scenario}", "--json")
    said = json.loads(asked.stdout)
    assert said["answer"].startswith(f"Simulated GPU 0: {words}") and said["gpus"][0]["brief"]["headline"].startswith(f"Simulated GPU 0: {words}"), said["answer"]
    assert said["answer"].count(words.split(" is ")[0].removeprefix("its ")) == 1, said["answer"]


def test_all_hosts_and_one_process_is_refused_rather_than_ignored():
    refused = run_whirr("why", "--fleet", "http://127.0.0.1:9/", "1234")
    assert refused.returncode == 2 and "whirr ps --fleet" in refused.stderr, refused.stderr


def test_the_state_of_a_gpu_is_its_first_finding_and_not_what_that_brings_about():
    """Tiles and tabs of the page show the state: beside a stopped fan it is the fan, not the heat."""
    said = json.loads(run_whirr("why", "--source", "sim:scenario=fan-stopped,gpus=2,start=400", "--json").stdout)
    assert [g["brief"]["state"] for g in said["gpus"]] == ["fan stopped", "busy"], said["gpus"]
