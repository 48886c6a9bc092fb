# SPDX-License-Identifier: Apache-2.0
"""--dry-run of commands that change something: says what would be done, and nothing is done."""
import json
import pathlib

import pytest
from isolation import run_whirr


def files(folder):
    return {p: p.read_bytes() for p in pathlib.Path(folder).rglob("*") if p.is_file() and p.suffix not in (".lock", "")}


@pytest.mark.parametrize("args, would, look", [
    ("reserve --gpus 1 --source sim", "reserve GPU", "lease --json --source sim"),
    ("run --gpus 1 --source sim -- touch {}/mark.txt", "run touch", "lease --json --source sim"),
    ("run -- touch {}/mark.txt", "let guards make room", "lease --json"),
    ("token new laptop", "add token laptop (read)", "token list --json"),
    ("notify add phone ntfy --url https://ntfy.sh/x --config {}/whirr.toml", "add notifier phone", "notify --json"),
])
def test_commands_without_a_daemon(tmp_path, args, would, look):
    (tmp_path / "whirr.toml").write_text("# mine\n")
    ask = lambda words: run_whirr(*words.format(tmp_path).split(), folder=tmp_path)
    before, listed = files(tmp_path), ask(look).stdout
    command, more = (args + " -- ").split(" -- ", 1)
    done = run_whirr(*command.format(tmp_path).split(), "--dry-run", *(["--", *more.replace(" -- ", "").format(tmp_path).split()] if more else []), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"Would {would}" in done.stdout and "Nothing was changed (dry run)." in done.stdout
    assert files(tmp_path) == before and ask(look).stdout == listed


def test_commands_that_ask_a_daemon(start):
    d = start("--source", "sim:scenario=training,seed=3")
    d.wait_sampled()
    ask = lambda *args: run_whirr(*args, folder=d.folder, WHIRR_SERVER_SOCKET=d.sock)
    assert ask("alert", "silence", "gpu=0", "--for", "2h").returncode == 0
    (silence,) = d.json("/api/alerts")["silences"]
    for args, would in ((["alert", "silence", "gpu=1", "--for", "2h"], "silence gpu=1 for 2h"),
                        (["alert", "silence", "remove", silence["id"]], f"remove silence {silence['id']}"),
                        (["driver", "release", "--for", "10m"], "release the GPU driver for 10m")):
        done = ask(*args, "--dry-run", "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["dry_run"] is True and would in answer["would"]
    assert d.json("/api/alerts")["silences"] == [silence]
    assert not any(g["state"] == "released" for g in json.loads(ask("status", "--json").stdout)["gpus"])
    assert ask("alert", "silence", "remove", "s99", "--dry-run").returncode == 1
    assert ask("forget", "0", "--dry-run").returncode == 1  # it is there
