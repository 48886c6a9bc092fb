# SPDX-License-Identifier: Apache-2.0
"""Files of whirr on Windows are for who made them, the system and its administrators: under Wine, which keeps rights as modes of the
files below it, and gives what administrators may to the group."""
import os
import stat

import pytest
from isolation import ON_WINDOWS, run_whirr

pytestmark = pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr")


def open_to_others(folder):
    return {str(p.relative_to(folder)): oct(p.stat().st_mode & 0o777) for p in [folder, *folder.rglob("*")] if p.stat().st_mode & stat.S_IRWXO}


def test_state_tokens_and_history_are_private(start, tmp_path):
    state = tmp_path / "state"
    made = run_whirr("token", "new", "laptop", "--role", "admin", folder=tmp_path, XDG_STATE_HOME=str(state))
    assert made.returncode == 0, made
    daemon = start("--interval", "0.2", "--store", "auto", XDG_STATE_HOME=str(state))
    daemon.wait_stored(4)
    daemon.whirr("alert", "silence", "hot", "--for", "2h")
    names = {p.name for p in (state / "whirr").rglob("*")}
    assert {"tokens", "whirr.db", "daemon.lock"} <= names, names
    beside = {"whirr.db-wal", "whirr.db-shm"}  # SQLite's own, which inherit the folder's rights: not under Wine, but others do not get into the folder
    assert not set(open_to_others(state / "whirr")) - beside


def test_a_configuration_that_setup_writes_is_private(tmp_path):
    done = run_whirr("setup", "--defaults", "--yes", "--service", "no", "--price", "0.30 EUR", folder=tmp_path)
    written = [p for p in tmp_path.rglob("whirr.toml")]
    assert done.returncode == 0 and len(written) == 1, done
    assert not written[0].stat().st_mode & stat.S_IRWXO


@pytest.mark.parametrize("mode, refused", [(0o600, False), (0o666, True)])
def test_tokens_that_others_can_write_are_not_used(tmp_path, mode, refused):
    assert run_whirr("token", "new", "laptop", folder=tmp_path).returncode == 0
    tokens = next(tmp_path.rglob("tokens"))
    tokens.chmod(mode)
    done = run_whirr("token", "list", folder=tmp_path)
    assert done.returncode == (1 if refused else 0), done
    assert ("can be written by others" in done.stderr) == refused and ("icacls" in done.stderr) == refused, done.stderr


@pytest.mark.parametrize("mode, warned", [(0o644, False), (0o666, True)])
def test_a_configuration_that_others_can_write_names_no_programs(tmp_path, mode, warned):
    file = tmp_path / "whirr.toml"
    file.write_text("[energy]\nprice_per_kwh = 0.3\n")
    os.chmod(file, mode)
    done = run_whirr("--config", str(file), "config", "check", folder=tmp_path)
    assert ("others can write" in done.stdout + done.stderr) == warned, done
