# SPDX-License-Identifier: Apache-2.0
"""Programs are run only from a configuration that nobody else could have written."""
import os
import signal

import pytest
from conftest import PATIENCE, Starter, eventually, run_whirr

COMMANDS = {
    "notify.x.command": '[notify.x]\ntype = "command"\ncommand = ["/bin/touch", "{ran}"]\n',
    "guard.worker.x.evict_command": '[guard.worker.x]\nmatch = {{ name = "worker" }}\nmethods = ["command"]\nevict_command = ["/bin/touch", "{ran}"]\n',
    "guard.worker.x.resume_command": '[guard.worker.x]\nmatch = {{ name = "worker" }}\nmethods = ["command"]\nresume_command = ["/bin/touch", "{ran}"]\n',
    "guard.worker.x.status_command": '[guard.worker.x]\nmatch = {{ name = "worker" }}\nstatus_command = ["/bin/touch", "{ran}"]\n',
}


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    path = folder / "whirr.toml"
    path.write_text(COMMANDS["notify.x.command"].format(ran=tmp_path / "ran"))
    path.chmod(0o600)
    yield path
    folder.chmod(0o700)


def check(file):
    done = run_whirr("config", "check", "--config", file)
    return done.returncode, done.stdout + done.stderr


def test_a_file_of_ones_own_may_name_programs(file):
    for mode in (0o600, 0o640, 0o644):
        file.chmod(mode)
        code, said = check(file)
        assert code == 0 and "warning" not in said, said


@pytest.mark.parametrize("key", COMMANDS)
def test_a_program_from_a_file_that_others_can_write_is_refused(file, tmp_path, key):
    file.write_text(COMMANDS[key].format(ran=tmp_path / "ran"))
    file.chmod(0o666)
    code, said = check(file)
    assert code == 1 and f"others can write {file}" in said and f"{key} is not used" in said, said


def test_a_file_that_others_can_write_and_that_names_no_program_is_warned_of(file):
    file.write_text("[sampling]\ninterval_seconds = 2\n")
    file.chmod(0o666)
    code, said = check(file)
    assert code == 0 and "warning" in said and f"chmod go-w {file}" in said


def test_a_directory_in_which_others_can_write_is_as_bad(file):
    file.parent.chmod(0o777)
    code, said = check(file)
    assert code == 1 and "the directory" in said and "is not used" in said
    file.parent.chmod(0o1777)  # as /tmp: others can't replace what is there
    assert check(file)[0] == 0
    link = file.parent.parent / "link.toml"
    link.symlink_to(file)
    file.chmod(0o666)
    assert check(link)[0] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of others")
def test_a_file_of_another_user_or_a_group_of_others_is_refused(file):
    os.chown(file, 12345, 0)
    code, said = check(file)
    assert code == 1 and "another user (12345)" in said
    os.chown(file, 0, 12345)
    assert check(file)[0] == 0
    file.chmod(0o660)
    assert check(file)[0] == 1
    file.chmod(0o640)
    os.chown(file.parent, 12345, 0)
    assert check(file)[0] == 1


@pytest.fixture
def start(tmp_path):
    starter = Starter(tmp_path)
    yield starter
    starter.stop()


def test_the_daemon_does_not_start_with_such_a_program(file):
    file.chmod(0o666)
    done = run_whirr("serve", "--config", file, "--source", "sim", "--store", "none", "--socket", "none", timeout=PATIENCE)
    assert done.returncode == 2 and "is not used" in done.stderr


def test_a_reload_keeps_the_old_settings_where_a_program_is_refused(start, file, tmp_path):
    program = file.read_text()
    file.write_text("[sampling]\ninterval_seconds = 2\n")
    d = start("--config", str(file))
    file.write_text(program + "[sampling]\ninterval_seconds = 3\n")
    file.chmod(0o666)
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("keeping the old settings")
    assert any("is not used" in line for line in d.lines)
    assert next(s["value"] for s in d.json("/api/settings")["settings"] if s["key"] == "sampling.interval_seconds") == 2
    file.chmod(0o600)
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("reloaded")
    eventually(lambda: "x" in str(d.json("/api/notifiers")))
    assert not (tmp_path / "ran").exists()
