# SPDX-License-Identifier: Apache-2.0
"""A program of a user on Windows, under Wine: built with whirr.h and what the zip has, it samples by itself and asks a running daemon."""
import shutil
import subprocess

import pytest
from daemons import Starter
from isolation import BUILD, ON_WINDOWS, ROOT, WHIRR, environment
from waiting import PATIENCE, eventually

COMPILER = "x86_64-w64-mingw32-gcc-posix"
pytestmark = [pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr"),
              pytest.mark.skipif(not shutil.which(COMPILER), reason=f"{COMPILER} is not installed (tools/deps release)")]
PROGRAM = r"""
#include <stdio.h>
#include <whirr.h>

int main(int argc, char **argv)
{
    struct whirr_options options = {.size = sizeof options, .source = argc > 1 ? argv[1] : NULL};
    struct whirr *w;
    struct whirr_sample *s;
    if (whirr_open(&options, &w))
        return fprintf(stderr, "%s\n", whirr_error(NULL)), 1;
    if (whirr_sample(w, &s))
        return fprintf(stderr, "%s\n", whirr_error(w)), 1;
    printf("daemon %d, %d GPUs, %s\n", whirr_asks_daemon(w), (int)whirr_gpu_count(s), whirr_gpu_text(s, 0, "name"));
    whirr_sample_free(s);
    whirr_close(w);
    return 0;
}
"""


@pytest.fixture
def program(tmp_path):
    """Whatever else is in PATH, the library beside a program is the one that Windows loads."""
    (tmp_path / "program.c").write_text(PROGRAM)
    built = tmp_path / "program.exe"
    subprocess.run([COMPILER, "-std=c11", "-Wall", "-Werror", f"-I{ROOT}/include", str(tmp_path / "program.c"), str(BUILD / "whirr.dll.a"), "-o", str(built)],
                   check=True, capture_output=True, text=True)
    shutil.copy(BUILD / "whirr.dll", tmp_path)
    return built


def run(program, env, *arguments):
    return subprocess.run([WHIRR, *arguments], env=dict(env, WHIRR_EXE=str(program)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)


def test_a_program_samples_by_itself(program):
    done = run(program, environment(), "sim:gpus=2,vendor=nvidia")
    assert done.returncode == 0 and done.stdout.startswith("daemon 0, 2 GPUs, NVIDIA"), (done.stdout, done.stderr)
    done = run(program, environment(), "nonsense")
    assert done.returncode == 1 and "nonsense" in done.stderr and done.stdout == ""


def test_a_program_asks_the_daemon_that_runs(program, tmp_path):
    start = Starter(tmp_path)
    try:
        daemon = start("--source", "sim:scenario=training,gpus=3", "--interval", "0.2")
        done = eventually(lambda: (d := run(program, daemon.env)).stdout.startswith("daemon 1") and d)
        assert ", 3 GPUs, " in done.stdout, (done.stdout, done.stderr)
    finally:
        start.stop()
