# SPDX-License-Identifier: Apache-2.0
"""whirr setup: five questions at a terminal, the plan that follows, doing it and taking it back. Everything is below a root of the test's own;
systemctl is a stand-in that writes down what it is asked."""
import os
import pathlib
import shutil
import stat
import subprocess
import tomllib

import pytest
import targets
from isolation import WHIRR, environment, run_whirr
from terminal import Terminal
from tripwires import Servers

ROOT = os.geteuid() == 0


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


class Host:
    def __init__(self, folder):
        self.folder, self.calls_path = folder, folder / "systemctl.log"
        (folder / "bin").mkdir()
        self.systemctl(f'#!/bin/sh\necho "$@" >> {self.calls_path}\n')
        self.config = folder / ("system/etc/whirr/whirr.toml" if ROOT else "config/whirr/whirr.toml")
        self.unit = folder / ("system/etc/systemd/system/whirr.service" if ROOT else "config/systemd/user/whirr.service")
        self.record = folder / "whirr" / "setup.json"
        self.env = {"PATH": f"{folder}/bin:/usr/bin:/bin"}

    def systemctl(self, text):
        path = self.folder / "bin" / "systemctl"
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *args):
        return run_whirr("setup", *args, folder=self.folder, **self.env)

    def terminal(self, *args):
        return Terminal([WHIRR, "setup", *args], environment(self.folder, **self.env))

    def calls(self):
        return self.calls_path.read_text().splitlines() if self.calls_path.exists() else []

    def files(self):
        """All that is below the folder, but for what the test itself put there."""
        own = {self.calls_path, self.folder / "bin" / "systemctl"}
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file() and p not in own}

    def settings(self):
        return tomllib.loads(self.config.read_text())


def test_five_questions_a_plan_and_the_way_back(host):
    ntfy = targets.ntfy()
    host.config.parent.mkdir(parents=True)
    host.config.write_text("# mine\n[energy]\ncurrency = \"USD\" # dollars\n")
    before = host.files()
    t = host.terminal()
    t.answer("1/5  Run whirr as a service?", "perhaps")
    t.expect("expected ")
    t.answer("1/5  Run whirr as a service?", "")
    t.answer("2/5  Price", "cheap")
    t.expect("expected a price like 0.30")
    t.answer("2/5  Price", "0.30 EUR")
    t.answer("3/5  Who may look?", "")
    t.answer("4/5  Model servers", "ollama, vllm=http://127.0.0.1:9000")
    t.answer("5/5  Where to notify", "ntfy")
    t.answer("URL with the topic", "s3cret-topic")
    t.expect("expected a URL")  # and the other answers are kept
    t.answer("URL with the topic", ntfy.url("/s3cret-topic"))
    t.expect("Files\n")
    t.expect("+ price_per_kwh = 0.3")
    t.expect("Commands\n  systemctl")
    t.expect("Do it? [Y/n]: ")
    assert host.files() == before and not host.calls()  # nothing before the yes
    t.type("y")
    assert t.end() == 0, t.text
    ntfy.close()
    settings = host.settings()
    assert settings["energy"] == {"currency": "EUR", "price_per_kwh": 0.3} and "# mine" in host.config.read_text()
    assert settings["guard"]["worker"] == {"ollama": {"methods": ["ollama"], "url": "http://127.0.0.1:11434"}, "vllm": {"methods": ["vllm"], "url": "http://127.0.0.1:9000"}}
    assert settings["notify"] == {"ntfy": {"type": "ntfy", "url": ntfy.url("/s3cret-topic")}} and settings["alerts"]["notify"] == ["ntfy"]
    assert "server" not in settings
    assert not host.config.stat().st_mode & 0o007
    assert f"ExecStart={pathlib.Path(WHIRR).resolve()} serve" in host.unit.read_text() and stat.S_IMODE(host.unit.stat().st_mode) == 0o644
    kind = [f"--root={host.folder}/system"] if ROOT else ["--user"]
    assert [c.split() for c in host.calls()][-1 if ROOT else 1] == [*kind, "enable", "whirr.service"]
    assert run_whirr("config", "check", folder=host.folder).returncode == 0

    undone = host.run("--undo", "--yes")
    assert undone.returncode == 0 and "restored" in undone.stdout and "removed" in undone.stdout, undone.stderr
    assert host.files() == before and "disable" in host.calls()[-1]
    again = host.run("--undo", "--yes")
    assert again.returncode == 1 and "nothing was set up" in again.stderr


def test_model_servers_are_found_by_their_command_lines_and_get_no_request(host, tmp_path):
    """What listens on a usual port may be something that other bytes harm."""
    servers = Servers(tmp_path)
    _, asked = servers("lm-studio", "--port", "PORT", wires=2, pages={"/api/v0/models": '{"data": []}'})
    try:
        t = host.terminal("--service", "no", "--dry-run")
        t.expect("Found on this host: ")
        t.expect("lmstudio=http://127.0.0.1:")
        assert asked() == []
        t.process.kill()
    finally:
        servers.stop()


def test_without_a_terminal_nothing_is_asked(host):
    asked = host.run()
    assert asked.returncode == 2 and "--defaults" in asked.stderr and not host.files()
    assert host.run("--undo").returncode == 2
    shown = host.run("--defaults", "--dry-run")
    assert shown.returncode == 0 and "systemctl" in shown.stdout and not host.files() and not host.calls()
    secret = host.run("--yes", "--dry-run", "--notify", "ntfy=https://ntfy.sh/s3cret-topic")
    assert secret.returncode == 0 and "+ url = (hidden)" in secret.stdout and "s3cret" not in secret.stdout + secret.stderr
    done = host.run("--defaults")
    assert done.returncode == 0 and host.unit.exists() and not host.config.exists() and host.record.exists(), done.stderr
    assert stat.S_IMODE(host.record.stat().st_mode) == 0o600


def test_options_answer_and_wrong_ones_are_named(host):
    for args, words in [(("--service", "often"), "invalid value 'often' for --service"), (("--price", "x"), "0.30 EUR"), (("--access", "all"), "host or network"),
                        (("--guard", "thing"), "'thing' is not one of"), (("--notify", "smoke"), "desktop"), (("--notify", "telegram"), "whirr notify add")]:
        wrong = host.run("--yes", *args)
        assert wrong.returncode == 2 and words in wrong.stderr and not host.files(), wrong.stderr
    done = host.run("--yes", "--service", "no", "--access", "network", "--notify", "desktop", "--price", "1")
    assert done.returncode == 0, done.stderr
    assert host.settings() == {"server": {"listen": ["0.0.0.0:9447"]}, "energy": {"price_per_kwh": 1.0}, "notify": {"desktop": {"type": "desktop"}}, "alerts": {"notify": ["desktop"]}}
    assert not host.calls() and "setup" in run_whirr("token", "list", folder=host.folder).stdout
    same = host.run("--yes", "--service", "no", "--price", "1")
    assert same.returncode == 0 and "Nothing to do" in same.stdout
    assert host.run("--undo", "--yes").returncode == 0
    assert not host.config.exists() and "setup" not in run_whirr("token", "list", folder=host.folder).stdout


def test_a_no_changes_nothing(host):
    before = set(host.folder.rglob("*"))
    t = host.terminal("--defaults")
    t.answer("Do it? [Y/n]: ", "n")
    assert t.end() == 1 and not host.files() and not host.calls()
    assert set(host.folder.rglob("*")) == before, "not even a directory"


def test_a_command_that_fails_is_said_and_can_be_undone(host):
    host.systemctl("#!/bin/sh\necho 'no bus here' >&2\nexit 1\n")
    failed = host.run("--defaults", "--price", "0.3")
    assert failed.returncode == 1 and "no bus here" in failed.stderr and "whirr setup --undo" in failed.stderr
    host.systemctl(f'#!/bin/sh\necho "$@" >> {host.calls_path}\n')
    assert host.run("--undo", "--yes").returncode == 0 and not host.files()


def test_what_was_changed_since_is_left_alone_and_a_second_setup_remembers_the_first_state(host):
    assert host.run("--yes", "--service", "no", "--price", "0.3").returncode == 0
    assert host.run("--yes", "--service", "no", "--price", "0.4", "--guard", "ollama").returncode == 0
    assert host.settings()["energy"]["price_per_kwh"] == 0.4
    mine = host.config.read_text() + "# mine\n"
    host.config.write_text(mine)
    left = host.run("--undo", "--yes")
    assert left.returncode == 0 and "changed since" in left.stdout and host.config.read_text() == mine
    host.config.unlink()
    assert host.run("--yes", "--service", "no", "--price", "0.3").returncode == 0
    assert host.run("--yes", "--service", "no", "--price", "0.4").returncode == 0
    assert host.run("--undo", "--yes").returncode == 0 and not host.config.exists()


def test_what_could_not_be_taken_back_can_be_tried_again(host):
    host.config.parent.mkdir(parents=True, exist_ok=True)
    host.config.write_text("# mine\n")
    assert host.run("--yes", "--service", "no", "--price", "0.3").returncode == 0
    changed = host.config.read_text()
    host.config.unlink()
    host.config.mkdir()  # cannot be read
    failed = host.run("--undo", "--yes")
    assert failed.returncode == 1 and f"failed         {host.config}" in failed.stdout and host.record.exists(), failed
    host.config.rmdir()
    host.config.write_text(changed)
    again = host.run("--undo", "--yes")
    assert again.returncode == 0 and "restored" in again.stdout and host.config.read_text() == "# mine\n" and not host.record.exists(), again


@pytest.mark.skipif(not ROOT or not shutil.which("systemctl"), reason="needs root and systemctl")
def test_the_real_systemctl_enables_it_below_the_root(host):
    (host.folder / "bin" / "systemctl").unlink()
    done = host.run("--defaults")
    assert done.returncode == 0, done.stderr
    link = host.folder / "system/etc/systemd/system/multi-user.target.wants/whirr.service"
    assert link.is_symlink()
    assert host.run("--undo", "--yes").returncode == 0 and not link.is_symlink() and not host.unit.exists()


def setup_of_a_copy(host, name):
    program = host.folder / name / "whirr"
    program.parent.mkdir()
    shutil.copy(WHIRR, program)
    return subprocess.run([program, "setup", "--yes", "--service", "system" if ROOT else "user"], env=environment(host.folder, **host.env), capture_output=True, text=True)


def test_the_unit_starts_a_program_whose_path_has_spaces(host):
    done = setup_of_a_copy(host, "my tools, 100% $mine")
    assert done.returncode == 0, done.stderr
    text = host.unit.read_text()
    assert f'ExecStart="{host.folder}/my tools, 100%% $mine/whirr" serve\n' in text, text
    if shutil.which("systemd-analyze"):  # it complains of a program that is not there
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", *([] if ROOT else ["--user"]), host.unit], capture_output=True, text=True).stderr
        assert not [line for line in said.splitlines() if "whirr" in line], said


def test_no_unit_is_written_that_systemd_would_refuse(host):
    done = setup_of_a_copy(host, "bob's tools")
    assert done.returncode == 1 and "systemd can't start '" in done.stderr and "--service no" in done.stderr and not host.unit.exists(), done
