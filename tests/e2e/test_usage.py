# SPDX-License-Identifier: Apache-2.0
"""Right and wrong usage: exit codes, help, messages."""
import re
import subprocess

import pytest
from conftest import ROOT
from isolation import ON_WINDOWS

COMMANDS = [name.replace("_", "-") for name in re.findall(r"^ *COMMAND\(([a-z_]+)\)(?! /\* hidden)", (ROOT / "src/cli/commands.c").read_text(), re.M)]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_is_one_screen(whirr, command):
    result = whirr(command, "--help")
    assert result.code == 0 and result.err == ""
    lines = result.out.splitlines()
    if ON_WINDOWS and "not on this system yet" in lines[0]:
        pytest.skip("not on Windows")
    assert len(lines) <= 45 and lines[0][0].isupper() and f"Usage: whirr {command} [OPTIONS]" in result.out
    examples = re.search(r"^Examples\n(.*?)\n\n", result.out, re.M | re.S)
    assert command == "version" or len(re.findall(r"^  \S", examples[1], re.M)) == 3
    assert re.search(r"^Exit status: ", result.out, re.M)
    assert "--sysroot DIR" not in result.out and "whirr help options" in result.out  # those of all commands have their own page
    assert result.out == whirr("help", command).out
    assert len(whirr("help", command, "-v").out) >= len(result.out)
    typed = ("whirr ", "source ", "curl ", "sudo ", "env ")  # examples stand as they are typed
    assert all(len(line) <= 80 for line in lines if not line.strip().startswith(typed))


def test_summaries_start_with_a_verb(whirr):
    verbs = {"Show", "Check", "Explain", "Plot", "Report", "Forecast", "List", "Free", "Run", "Record", "Manage", "Create", "Release", "Print", "Keep",
             "Watch", "Compare", "Set", "Open", "Install", "Measure", "Test", "Score", "Add", "Stop", "Start", "Update", "Answer", "Wait", "Reserve", "Find"}
    for command in COMMANDS:
        summary = whirr(command, "--help").out.splitlines()[0]
        assert summary.split()[0].strip(',') in verbs and "?" not in summary, summary


def test_options_of_all_commands_have_a_page(whirr):
    out = whirr("help", "options").out
    assert all(f"--{name}" in out for name in ("json", "gpu", "source", "sysroot", "direct", "socket", "config", "color"))


def test_what_people_come_for_fits_a_small_terminal(whirr):
    lines = whirr("--help").out.splitlines()
    assert len(lines) <= 23 and all(len(line) <= 80 for line in lines)  # and the prompt
    for typed in ("whirr why", "whirr top", "whirr ps", "whirr fit", "whirr run", "whirr history", "whirr report", "whirr do", "whirr undo", "whirr set", "whirr setup", "whirr --host", "help all"):
        assert any(typed in line for line in lines), typed


def test_help_all_lists_every_command_in_its_group(whirr):
    out = whirr("help", "all").out
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", out, re.M), command
    groups = [out.index(f"\n{group}\n") for group in ("Look", "Explain", "Past", "Act", "Run", "Set up")]
    assert groups == sorted(groups) and "--sysroot" not in out
    assert not re.search(r"^  (limit|clocks|fan|tune|devices|resources|forecast|node-health|release) ", out, re.M)


@pytest.mark.parametrize("old, new", [
    (["limit", "500W", "--dry-run", "--gpu", "0"], ["set", "power", "500W", "--dry-run", "--gpu", "0"]),
    (["clocks", "1400-1800", "--dry-run", "--gpu", "0"], ["set", "--gpu", "0", "clocks", "1400-1800", "--dry-run"]),
    (["quiet", "--dry-run"], ["set", "quiet", "--dry-run"]),
    (["tune", "--dry-run", "--server", "x", "--gpu", "0"], ["set", "best", "--dry-run", "--server", "x", "--gpu", "0"]),
    (["forecast", "--watch-for", "0.2"], ["why", "--watch-for", "0.2", "--forecast"]),
    (["limit"], ["set", "power"]),
    (["release"], ["driver", "release"]),
    (["node-health", "--slurm", "--dry-run", "--node", "n"], ["health", "--slurm", "--dry-run", "--node", "n"]),
])
def test_old_names_answer_as_before(whirr, old, new):
    """The same answer under the name that help shows; only the name in a message is the one that was typed."""
    def neutral(result):
        names = {"'set power'": "'limit'", "set power --help": "limit --help", "'driver release'": "'release'", "driver release --help": "release --help"}
        text = result.out + result.err
        for shown, was in names.items():
            text = text.replace(shown, was)
        return result.code, re.sub(r"[\d.]+ (W|°C)|\d+ MHz", "N", text)
    source = ["--source", "sim:scenario=training,gpus=1,seed=1"]
    assert neutral(whirr(*source, *old)) == neutral(whirr(*source, *new))


def test_what_is_set_is_shown_with_its_range(whirr):
    out = whirr("--source", "sim:gpus=1", "set").out
    assert re.search(r"^GPU 0  power limit     \d+ W  \(range \d+ W to \d+ W\)$", out, re.M), out
    settings = whirr("--source", "sim:gpus=1", "set", "--json").json()["settings"]
    assert {"gpu_index", "what", "now", "least", "most", "permitted"} == set(settings[0]) and settings[0]["what"] == "power_limit"


@pytest.mark.parametrize("args,message", [
    (["stauts"], "unknown command 'stauts'; did you mean 'status'?"),
    (["frobnicate"], "unknown command 'frobnicate'"),
    (["--jsn"], "unknown option '--jsn'; did you mean '--json'?"),
    (["ps", "--sort=memry"], "did you mean 'memory'? Expected gpu, vram"),
    (["-W", "3"], "unknown option '-W'"),
    (["ps", "--sort"], "option '--sort' needs a value"),
    (["ps", "-Q"], "unknown option '-Q'"),
    (["--json=yes"], "takes no value"),
    (["status", "extra"], "'status' does not take 'extra'"),
    (["record"], "'record' needs FILE"),
    (["status"] + ["--source", "sim"] * 17, "more than 16 times '--source'"),
    (["guard", "attach", "1"] + ["--source", "sim"] * 17, "more than 16 times '--source'"),
    (["--watch=0"], "above 0"),
    (["--watch=soon"], "above 0"),
    (["--source", "nvlm"], "nvml"),
    (["--log-format", "xml"], "expected text, json"),
    (["completion", "tcsh"], "unknown shell"),
    (["help", "nothing"], "unknown command 'nothing'"),
    (["help", "stauts"], "did you mean 'status'?"),
    (["help", "metrcs"], "did you mean 'metrics'?"),
    (["alert", "lst"], "did you mean 'list'?"),
    (["guard", "evct"], "did you mean 'evict'?"),
    (["notify", "ad"], "did you mean 'add'?"),
    (["config", "shwo"], "did you mean 'show'?"),
    (["set", "powr"], "did you mean 'power'?"),
    (["set", "power"], "'set power' needs WATTS"),
    (["db", "exprt"], "did you mean 'export'?"),
    (["token", "lst"], "did you mean 'list'?"),
    (["token", "whatever"], "expected new, list or remove"),
    (["completion", "bsh"], "did you mean 'bash'?"),
    (["history", "utilizaton"], "did you mean 'utilization_percent'?"),
    (["--source", "sim:scenario=trainin"], "did you mean 'training'?"),
    (["--source", "sim", "history"], "not from a source"),
    (["sim", "lits"], "did you mean 'list'?"),
])
def test_wrong_usage_is_2_and_says_what_was_meant(whirr, args, message):
    result = whirr(*args)
    assert result.code == 2, result.err
    assert message in result.err and result.out == ""
    assert "--help`" in result.err


@pytest.mark.parametrize("scenario, why", [("reserved", "is reserved for alice, and finetune.py"), ("crypto-miner", "kworkerds (www-data) is mining")])
def test_what_is_marked_is_in_the_first_sentence(sim, scenario, why):
    """As in `status`: a mark without its reason makes people search."""
    out = " ".join(sim(scenario + ",start=330", "why").out.split())
    assert why in out[out.index("▲"):].split(". ")[0], out


def test_the_first_words_of_a_long_name_are_enough(whirr):
    for args in (["alert", "test", "temprature > 80"], ["status", "--source", "sim", "--fields", "temprature"]):
        done = whirr(*args)
        assert done.code and "did you mean 'temperature_celsius'?" in done.err, done.err


def test_failures_are_1(whirr, sim):
    assert whirr("--sysroot", "/no/such/folder").code == 1
    missing = sim("idle", "--gpu", "77")
    assert missing.code == 1 and "77" in missing.err and missing.out == ""
    assert whirr("record", "/no/such/folder/file", "--source", "sim", "--duration", "0.1").code == 1


def test_no_gpu_is_fine_and_says_why_and_what_to_do(whirr, bare_machine):
    for command in ([], ["ps"], ["why"], ["devices"], ["driver"], ["resources"]):
        result = whirr("--sysroot", str(bare_machine), *command)
        assert result.code == 0 and result.out, command
    out = whirr("--sysroot", str(bare_machine)).out
    assert "No GPU was found on bare" in out and "whirr doctor" in out and "nvml" in out


def test_version(whirr):
    assert re.fullmatch(r"whirr \d+\.\d+\.\d+\n", whirr("--version").out)
    assert whirr("version").out.startswith(whirr("-V").out.rstrip() + " (commit ")
    lines = whirr("version").out.splitlines()
    assert re.fullmatch(r"whirr \S+ \(commit ([0-9a-f]{7,40}(-dirty)?|unknown)\)", lines[0]), lines
    assert lines[1].startswith("Features: sqlite") and lines[-1].startswith("Sources:  nvml, ")
    facts = whirr("version", "--json").json()
    assert facts["name"] == "whirr" and f"(commit {facts['commit']})" in lines[0]
    assert set(facts["features"]) >= {"dashboard", "api_page", "tls", "postgresql"} and ("wddm" if ON_WINDOWS else "amdgpu") in facts["sources"]
    for name, there in facts["features"].items():  # said to be missing, or to be there: one of both
        assert (name in lines[1]) == there, name


def test_options_may_stand_before_and_behind_the_command(whirr):
    one = whirr("--source", "sim", "devices", "--json").json()
    other = whirr("devices", "--json", "--source=sim").json()
    assert [d["name"] for d in one["devices"]] == [d["name"] for d in other["devices"]]


def test_sim_list_names_the_scenarios(whirr):
    out = whirr("sim", "list").out
    for name in ("idle", "training", "game-start", "vram-leak", "overheat", "gpu-lost", "mixed"):
        assert re.search(rf"^  {name} ", out, re.M)
    assert {"idle", "mixed"} <= {s["name"] for s in whirr("sim", "list", "--json").json()["scenarios"]}


def test_the_manual_of_sim_has_the_scenarios_and_faults(whirr):
    listed = whirr("sim", "list", "--json").json()
    page = whirr("help", "--scdoc", "sim").out
    scenarios, faults = page.split("# SCENARIOS\n")[1].split("# FAULTS\n")
    for part, rows in ((scenarios, listed["scenarios"]), (faults, listed["faults"])):
        for row in rows:
            item = re.search(rf"^\*{row['name']}\*\n\t(.*)$", part, re.M).group(1).replace("\\", "")
            assert item.startswith(row["what"]) and (row["finding"] or "") in item, item


def test_the_manual_of_top_has_the_keys(whirr):
    keys = whirr("help", "--scdoc", "top").out.split("# KEYS\n")[1]
    for about, key in (("Move", "PgUp"), ("Time", "go to a time"), ("Table", "F6 sort"), ("Act", "F9 signal"), ("Copy", "selects this GPU"), ("Mouse", "wheel")):
        assert key in re.search(rf"^\*{about}\*\n\t(.*)$", keys, re.M).group(1)


def test_every_metric_is_explained(whirr):
    out = whirr("help", "metrics").out
    assert "utilization_percent  gpu_utilization_percent" in out and "vbios_version" in out
    gpu = whirr("--source", "sim:scenario=training", "status", "--full", "--json").json()["gpus"][0]
    parts = {title: re.findall(r"^  (\S+)", body, re.M) for title, body in re.findall(r"^(\w.*)\n((?:  .*\n)+)", out, re.M)}
    assert set(parts["Metrics of a process on a GPU"]) <= set(gpu["processes"][0]) and set(parts["Properties of a GPU"]) <= set(gpu), "nothing but keys"
    narrow = whirr("help", "metrics", COLUMNS="60").out.splitlines()
    assert {len(line) - len(line.lstrip()) for line in narrow if line} == {0, 2, 6}, "what is explained stands below its name, in all of its lines"


@pytest.mark.parametrize("args", [("lock", "x", "100"), ("lock", "1", "x"), ("lock", "1")])
def test_the_helper_of_checkpoints_takes_only_numbers(whirr, args):
    assert whirr("cuda-helper", *args).code == 2


@pytest.mark.parametrize("args", [("--interval", "0"), ("--listen", ":1"), ("--store", "foo"), ("--log-level", "x"), ("--socket",)])
def test_wrong_settings_of_the_daemon_are_wrong_usage(whirr, args):
    result = whirr("serve", "--source", "sim", *args)
    assert result.code == 2 and result.out == "" and result.err.startswith("whirr: "), result.err
    assert args[0] in result.err


def test_a_configuration_that_was_named_must_be_readable(whirr, tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("[server\n")
    for command in (["devices"], ["status", "--direct"], ["--source", "sim", "why"], ["serve"], ["release"], ["alert"], ["history"], ["report"],
                    ["fit"], ["guard"], ["token", "list"], ["db", "status"], ["forecast"], ["notify"], ["ps"], ["health"]):
        for path in (broken, tmp_path / "missing.toml"):
            result = whirr("--config", str(path), *command)
            assert result.code == (3 if command == ["health"] else 2) and str(path) in result.err and result.out == "", (command, result.err)
            named = whirr(*command, WHIRR_CONFIG=str(path))
            assert named.code == result.code and str(path) in named.err and named.out == "", (command, named.err)


def test_a_variable_that_is_wrong_is_said(whirr):
    result = whirr("devices", WHIRR_LOG_LEVEL="loud")
    assert result.code == 2 and "WHIRR_LOG_LEVEL" in result.err and "loud" in result.err


@pytest.mark.parametrize("text, words", [
    ('[guard.worker.x]\nmethods = ["checkpoint"]\n', "is not guarded"),
    ('[guard.worker.x]\nmethods = ["ollama"]\nurl = "http://127.0.0.1:9"\ngate = "127.0.0.1:9"\n', "is the address of the url"),
    ('[guard.worker.x]\nmethods = ["ollama"]\nurl = "http://127.0.0.1:9"\ngate = "127.0.0.1:8"\n'
     '[guard.worker.y]\nmethods = ["ollama"]\nurl = "http://127.0.0.1:7"\ngate = "127.0.0.1:8"\n', "is that of guard.worker.x already"),
    ("[worker]\ntemperature_threshold_celsius = 80\ntemperature_release_celsius = 90\n", "is above"),
])
def test_config_check_finds_what_does_not_work_together(whirr, tmp_path, text, words):
    path = tmp_path / "whirr.toml"
    path.write_text(text)
    result = whirr("--config", str(path), "config", "check")
    assert result.code == 1 and words in result.out and "fine" not in result.out, result.out
    assert f"{path}:" in result.out


def test_outputs_in_the_readme_are_current():
    done = subprocess.run([str(ROOT / "tools/readme-outputs"), "--check"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
