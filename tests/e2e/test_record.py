# SPDX-License-Identifier: Apache-2.0
"""Recording and replaying."""
import signal
import subprocess

import shapes
from conftest import PATIENCE, WHIRR, environment, eventually
from isolation import ON_WINDOWS


def test_a_recording_plays_what_was_seen(sim, whirr, tmp_path):
    path = tmp_path / "run.whirr"
    result = sim("mixed", "record", str(path), "--interval", "0.05", "--duration", "0.3")
    assert result.code == 0 and "samples" in result.err
    assert ON_WINDOWS or path.stat().st_mode & 0o077 == 0  # rights are lists there
    seen = sim("mixed", "status", "--json").json()["gpus"]
    played = whirr("--source", f"replay:{path}", "--json").json()
    assert [g["name"] for g in played["gpus"]] == [g["name"] for g in seen]
    for gpu in played["gpus"]:
        shapes.check_gpu(gpu)
        assert gpu["simulated"] is True


def test_ctrl_c_ends_a_recording_with_a_whole_file(whirr, tmp_path):
    path = tmp_path / "run.whirr"
    process = subprocess.Popen([WHIRR, "--source", "sim", "record", str(path), "--interval", "0.02"], env=environment(),
                               stderr=subprocess.PIPE, text=True)
    eventually(lambda: path.exists() and path.stat().st_size >= 4000)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "play it with" in err
    assert whirr("--source", f"replay:{path}", "--json").json()["gpus"]
