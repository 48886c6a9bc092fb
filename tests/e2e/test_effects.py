# SPDX-License-Identifier: Apache-2.0
"""A request that has no effect is no success: names that are not there, places that do not answer, sizes that mean nothing."""
import datetime
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, environment
from isolation import linux_only
from ports import free_port

SIM = ("--source", "sim:scenario=idle,gpus=2")
DEAD = "/nonexistent/whirr.sock"


@pytest.mark.parametrize("args, code, says", [
    (["run", "--vram", "70b", *SIM, "--", "true"], 2, "'70b' is a number of parameters, not of bytes; to see how much memory such a model needs: whirr fit 70b"),
    (["fit", "20GiB", "--split", "layers", *SIM], 2, "Expected layer, even"),
    (["report", "--host", "127.0.0.1:1"], 1, "127.0.0.1:1: cannot connect"),
    (["history", "--host", "127.0.0.1:1"], 1, "127.0.0.1:1: cannot connect"),
    (["fit", "llama-70b", *SIM], 2, "neither a file nor an amount"),
    (["run", "--vram", "20", *SIM, "--", "true"], 2, "the size '20' has no unit; write 20GiB"),
    (["reserve", "--vram", "20", *SIM], 2, "has no unit"),
    (["wait", "--gpu-free", "20", *SIM], 2, "has no unit"),
    (["guard", "evict"], 1, "To guard a program that is running: whirr guard attach"),
    (["guard", "resume", "nosuch"], 1, "whirr guard attach"),
    (["guard", "status", "nosuch"], 1, "no worker 'nosuch' is under guard"),
    (["lease", "end", "nosuch"], 1, "`whirr lease` lists them"),
    (["lease", "nosuch"], 2, "unknown subcommand 'nosuch'"),
    (["notify", "test", "nosuch"], 1, "`whirr notify add` adds one"),
    (["notify", "remove", "nosuch"], 1, "no [notify.nosuch] in "),
    (["notify", "add", "x", "desktop", "--no-test", "--socket", DEAD], 2, "name it with --config FILE"),
    (["token", "remove", "nosuch"], 1, "To list them: whirr token list"),
    (["token", "list", "nosuch"], 2, "'token list' does not take 'nosuch'"),
    (["driver", "--gpu", "0", *SIM], 2, "'driver' does not take --gpu"),
    (["resources", "--gpu", "0", *SIM], 2, "'resources' does not take --gpu"),
    (["run", "--json", "--", "true"], 2, "'run' does not take --json"),
    (["history", "--store", "/nonexistent.db"], 1, "cannot open '/nonexistent.db'"),
    (["report", "--store", "/nonexistent.db"], 1, "cannot open '/nonexistent.db'"),
])
def test_a_request_without_an_effect_fails_and_says_what_to_do(whirr, args, code, says):
    done = whirr(*args)
    assert done.code == code and says in done.err and done.out == "", (done.out, done.err)


@pytest.mark.parametrize("command", ["status", "ps", "why", "alert", "alert rules", "lease", "guard", "fit 2GiB", "forecast", "history", "report", "db status",
                                     "export", "top --once", "resources", "devices", "driver", "notify", "token list", "reserve", "run -- true", "mcp"])
def test_a_socket_that_was_named_must_answer(whirr, command):
    done = whirr("--socket", DEAD, *command.split())
    assert done.code == 1 and done.out == "" and f"no daemon answers at {DEAD}" in done.err, (done.out, done.err)


def test_what_can_not_be_judged_for_a_dead_socket_is_not_unfit(whirr):
    for command in ("health", "node-health"):
        assert whirr("--socket", DEAD, command).code == 3


def test_a_filter_that_matches_nothing_is_a_fact(whirr):
    assert whirr("ps", "--user", "nosuch", *SIM).out == "No processes of user nosuch.\n"
    assert whirr("ps", "--name", "nosuch", *SIM).out == "No processes with 'nosuch' in their name or command.\n"


def test_a_server_that_is_not_there_is_not_guarded(whirr):
    url = f"http://127.0.0.1:{free_port()}"
    done = whirr("guard", "attach", url, "--method", "ollama", *SIM)
    assert done.code == 1 and "nothing is listening there" in done.err and "Start the server first" in done.err, done.err


def test_connections_fail_in_our_words(whirr):
    for args in (["--host", "http://127.0.0.1:1", "status"], ["--host", "http://127.0.0.1:1", "lease"], ["status", "--fleet", "http://127.0.0.1:1"]):
        done = whirr(*args)
        assert done.code == 1 and "cannot connect, nothing is listening there: Connection refused" in done.err and "port 1 after" not in done.err, done.err


@linux_only("libfaketime")
@pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed")
@pytest.mark.parametrize("now", ["00:10:00", "07:59:00", "12:00:00", "23:59:30"])
def test_a_night_can_be_reserved_at_any_time_of_day(whirr, now, tmp_path):
    begins = datetime.date(2026, 11, 18) + datetime.timedelta(days=now > "20")
    done = whirr("reserve", "--gpu", "0", "--from", "20:00", "--until", "08:00", *SIM, through=["faketime", f"2026-11-18 {now}"],
                 ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
    assert done.code == 0, done.err
    ends = begins + datetime.timedelta(days=1)
    assert re.search(rf"from {begins:%b %e} 20:00 until {ends:%b %e} 08:00 ", done.out), done.out


@pytest.mark.parametrize("args", [["report", "--since", "last month"], ["history", "--since", "3am", "--until", "noon"], ["history", "--since", "20:00", "--until", "06:00"],
                                  ["why", "--since", "last night"], ["report", "--price", "0.30EUR"], ["report", "--price", "0,30"], ["report", "--price", "€0.30"]])
def test_what_people_write_is_understood(whirr, args, tmp_path):
    store = f"sqlite:{tmp_path}/minutes.db"
    subprocess.run([BUILD / "tests" / "fakes" / "history" / "make_history", store, "3", "gpus=1,scenario=serving", "10"], check=True, env=environment(tmp_path))
    done = whirr(*args, "--store", store)
    assert done.code == 0 and done.out, done.err
    if "EUR" in args[-1]:
        assert "EUR" in done.out


def test_context_in_thousands(whirr):
    assert whirr("fit", "1GiB", "--context", "8k", *SIM).code == 0
    assert whirr("fit", "1GiB", "--context", "k", *SIM).code == 2


@pytest.mark.parametrize("command", ["set", "set power 300W --dry-run", "quiet --dry-run", "free --dry-run", "ps", "fit", "devices", "why"])
def test_what_is_simulated_says_so_on_its_first_line(whirr, command):
    done = whirr(*command.split(), "--source", "sim:scenario=training,gpus=1")
    assert done.code == 0 and done.out.startswith("SIMULATED\n"), done.out + done.err
