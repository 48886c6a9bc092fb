# SPDX-License-Identifier: Apache-2.0
"""A configuration that is there and can't be read: a daemon does not go on without it, and a command says what it left out."""
import os
import signal

import pytest
from isolation import NO_OVERRIDE, linux_only, run_whirr
from waiting import eventually

pytestmark = linux_only("files have other rights there")


def system_file(folder, text):
    path = folder / "system" / "etc" / "whirr" / "whirr.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_a_daemon_stops_and_says_how_it_may_read(tmp_path):
    path = system_file(tmp_path, "[server]\nrequire_token = true\n")
    path.chmod(0)
    done = run_whirr("serve", "--source", "sim", "--store", "none", folder=tmp_path, through=NO_OVERRIDE)
    assert done.returncode == 2 and "cannot be read" in done.stderr and "chgrp " in done.stderr and "chmod 640 " in done.stderr and "600" not in done.stderr, done.stderr
    checked = run_whirr("config", "check", folder=tmp_path, through=NO_OVERRIDE)
    assert checked.returncode == 1 and "chmod 640 " in checked.stdout + checked.stderr
    # Also where the directory is closed: what is in it is not known to be nothing.
    path.chmod(0o644)
    path.parent.chmod(0)
    try:
        assert run_whirr("serve", "--source", "sim", "--store", "none", folder=tmp_path, through=NO_OVERRIDE).returncode == 2
    finally:
        path.parent.chmod(0o755)


def test_a_users_command_goes_on_and_says_what_it_left_out(tmp_path):
    system_file(tmp_path, "[energy]\ncurrency = \"USD\"\n").chmod(0)
    done = run_whirr("status", "--source", "sim", folder=tmp_path, through=NO_OVERRIDE)
    assert done.returncode == 0 and "GPU" in done.stdout, done
    assert "whirr.toml" in done.stderr and "cannot be read, and is left out" in done.stderr, done.stderr


@pytest.mark.parametrize("text", ['[server]\ntls_certificate = "{0}"\ntls_key = "{0}"\n', '[fleet]\nurl = "http://x"\nca = "{0}"\n', '[serving.a]\nkind = "vllm"\nkey_file = "{0}"\n'])
def test_so_do_files_that_it_names(tmp_path, text):
    config, named = tmp_path / "whirr.toml", tmp_path / "named.pem"
    named.write_text("x")
    named.chmod(0)
    config.write_text(text.format(named))
    done = run_whirr("--config", config, "serve", "--source", "sim", "--store", "none", folder=tmp_path, through=NO_OVERRIDE)
    assert done.returncode == 2 and str(named) in done.stderr and "chmod 640 " in done.stderr, done.stderr


def test_a_reload_keeps_the_old_settings(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("[server]\nrequire_token = true\n")
    d = start("--config", str(config), through=NO_OVERRIDE)
    config.chmod(0)
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("keeping the old settings")
    assert d.get("/metrics").status == 401
    health = eventually(lambda: (h := d.ask("GET", "/api/health", unix=True).json())["settings"]["state"] == "old" and h)
    assert health["status"] == "degraded" and "cannot be read" in health["settings"]["message"]
    config.chmod(0o644)


def test_check_names_secrets_that_everyone_can_read(tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[fleet]\nurl = "http://x"\ntoken = "abcdef"\n')
    for mode, told in (0o644, True), (0o640, False), (0o600, False):
        config.chmod(mode)
        done = run_whirr("--config", config, "config", "check", folder=tmp_path)
        text = done.stdout + done.stderr
        assert done.returncode == 0 and ("every user of this host can read this file, which holds fleet." in text) == told, (oct(mode), text)
        assert "abcdef" not in text
    system = system_file(tmp_path, config.read_text())
    system.chmod(0o644)
    assert os.stat(system).st_uid == os.geteuid()
