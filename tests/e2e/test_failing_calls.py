# SPDX-License-Identifier: Apache-2.0
"""Every allocation and system call of the main commands fails in turn: each ends with a message or goes on; none crashes, hangs or ends without
a word. tests/fakes/faults/fail.c does it. WHIRR_FAILING_CALLS=all tries every call instead of some spread evenly."""
import os
import pathlib
import re
import subprocess

import pytest
import recorded
from isolation import BUILD, ROOT, environment

PROGRAM = BUILD / "tests" / "fakes" / "faults" / "whirr-failing"
ALL = os.environ.get("WHIRR_FAILING_CALLS") == "all"
MAX, MANY = ("", "") if ALL else ("/16", "/300")  # MANY: of programs that start others, which takes its time
SIM = ["--direct", "--source", "sim:gpus=2"]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PROGRAM.exists(), reason="whirr-failing was not built")]


def fail_in_turn(folder, command, alive_ms=0, never="does not answer", most=MAX, **env):
    # 99: the sanitizers' own end, which is no answer of a command.
    env = environment(folder, ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:exitcode=99", UBSAN_OPTIONS="halt_on_error=1:exitcode=99", WHIRR_FAILING_SHOW="1", **env)
    done = subprocess.run([PROGRAM, f"1-999999{most}", str(alive_ms), *map(str, command)], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert command[0] == "doctor" or "not on this host" not in done.stdout  # that is not why there is no simulated GPU
    assert not re.search(never, done.stdout), done.stdout[-3000:]  # "does not answer": a source that was never asked does not hang
    return int(re.search(r"(\d+) of (\d+) calls failed in turn, 0 wrong", done.stdout)[1])


@pytest.mark.parametrize("command", [["status", *SIM], ["status", "--json", *SIM], ["why", *SIM], ["ps", *SIM], ["export", *SIM], ["health", *SIM], ["wait", "--gpu-free", "1GiB", *SIM], ["config", "default"],
                                     ["doctor", "--source", "sim"], ["help"]], ids=lambda c: " ".join(w for w in c if w not in SIM))
def test_a_command_ends_with_a_message_or_goes_on(tmp_path, command):
    assert fail_in_turn(tmp_path, command, most="" if command[0] == "status" else MAX) > 8  # of a status, each one


@pytest.mark.parametrize("arguments", [["10GiB"], ["10GiB", "--count", "2"], ["30GiB", "--split", "even"]], ids=" ".join)
def test_out_of_memory_is_no_reason_to_say_that_it_does_not_fit(tmp_path, arguments):
    assert fail_in_turn(tmp_path, ["fit", *arguments, "--direct", "--source", "sim:gpus=2,model=rtx4090,scenario=idle"], never="It does not fit", most="") > 60


def test_so_does_the_driver(tmp_path):
    (tmp_path / "script").write_text("gpu NVIDIA H200\n  profile h200\n  process 1 compute 500\n")
    assert fail_in_turn(tmp_path, ["status", "--direct", "--source", "nvml"], WHIRR_FAKE_NVML=str(tmp_path / "script"),
                        WHIRR_NVML_LIBRARY=str(BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so")) > 12


@pytest.mark.parametrize("machine", ["rx7900xtx-rdna3", "mi300x-kfd-cpx", "arc-a380-xe", "arc-a380-i915"])
def test_so_do_drivers_that_are_files(tmp_path, machine):
    assert fail_in_turn(tmp_path, ["status", "--full", "--json", "--sysroot", recorded.expand(machine, tmp_path / "machine")]) > 12


def test_so_does_a_driver_that_is_a_program(tmp_path):
    answer = pathlib.Path(recorded.expand("mi100-rocm-smi", tmp_path / "machine"), "rocm-smi", "rocm602.json")
    program = tmp_path / "rocm-smi"
    program.write_text(f"#!/bin/sh\nexec cat '{answer}'\n")
    program.chmod(0o755)
    assert fail_in_turn(tmp_path, ["status", "--direct", "--source", "rocm-smi"], never=" 3 GPUs|printed more than", most=MANY,
                        WHIRR_ROCM_SMI=str(program)) > 60  # it lists four


def test_so_does_nvidia_smi(tmp_path):
    assert fail_in_turn(tmp_path, ["status", "--direct", "--source", "nvidia-smi"], never=r"(?m)writes more than| 1 GPU |no longer lists|^ +Fake", most=MANY, WHIRR_NVIDIA_SMI=str(ROOT / "tests/fakes/nvidia-smi")) > 60


def test_a_configuration_for_which_there_is_no_memory_is_not_called_too_large(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text("[sampling]\ninterval_seconds = 2.0\n" + "# words\n" * 2000)
    # What a check finds is its answer, on stdout: fail.c takes that for no word.
    done = subprocess.run([PROGRAM, "1-999999", "0", "config", "check", "--config", file], env=environment(tmp_path, WHIRR_FAILING_SHOW="1"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=600)
    assert "error: out of memory" in done.stdout and "error: cannot be read: Too many open files" in done.stdout
    assert "larger than" not in done.stdout


@pytest.mark.parametrize("command", [["status", *SIM], ["fit", "10GiB", *SIM]], ids=lambda c: c[0])
def test_memory_that_is_out_for_a_while_is_said(tmp_path, command):
    assert fail_in_turn(tmp_path, command, WHIRR_FAILING_IN_A_ROW="40") > 8


def test_memory_that_is_out_for_a_while_ends_no_daemon_without_a_word(tmp_path):
    """A busy machine makes fewer calls in that time, and needs longer."""
    assert any(fail_in_turn(tmp_path, ["serve", "--source", "sim:gpus=2", "--interval", "0.1", "--listen", "127.0.0.1:0"], alive_ms=alive_ms,
                            WHIRR_SERVER_SOCKET=None, WHIRR_FAILING_IN_A_ROW="300") > 12 for alive_ms in (500, 2000, 8000))


def test_the_daemon_starts_samples_and_ends(tmp_path):
    """Told to end after a few samples; one that could not start has said why."""
    assert fail_in_turn(tmp_path, ["serve", "--source", "sim:gpus=2", "--interval", "0.1", "--listen", "127.0.0.1:0"], alive_ms=500,
                        WHIRR_SERVER_SOCKET=None) > 12
