# SPDX-License-Identifier: Apache-2.0
"""whirr alert without a daemon: rules that are checked, tried on simulated machines, recordings and the history."""
import re
import subprocess

import pytest
from conftest import BUILD, ROOT, environment, eventually

MAKER = BUILD / "tests" / "fakes" / "history" / "make_history"


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "whirr.toml"
        path.write_text(text)
        return "--config", str(path)

    return write


def test_a_wrong_condition_is_shown_everywhere_at_its_place(whirr, config):
    chosen = config('[[alert]]\nname = "hot"\nwhen = "utilization_percent > 1 and temprature_celsius > 85"\n')
    for command in (("alert", "check"), ("config", "check"), ("serve",), ("alert", "list"), ("alert", "test")):
        done = whirr(*command, *chosen)
        assert done.code == (1 if "check" in command else 2), command
        text = done.out + done.err
        assert "whirr.toml:3:37: " in text and "did you mean 'temperature_celsius'?" in text
        lines = text.split("\n")
        at = next(i for i, line in enumerate(lines) if "whirr.toml:3:37" in line)
        assert lines[at + 1].index("temprature_celsius") == lines[at + 2].index("^^^")
    problem = whirr("alert", "check", "--json", *chosen)
    assert problem.code == 1 and '"column": 37' in problem.out and '"excerpt"' in problem.out


def test_right_rules_are_counted(whirr, config):
    done = whirr("alert", "check", *config('[[alert]]\nname = "busy"\nwhen = "utilization_percent > 10"\n'))
    assert done.code == 0 and re.fullmatch(r"1 rule of the configuration and \d+ built in: fine\n", done.out), done.out


def test_rules_are_listed(whirr, config):
    chosen = config('[alerts]\ndisabled = ["gpu_hot"]\n[[alert]]\nname = "busy"\nwhen = "utilization_percent > 10"\nlabels = { team = "ml" }\n')
    rules = {r["name"]: r for r in whirr("alert", "rules", "--json", "--direct", *chosen).json()["rules"]}
    assert not rules["hot"]["enabled"] and rules["lost"]["severity"] == "critical" and rules["lost"]["code"] == "lost" and rules["busy"]["code"] is None
    assert rules["busy"]["labels"] == {"team": "ml"} and not rules["busy"]["builtin"] and rules["busy"]["for_seconds"] == 0
    text = whirr("alert", "rules", "--direct", *chosen).out
    assert "heat_limit" in text and "off" in text and "busy" in text


def test_names_are_listed_with_what_they_mean(whirr):
    names = {n["name"]: n for n in whirr("alert", "names", "--json").json()["names"]}
    assert names["temperature_celsius"]["type"] == "number" and names["host.cpu_percent"]["scope"] == "host"
    assert names["process.memory_mb"]["scope"] == "process" and names["state"]["values"] == ["ok", "asleep", "error", "lost"]
    assert "vram_full_seconds" in whirr("alert", "names").out


@pytest.mark.parametrize("course, fires", [("leak", True), ("training", False), ("heat", False)])
def test_recordings_of_a_real_card(whirr, course, fires):
    path = ROOT / "tests" / "golden" / "forecast" / f"{course}.whirr"
    body = whirr("alert", "test", "--source", f"replay:{path}", "--json").json()
    assert {a["alert"] for a in body["alerts"]} == ({"vram_full_soon"} if fires else set())


def test_without_a_daemon_one_sample_is_looked_at(sim):
    body = sim("training", "alert", "list", "--json", gpus=2).json()
    assert body["silences"] == [] and all(a["state"] in ("firing", "pending") for a in body["alerts"])
    assert sim("idle", "alert").out == "No alerts.\n"


def test_a_condition_is_tried_on_the_machine_as_it_is(whirr, bare_machine):
    done = whirr("--sysroot", str(bare_machine), "alert", "test", "host.memory_available_mb < 1GiB", "--json")
    answer = done.json()["rules"][0]
    assert answer["condition"] == "true" and answer["value"] == 512 and answer["gpu_index"] is None
    unknown = whirr("--sysroot", str(bare_machine), "alert", "test", "host.swap_used_mb > 1GiB")
    assert unknown.code == 0 and "not known: host.swap_used_mb" in unknown.out, unknown.out
    other = whirr("--sysroot", str(bare_machine), "--gpu", "7", "alert", "test", "host.memory_available_mb < 1GiB")
    assert other.code != 0 and not other.out and "7" in other.err, other


def test_an_overheating_card_sets_off_its_rules(sim):
    body = sim("overheat", "alert", "test", "--json", "--duration", "10m").json()
    fired = {a["alert"] for a in body["alerts"]}
    assert "heat_limit" in fired and "vram_full" not in fired and "high_gpu_usage" not in fired
    hot = next(a for a in body["alerts"] if a["alert"] == "heat_limit")
    assert hot["gpu_index"] == 0 and hot["code"] == "heat_limit" and "GPU 0" in hot["summary"] and hot["pending_since"] < hot["started_at"]
    for name in ("heat_limit", "gpu_throttled"):  # the older name stands for it
        text = sim("overheat", "alert", "test", name).out
        assert "heat_limit" in text and "would have fired" in text and "GPU 0" in text


def test_a_leak_is_foretold_and_told(sim):
    body = sim("vram-leak", "alert", "test", "--json", "--duration", "25m", "--interval", "5").json()
    first = {}
    for a in body["alerts"]:
        first.setdefault(a["alert"], a["started_at"])
    assert first["vram_full_soon"] < first["vram_full"]
    # A full memory may be what its owner wants; one that grows until it is full, and a process that ends of it, are not.
    assert {("vram_full", "notice"), ("died_memory_full", "warning")} <= {(a["alert"], a["severity"]) for a in body["alerts"]}


def test_a_lost_card_and_a_quiet_one(sim):
    lost = sim("gpu-lost", "alert", "test", "gpu_lost", "--json", gpus=2).json()
    assert lost["fired"] >= 1 and {a["gpu_index"] for a in lost["alerts"]} == {0} and lost["alerts"][0]["severity"] == "critical"
    quiet = sim("idle", "alert", "test", "--json").json()
    assert quiet["alerts"] == [] and quiet["samples"] == 121
    assert "nothing would have fired" in sim("idle", "alert", "test").out


def test_how_long_a_condition_must_hold_can_be_tried(sim):
    at_once = sim("bursty", "alert", "test", "utilization_percent > 90", "--json").json()
    held = sim("bursty", "alert", "test", "utilization_percent > 90", "--for", "9m", "--json").json()
    assert at_once["fired"] > 0 and held["fired"] == 0 and held["too_short"] > 0
    assert at_once["condition"]["true"] > 0 and at_once["condition"]["false"] > 0


def test_one_gpu_can_be_asked_for(sim):
    both = sim("training", "alert", "test", "utilization_percent > 10", "--json", gpus=2).json()
    one = sim("training", "alert", "test", "utilization_percent > 10", "--gpu", "1", "--json", gpus=2).json()
    assert {a["gpu_index"] for a in both["alerts"]} == {0, 1} and {a["gpu_index"] for a in one["alerts"]} == {1}
    assert sum(both["condition"].values()) == 2 * sum(one["condition"].values())
    assert sim("training", "alert", "test", "--gpu", "7", gpus=2).code == 1
    assert sim("overheat", "alert", "list", "--gpu", "7", gpus=2).code == 1
    listed = sim("overheat,start=300", "alert", "list", "--gpu", "0", "--json", gpus=2).json()
    assert {a["gpu_index"] for a in listed["alerts"]} == {0} and sum(listed["counts"][s] for s in ("pending", "firing")) == len(listed["alerts"])


def test_a_recording_is_looked_through(whirr, tmp_path):
    path = tmp_path / "busy.whirr"

    def recorded():
        """Whether a second was enough for five samples; on a busy machine it may not be."""
        path.unlink(missing_ok=True)
        made = whirr("record", "--source", "sim:scenario=training,start=60,gpus=1", "--interval", "0.1", "--duration", "1", str(path))
        assert made.code == 0, made.err
        return int(re.search(r"(\d+) samples added", made.err)[1]) >= 5

    eventually(recorded)
    body = whirr("alert", "test", "utilization_percent > 50", "--source", f"replay:{path}", "--json").json()
    assert body["samples"] >= 5 and body["fired"] == 1, body
    gone = whirr("alert", "test", "--source", f"replay:{tmp_path}/nothing")
    assert gone.code == 1 and "nothing" in gone.err


def test_the_history_is_looked_through(whirr, tmp_path):
    if not MAKER.exists():
        pytest.skip("make_history was not built")
    url = f"sqlite:{tmp_path}/night.db"
    subprocess.run([MAKER, url, "120", "scenario=training", "20"], check=True, env=environment(), timeout=600)
    body = whirr("alert", "test", "utilization_percent > 50", "--store", url, "--since", "-2h", "--json").json()
    assert body["samples"] > 300 and body["fired"] >= 1 and body["condition"]["unknown"] == 0
    rule = whirr("alert", "test", "vram_nearly_full", "--store", url, "--since", "-1h")
    assert rule.code == 0 and "nothing would have fired" in rule.out
    assert whirr("alert", "test", "--store", url, "--since", "-1h").code == 0
    for wrong in (("process.memory_mb > 1GiB",), ("host.cpu_percent > 5",), ("gpu_hot", "--since", "soon")):
        done = whirr("alert", "test", *wrong, "--store", url)
        assert done.code == 2, done.err


@pytest.mark.parametrize("args, code, words", [
    (("alert", "lsit"), 2, "did you mean 'list'"),
    (("alert", "test", "gpu_hto"), 1, "did you mean 'gpu_hot'"),
    (("alert", "test", "utilisation_percent > 5"), 1, "did you mean 'utilization_percent'"),
    (("alert", "test", "a", "b"), 2, "quotes"),
    (("alert", "test", "gpu_hot", "--for", "soon"), 2, "duration"),
    (("alert", "check", "x"), 2, "does not take"),
    (("alert", "silence", "gpu_hot"), 2, "--for"),
    (("alert", "silence", "add"), 2, "name of an alert"),
    (("alert", "silence", "gpu=", "--for", "1h"), 2, "alert=hot"),
    (("alert", "silence", "alert=x"), 2, "--for"),
    (("alert", "silence", "alert=x", "--for", "1h"), 1, "no daemon"),
    (("alert", "silence", "remove"), 2, "s1"),
    (("alert", "test", "--since", "-1h", "--source", "sim"), 2, "can't be combined"),
    (("alert", "test", "--source", "sim:fault=hang"), 2, "whirr serve"),
    (("alert", "test", "--source", "sim:scenario=nothing"), 2, "scenario"),
])
def test_wrong_usage_says_what_is_possible(whirr, args, code, words):
    done = whirr(*args)
    assert done.code == code and words in done.err, done.err


def test_the_configuration_changes_what_a_finding_means(whirr, sim, config):
    plain = {c["code"]: c for c in whirr("why", "--codes", "--json").json()["codes"]}
    assert plain["heat_limit"]["severity"] == "warning" and plain["heat_limit"]["holds_seconds"] == 30 and not plain["heat_limit"]["muted"]
    chosen = config('[finding.heat_limit]\nseverity = "notice"\nhold = "2m"\n[finding.loud]\nmute = true\n')
    codes = {c["code"]: c for c in whirr("why", "--codes", "--json", *chosen).json()["codes"]}
    assert codes["heat_limit"]["severity"] == "notice" and codes["heat_limit"]["holds_seconds"] == 120 and codes["loud"]["muted"]
    assert re.search(r"^loud +muted", whirr("why", "--codes", *chosen).out, re.M)
    for command in ("why", "status"):
        before = sim("overheat,start=300", command, "--json", gpus=1).json()["findings"]
        after = sim("overheat,start=300", command, "--json", *chosen, gpus=1).json()["findings"]
        assert [f["severity"] for f in before if f["code"] == "heat_limit"] == ["critical"]
        assert [f["severity"] for f in after if f["code"] == "heat_limit"] == ["notice"]
        assert [f["muted"] for f in after if f["code"] == "loud"] in ([], [True])
    alert = sim("overheat", "alert", "test", "heat_limit", "--json", "--duration", "10m", *chosen).json()["alerts"][0]
    assert alert["severity"] == "notice"


def test_a_muted_finding_is_listed_last_and_is_no_alert(sim, config):
    chosen = config("[finding.heat_limit]\nmute = true\n")
    body = sim("overheat,start=300", "why", "--json", *chosen, gpus=1).json()
    muted = [f for f in body["findings"] if f["code"] == "heat_limit"]
    assert [f["severity"] for f in muted] == ["info"] and muted[0]["muted"] and body["findings"][-1]["muted"] and body["findings"][0]["code"] != "heat_limit"
    fired = sim("overheat", "alert", "test", "--json", "--duration", "10m", *chosen).json()["alerts"]
    assert "heat_limit" not in {a["alert"] for a in fired}


@pytest.mark.parametrize("text, words", [
    ("[finding.heat_limt]\nmute = true\n", "whirr.toml:1:10: error: there is no finding 'heat_limt', did you mean 'heat_limit'?"),
    ('[finding.hot]\nseverity = "fatal"\n', "whirr.toml:2:12: "),
    ('[finding.hot]\nhold = "-5s"\n', "whirr.toml:2:8: "),
    ('[finding.hot]\nhold = "900d"\n', "whirr.toml:2:8: "),
    ("[finding.hot]\nmuted = true\n", "mute"),
])
def test_wrong_settings_of_findings_are_refused_at_their_place(whirr, config, text, words):
    done = whirr("config", "check", *config(text))
    assert done.code == 1 and words in done.out + done.err, done.out + done.err
