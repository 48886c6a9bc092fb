# SPDX-License-Identifier: Apache-2.0
"""`whirr free`: what holds the GPU, and making room for a while, on fakes of a driver and of model servers."""
import json
import signal
import subprocess

import pytest
from conftest import WHIRR
from guard_machine import PATIENCE, Server, machine, needs_fakes, wait_for  # noqa: F401

pytestmark = needs_fakes


@pytest.fixture
def chat(machine):
    """A model server with two models, known by the configuration, beside a program of this user."""
    machine.server = Server(machine, "ollama")
    machine.config.write_text(f'[guard.worker.chat]\nmethods = ["ollama"]\nurl = "{machine.server.url}"\n')
    machine.game = machine.process(300)
    return machine


def freeing(m, *more):
    return subprocess.Popen([WHIRR, "--config", str(m.config), "--source", "nvml", "free", *more], env=m.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def test_a_dry_run_says_what_holds_the_gpu_and_changes_nothing(chat):
    done = chat.whirr("--config", chat.config, "--source", "nvml", "free", "--dry-run", "--json")
    ways = {h["pid"]: h for h in json.loads(done.stdout)["holders"]}
    assert ways[chat.server.process.pid]["way"] == "unload" and ways[chat.server.process.pid]["worker"] == "chat"
    assert ways[chat.game.pid]["way"] == "own" and not chat.server.unloaded()
    text = chat.whirr("--config", chat.config, "--source", "nvml", "free", "--dry-run").stdout
    assert "makes room (ollama), comes back" in text and f"yours: close it (PID {chat.game.pid})" in text and "dry run" in text


def test_models_are_off_the_gpu_until_it_is_over(chat):
    with freeing(chat) as process:
        wait_for(chat.server.unloaded, "unloaded")
        line = ""
        while not line.startswith("Freed "):
            line = process.stdout.readline()
            assert line, process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "Everything is back." in out, err
    assert sorted(chat.server.get()["loaded"]) == ["m:1", "org/two"]


def test_they_come_back_when_the_game_has_ended(chat, tmp_path):
    game = tmp_path / "game.exe"
    game.write_text("#!/bin/sh\nread x\n")
    game.chmod(0o755)
    with subprocess.Popen([game], stdin=subprocess.PIPE) as playing, freeing(chat, "--for", "game.exe") as process:
        wait_for(chat.server.unloaded, "unloaded")
        assert "until game.exe has ended" in process.stderr.readline()
        playing.stdin.close()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "Everything is back." in out and not chat.server.unloaded(), err


def test_without_anything_that_can_make_room_it_fails_and_says_what_to_do(machine):
    machine.process(3000)
    done = machine.whirr("--config", machine.config, "--source", "nvml", "free")
    assert done.returncode == 1 and "yours: close it" in done.stdout and "whirr can't free any of this" in done.stderr


def test_simulated_programs_are_not_freed(sim):
    done = sim("training", "free")
    assert done.code == 1 and "simulated" in done.err


def test_a_dry_run_says_that_programs_are_simulated(whirr):
    dry = whirr("--source", "sim:scenario=game-start", "free", "--dry-run")
    assert dry.code == 0 and "These programs are simulated" in dry.out and "guard attach" not in dry.out
