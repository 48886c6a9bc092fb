# SPDX-License-Identifier: Apache-2.0
"""Completion scripts, tried out in the shell itself where it is installed."""
import shutil
import subprocess

import pytest
from conftest import environment
from .test_usage import COMMANDS


def complete_in_bash(script, line):
    words = line.split(" ")
    body = f"""{script}
COMP_WORDS=({' '.join(f"'{w}'" for w in words)}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}
_whirr; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", body], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("line,expected", [
    ("whirr st", {"status"}),
    ("whirr ps --so", {"--sort", "--source", "--socket"}),
    ("whirr ps --sort v", {"vram"}),
    ("whirr --source s", {"sim"}),
    ("whirr --source sim ps --us", {"--user"}),
    ("whirr completion z", {"zsh"}),
    ("whirr help res", {"reserve", "resources"}),
    ("whirr --log-format j", {"json"}),
    ("whirr status --fu", {"--full"}),
])
def test_bash_offers_what_fits(whirr, line, expected):
    assert set(complete_in_bash(whirr("completion", "bash").out, line)) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_valid_for_their_shell(whirr, shell, tmp_path):
    result = whirr("completion", shell)
    assert result.code == 0 and "resources" in result.out and "show-secrets" in result.out
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(result.out)
    check = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True)
    assert check.returncode == 0, check.stderr


def test_man_pages_come_from_the_same_table(whirr):
    if not shutil.which("scdoc"):
        pytest.skip("scdoc is not installed")
    for page in [[]] + [[command] for command in COMMANDS]:
        source = whirr("help", "--scdoc", *page).out
        done = subprocess.run(["scdoc"], input=source, capture_output=True, text=True)
        assert done.returncode == 0, (page, done.stderr, source)
        assert ".TH" in done.stdout


@pytest.mark.parametrize("line,expected", [("whirr st", "status"), ("whirr ps --sort m", "memory"), ("whirr --source s", "sim"),
                                           ("whirr completion z", "zsh")])
def test_fish_offers_what_fits(whirr, tmp_path, line, expected):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    script = tmp_path / "whirr.fish"
    script.write_text(whirr("completion", "fish").out)
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True,
                          env=environment(HOME=str(tmp_path)))
    assert expected in [offer.split("\t")[0].split("=")[-1] for offer in done.stdout.splitlines()], done.stdout + done.stderr
