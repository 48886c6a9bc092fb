# SPDX-License-Identifier: Apache-2.0
"""Tests reach nothing of the host, whatever runs there."""
import os

from conftest import environment, eventually, run_whirr

COMMANDS = (["status"], ["devices"], ["ps"], ["why"], ["health"], ["guard", "status"], ["alert", "list"], ["history"], ["fit"], ["release"])


def test_no_command_asks_the_daemon_of_the_host(host_daemon):
    for command in COMMANDS:
        run_whirr(*command)
        assert not host_daemon.taken(), command


def test_the_decoy_hears_who_asks_it(host_daemon):
    run_whirr("devices", WHIRR_SYSTEM_ROOT=None)
    assert eventually(host_daemon.taken)


def test_all_places_are_the_tests_own():
    env = environment()
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "WHIRR_SYSTEM_ROOT"):
        assert env[name].startswith(env["HOME"]) and env[name] != os.environ.get(name), name


def test_the_configuration_of_the_host_is_not_read(tmp_path):
    system = tmp_path / "system"
    (system / "etc/whirr").mkdir(parents=True)
    (system / "etc/whirr/whirr.toml").write_text("[sampling]\ninterval_seconds = 7.25\n")
    assert "= 7.25" in run_whirr("config", "show", WHIRR_SYSTEM_ROOT=str(system)).stdout
    assert "= 7.25" not in run_whirr("config", "show").stdout
