# SPDX-License-Identifier: Apache-2.0
"""GET /api/why about the past: asked of a daemon that found a history of the hours before it was started."""
import json
import subprocess

import pytest
import shapes
from conftest import BUILD, environment, eventually

MAKER = BUILD / "tests" / "fakes" / "history" / "make_history"
MOMENT = ("at", "host", "detail", "note", "answer", "severity", "gpu_index", "timestamp", "simulated", "calm", "gpus", "findings", "machine", "processes", "gap")
SPAN = ("since", "until", "host", "answer", "note", "simulated", "gpu_count", "step_seconds", "episodes", "episodes_left_out",
        "missing_seconds", "gaps", "changes")


@pytest.fixture
def remembering(start, tmp_path):
    """Three hours of a night on four GPUs; the daemon writes on into the same file."""
    if not MAKER.exists():
        pytest.skip("make_history was not built")
    file = tmp_path / "past.db"
    subprocess.run([MAKER, f"sqlite:{file}", "180", "scenario=night,start=16200", "20"], check=True, env=environment(tmp_path), timeout=60)
    d = start("--interval", "1", "--store", f"sqlite:{file}", source="sim:gpus=4,scenario=idle", WHIRR_STORE_HOST="box")
    eventually(lambda: d.json("/api/health")["store"]["written_total"] >= 1, explain=d.log)
    return d


def test_a_moment(remembering):
    body = remembering.json("/api/why?at=-2h")
    assert tuple(sorted(body)) == tuple(sorted(MOMENT)) and body["host"] == "box" and body["detail"] == "samples"
    shapes.check({key: body[key] for key in ("answer", "gpus")}, shapes.WHY)
    assert any(p["name"] == "kworkerds" and p["user"] == "www-data" for p in body["processes"])
    one = remembering.json("/api/why?at=-2h&gpu=0")
    assert [g["gpu_index"] for g in one["gpus"]] == [0] and {p["gpu_index"] for p in one["processes"]} == {0}
    before = remembering.json("/api/why?at=-1d")
    assert before["gpus"] == [] and before["detail"] is None and "history begins" in before["gap"]["text"]


def test_a_span(remembering):
    body = remembering.json("/api/why?since=-3h")
    assert tuple(sorted(body)) == tuple(sorted(SPAN)) and body["gpu_count"] == 4
    assert body["episodes"][0]["process"] == "kworkerds" and body["episodes"][0]["evidence" if "evidence" in body["episodes"][0] else "causes"]
    short = remembering.json("/api/why?since=-3h&until=-170m&gpu=1")
    assert {e["gpu_index"] for e in short["episodes"]} == {1}


def test_the_command_asks_the_daemon_and_says_the_same(remembering):
    told = json.loads(remembering.whirr("why", "--since", "-3h", "--json").stdout)
    assert told["episodes"][0]["process"] == "kworkerds"
    assert "kworkerds" in remembering.whirr("why", "--at", "-2h").stdout


def test_wrong_questions(remembering):
    for query, status in (("at=soon", 400), ("at=-1h&since=-2h", 400), ("since=-1h&until=-2h", 400), ("until=-1h", 400), ("at=2099-01-01", 400),
                          ("at=-1h&gpu=77", 404), ("since=-1h&gpu=77", 404), ("at=-1h&host=elsewhere", 404)):
        reply = remembering.get(f"/api/why?{query}")
        assert reply.status == status and reply.json()["error"]["message"], query


def test_without_a_history_the_answer_is_honest(daemon):
    for query in ("at=-1h", "since=-1h"):
        body = daemon.json(f"/api/why?{query}")
        assert "No history is kept" in body["answer"]


def test_a_report(remembering):
    body = remembering.json("/api/report?since=-1d&price=0.3&currency=EUR")
    assert body["currency"] == "EUR" and len(body["gpus"]) == 4 and body["totals"]["cost"] > 0
    for kind in ("users", "containers", "commands", "models"):
        assert sum(row["energy_joules"] for row in body[kind]) == pytest.approx(body["totals"]["energy_joules"], rel=0.01)
    assert "www-data" in {row["name"] for row in body["users"]}
    told = json.loads(remembering.whirr("report", "--since", "-1d", "--price", "0.3", "--currency", "CHF", "--hot", "55", "--json").stdout)
    assert (told["currency"], told["hot_celsius"]) == ("CHF", 55) and body["hot_celsius"] == 80
    assert told["totals"]["cost"] == pytest.approx(body["totals"]["cost"], rel=0.01)
    assert "www-data" in remembering.whirr("report").stdout
    for query, status in (("since=never", 400), ("price=-1", 400), ("gpu=77", 404), ("host=elsewhere", 404)):
        assert remembering.get(f"/api/report?{query}").status == status


def test_a_report_without_a_history(daemon):
    body = daemon.json("/api/report")
    assert "No history is kept" in body["answer"] and body["gpus"] == []


def test_all_is_a_time_on_every_route(start, tmp_path):
    """One reader of times: what one question understands, all do."""
    d = start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/all.db")
    d.wait_stored(4)
    first = d.json("/api/system/gpu-stats/history?limit=1&since=all")["rows"][0]["recorded_at"]
    for path in ("/api/why", "/api/report"):
        assert d.json(f"{path}?since=all")["since"][:16] == first[:16], path
    for path in ("/api/system/gpu-stats/history", "/api/history", "/api/history/processes", "/api/history/events", "/api/why", "/api/report"):
        assert d.get(f"{path}?since=all").status == 200, path
        assert d.get(f"{path}?since=all&until=all").status == 400, path
    for command in ("report", "why"):
        assert json.loads(d.whirr(command, "--since", "all", "--json").stdout)["since"][:16] == first[:16]
