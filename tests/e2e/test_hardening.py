# SPDX-License-Identifier: Apache-2.0
"""What makes the program and the library hard to exploit is in the files that are shipped, and in force while the daemon runs."""
import contextlib
import pathlib
import re
import subprocess

import pytest
from conftest import BUILD, WHIRR, Starter


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, str(path)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", [pathlib.Path(WHIRR), BUILD / "libwhirr.so.1"], ids=["program", "library"])
def test_the_file_is_hardened(path):
    header, segments, dynamic = readelf("-h", path), readelf("-l", path), readelf("-d", path)
    assert re.search(r"Type:\s+DYN", header), "not position independent"
    assert "GNU_RELRO" in segments and re.search(r"FLAGS.*NOW|BIND_NOW", dynamic), "not bound and closed at the start"
    assert re.search(r"GNU_STACK.* RW ", segments), "the stack can be run"
    assert not re.search(r"LOAD.* RWE ", segments), "memory that is written and run"
    assert "TEXTREL" not in dynamic and "RPATH" not in dynamic
    symbols = readelf("--dyn-syms", path)
    assert "__stack_chk_fail" in symbols, "no stack protector"


@pytest.fixture
def start(tmp_path):
    starter = Starter(tmp_path)
    yield starter
    starter.stop()


def state_of(daemon, name):
    """Of every thread."""
    found = set()
    for task in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has just ended
            found.add(re.search(rf"^{name}:\s+(\d+)", (task / "status").read_text(), re.M).group(1))
    return found


def test_the_daemon_confines_itself_and_can_be_told_not_to(start, tmp_path):
    confined = start("--source", "sim", "--log-level", "debug")
    assert state_of(confined, "Seccomp") == {"2"} and state_of(confined, "NoNewPrivs") == {"1"}
    assert "confined landlock=0" in confined.log() or "reason=" in confined.log()
    # What it is there for: whose the GPU is stands in the files of other processes.
    strict = start("--source", "sim", "--log-level", "debug", WHIRR_SERVER_CONFINE_WRITES="true", XDG_STATE_HOME=str(tmp_path / "strict"))
    assert re.search(r"confined landlock=[1-9]", strict.log()) or "reason=" in strict.log()
    strict.stop()
    confined.stop()
    free = start("--source", "sim", WHIRR_SERVER_CONFINE="false", XDG_STATE_HOME=str(tmp_path / "other"))
    assert state_of(free, "Seccomp") == {"0"}
    assert "server.confine is off" in free.log()


def test_a_program_in_the_configuration_is_not_confined(start, tmp_path):
    config = tmp_path / "command.toml"
    config.write_text('[notify.own]\ntype = "command"\ncommand = ["/bin/true"]\n')
    daemon = start("--source", "sim", "--config", str(config))
    assert state_of(daemon, "Seccomp") == {"0"} and "notify.own runs a program" in daemon.log()
