# SPDX-License-Identifier: Apache-2.0
"""Completion scripts, tried out in the shell itself where it is installed."""
import os
import shutil
import subprocess

import pytest
from conftest import BUILD, environment
from isolation import linux_only
from .test_usage import COMMANDS

pytestmark = linux_only("its shells are others")

LINES = [
    ("whirr st", {"status"}),
    ("whirr ps --so", {"--sort", "--source", "--socket"}),
    ("whirr ps --sort v", {"vram"}),
    ("whirr --source s", {"sim"}),
    ("whirr --source sim ps --us", {"--user"}),
    ("whirr completion z", {"zsh"}),
    ("whirr help res", {"reserve"}),
    ("whirr --log-format j", {"json"}),
    ("whirr status --fu", {"--full"}),
    ("whirr notify ", {"list", "add", "remove", "test"}),
    ("whirr notify add phone n", {"ntfy"}),
    ("whirr notify add phone c", set()),  # a command of the configuration can't be added
    ("whirr db export host-m", {"host-minutes"}),
    ("whirr db --force export host-m", {"host-minutes"}),
    ("whirr db status host-m", set()),
    ("whirr db --since -1d ex", {"export"}),
    ("whirr limit s", {"stock"}),
    ("whirr set p", {"power"}),
    ("whirr --source sim set --gpu 0 power s", {"stock"}),
    ("whirr set power 300W --co", {"--confirm", "--config", "--color"}),
    ("whirr history utilization_percent temperature_l", {"temperature_limit_celsius"}),
    ("whirr setup --notify tele", {"telegram"}),
    ("whirr alert silence r", {"remove"}),
]


@pytest.fixture
def home(tmp_path):
    """With two hosts in the configuration, and the program by its name."""
    folder = tmp_path / "config" / "whirr"
    folder.mkdir(parents=True)
    (folder / "whirr.toml").write_text('[hosts.gpu2]\naddress = "https://gpu2.example.org:9447"\n[hosts.desk]\n[notify.phone]\ntype = "ntfy"\nurl = "https://ntfy.example.org/t"\n')
    (folder / "whirr.toml").chmod(0o600)
    return environment(HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"), PATH=f"{BUILD}:{os.environ['PATH']}")


def complete_in_bash(script, line, env):
    words = line.split(" ")
    body = f"""{script}
COMP_WORDS=({' '.join(f"'{w}'" for w in words)}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}
_whirr; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", body], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("line,expected", [
    *LINES,
    ("whirr --host ", {"gpu2", "desk"}),
    ("whirr notify test p", {"phone"}),
    # bash ends a word at : and =, and replaces what is behind them.
    ("whirr --source sim:sc", {"scenario="}),
    ("whirr --source sim:gpus=2,scenario=trai", {"training"}),
    ("whirr ps --source=sim:model=h2", {"h200"}),
    ("whirr ps --sort=v", {"vram"}),
    ("whirr status --fields index,power_w", {"index,power_watts"}),
])
def test_bash_offers_what_fits(whirr, home, line, expected):
    assert set(complete_in_bash(whirr("completion", "bash").out, line, home)) == expected


def test_bash_offers_files_where_a_file_is_meant(whirr, home, tmp_path):
    (tmp_path / "my recording.whirr").touch()
    for line in (f"whirr record {tmp_path}/my", f"whirr --config {tmp_path}/my", f"whirr --config={tmp_path}/my", f"whirr run -- {tmp_path}/my"):
        assert " ".join(complete_in_bash(whirr("completion", "bash").out, line, home)) == f"{tmp_path}/my recording.whirr"
    assert complete_in_bash(whirr("completion", "bash").out, f"whirr doctor {tmp_path}/con", home) == [f"{tmp_path}/config"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_valid_for_their_shell(whirr, shell, tmp_path):
    result = whirr("completion", shell)
    assert result.code == 0 and "completion offer" in result.out
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(result.out)
    check = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True)
    assert check.returncode == 0, check.stderr


def test_man_pages_come_from_the_same_table(whirr):
    if not shutil.which("scdoc"):
        pytest.skip("scdoc is not installed")
    for page in [["help", "--scdoc"]] + [["help", "--scdoc", command] for command in COMMANDS] + [["config", "scdoc"]]:
        source = whirr(*page).out
        done = subprocess.run(["scdoc"], input=source, capture_output=True, text=True)
        assert done.returncode == 0, (page, done.stderr, source)
        assert ".TH" in done.stdout and "\\[" not in done.stdout, page  # which groff takes for a special character


def test_the_man_page_of_the_configuration_has_every_setting(whirr):
    page = whirr("config", "scdoc").out.replace("\\", "")
    for line in whirr("config", "default").out.splitlines():
        if line.startswith("[") and line.endswith("]"):
            assert f"# {line}\n" in page
        elif line.startswith("#") and " = " in line and line[1].isalpha():
            assert line[1:].split(" = ")[0] in page, line
    assert page.startswith("whirr.toml(5)") and "*interval_seconds* = 5.0\n\tSeconds between two samples" in page


ZSH = """
compdef() { :; }; compset() { :; }
_describe() { print -l -- "${(@)${(P)2}%%:*}"; }; _files() { print files "$@"; }; _users() { print users; }
source "$1"; shift; words=("$@"); CURRENT=$#; _whirr
"""


@pytest.mark.parametrize("line,expected", [*LINES, ("whirr --host ", {"gpu2", "desk"}), ("whirr ps --sort=v", {"--sort=vram"}), ("whirr record x", {"files"}),
                                           ("whirr --source sim,scenario=", set()), ("whirr ps --user ", {"users"})])
def test_zsh_offers_what_fits(whirr, home, tmp_path, line, expected):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    (tmp_path / "_whirr").write_text(whirr("completion", "zsh").out)
    done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", str(tmp_path / "_whirr"), *line.split(" ")], capture_output=True, text=True, env=home)
    assert set(done.stdout.split()) == expected and done.stderr == "", done.stderr


def test_zsh_finds_the_script_as_packages_install_it(whirr, home, tmp_path):
    """A file _whirr in a directory of $fpath is loaded when it is first needed, and works that time."""
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "_whirr").write_text(whirr("completion", "zsh").out)
    body = ZSH.replace('source "$1"; shift; ', 'fpath=("$1" $fpath); shift; autoload -Uz _whirr; ')
    done = subprocess.run(["zsh", "-f", "-c", body, "zsh", str(tmp_path / "functions"), "whirr", "completion", "z"], capture_output=True, text=True, env=home)
    assert done.stdout.split() == ["zsh"], done.stderr


@pytest.mark.parametrize("line,expected", [*LINES, ("whirr --host ", {"gpu2", "desk"}), ("whirr --source sim:scenario=trai", {"sim:scenario=training"})])
def test_fish_offers_what_fits(whirr, home, tmp_path, line, expected):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    script = tmp_path / "whirr.fish"
    script.write_text(whirr("completion", "fish").out)
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True, env=home)
    assert {offer.split("\t")[0] for offer in done.stdout.splitlines()} == expected, done.stdout + done.stderr
