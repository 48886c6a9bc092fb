# SPDX-License-Identifier: Apache-2.0
"""Commands on Windows, under Wine: what their messages say, waiting, lines and files that are those of Linux."""
import socket
import subprocess

import pytest
from daemons import Starter
from isolation import ON_WINDOWS, WHIRR, environment, run_whirr
from waiting import PATIENCE

pytestmark = pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr")
IDLE = ("--source", "sim:scenario=idle,gpus=1")


@pytest.mark.parametrize("words", [("--json",), ("why",), ("sim", "list"), ("help", "status")])
def test_lines_end_as_everywhere(words):
    said = subprocess.run([WHIRR, *IDLE, *words], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=PATIENCE, check=True).stdout
    assert said.count(b"\n") > 2 and b"\r" not in said


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/status", "/usr/bin/env"])
def test_files_of_the_host_of_wine_are_not_there(path):
    done = run_whirr("fit", path)
    assert done.returncode == 1 and f"cannot open '{path}': No such file or directory" in done.stderr, done.stderr


@pytest.mark.parametrize("words, code, said", [
    (("--gpu-free", "1GiB"), 0, ""),
    (("--until", "temperature < 90"), 0, ""),
    (("--until", "temperature > 190"), 1, "timed out after 1s"),
    (("--gpu-free", "900GiB"), 1, "GPU 0 can't have 900.0 GiB free: it has 24.0 GiB"),
    (("--until", "tempreature > 190"), 2, "did you mean 'temperature_celsius'?"),
    ((), 2, "needs --until or --gpu-free"),
])
def test_wait(words, code, said):
    done = run_whirr(*IDLE, "wait", *words, "--timeout", "1s")
    assert done.returncode == code and said in done.stderr, done


@pytest.mark.parametrize("words, code, said", [
    (("statsu",), 2, "unknown command 'statsu'; did you mean 'status'?"),
    (("--config", "bad.toml", "status"), 2, "bad.toml:2:1: unknown setting 'server.lissten', did you mean 'server.listen'?"),
    (("--config", "not-there.toml", "status"), 2, "not-there.toml: cannot be read: No such file or directory"),
    (("--source", "replay:bad.whirr", "status"), 2, "'bad.whirr' is not a recording of whirr"),
    (("--source", "replay:not-there", "status"), 1, "cannot open the recording 'not-there': No such file or directory"),
    (("--source", "sim", "record", "not-there/file", "--duration", "0.1"), 1, "cannot open 'not-there/file' for recording: No such file or directory"),
])
def test_mistakes_are_told_as_on_linux(tmp_path, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[server]\nlissten = 1\n")
    (tmp_path / "bad.whirr").write_text("garbage\n")
    done = run_whirr(*words)
    assert done.returncode == code and said in done.stderr and not done.stdout, done


def test_a_port_in_use_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_whirr("--source", "sim", "serve", "--listen", f"127.0.0.1:{port}", "--store", "none")
    assert done.returncode == 1 and f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr, done.stderr


def test_a_file_is_replaced_each_time_it_is_written(tmp_path):
    starter = Starter(tmp_path)
    try:
        daemon = starter("--interval", "0.2")
        for alert in ("gpu_hot", "vram_full"):
            done = daemon.whirr("alert", "silence", alert, "--for", "2h")
            assert done.returncode == 0, done
        daemon.stop()
        daemon = starter.again(daemon)
        daemon.wait_sampled()
        listed = daemon.whirr("alert", "list").stdout + daemon.whirr("alert", "silences").stdout
        assert "gpu_hot" in listed and "vram_full" in listed, (listed, daemon.log())
    finally:
        starter.stop()
