# SPDX-License-Identifier: Apache-2.0
"""What makes the program and the library hard to exploit is in the files that are shipped, and in force while the daemon runs."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile

import pytest
from conftest import BUILD, ROOT, WHIRR, Starter, environment, eventually, run_whirr


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


def option(name):
    """Of the build that is tested."""
    file = BUILD / "meson-info" / "intro-buildoptions.json"
    if not file.exists():
        pytest.skip("not a build directory")
    return next(o["value"] for o in json.loads(file.read_text()) if o["name"] == name)


@pytest.mark.parametrize("path", [pathlib.Path(WHIRR), BUILD / "libwhirr.so.1"], ids=["program", "library"])
def test_what_overruns_a_buffer_is_noticed(path):
    if option("optimization") in ("0", "plain"):
        pytest.skip("a build that is not optimized is not fortified")
    symbols = readelf("--dyn-syms", path)
    if "address" in option("b_sanitize"):  # instead of checked functions
        assert re.search(r"__asan_report_\w+", symbols)
        return
    checked = set(re.findall(r"\b(__\w+_chk)@", symbols)) - {"__stack_chk_fail"}
    assert {"__vsnprintf_chk", "__memcpy_chk"} <= checked, checked


@pytest.mark.parametrize("path", [pathlib.Path(WHIRR), BUILD / "libwhirr.so.1"], ids=["program", "library"])
def test_the_cpu_checks_where_branches_go(path):
    """Functions begin with the instruction that says so: endbr64, or paciasp and bti c. The linker's note is no help: one object of others without it takes it away."""
    begin = {"x86_64": b"\xf3\x0f\x1e\xfa", "aarch64": b"\x3f\x23\x03\xd5"}.get(os.uname().machine)
    if not begin:
        pytest.skip("this kind of CPU has none")
    functions = len(re.findall(r" FUNC .* \d+ \S+$", readelf("-s", path), re.M))
    assert path.read_bytes().count(begin) > max(1000, functions / 4)


def test_every_file_is_compiled_with_what_cannot_be_seen_in_the_program():
    """A stack that is jumped over: the probes are in functions with large frames alone."""
    file = BUILD / "compile_commands.json"
    if not file.exists():
        pytest.skip("not a build directory")
    ours = [entry["command"] for entry in json.loads(file.read_text()) if "/src/" in entry["file"] and entry["file"].endswith(".c")]
    assert len(ours) > 100 and not [command for command in ours if "-fstack-clash-protection" not in command]


CAP_SYS_PTRACE = 1 << 19


@pytest.fixture
def copy():
    """Of the program, where every user may run it."""
    with tempfile.TemporaryDirectory(prefix="whirr-copy-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(shutil.copy(WHIRR, folder))


def run_as_nobody(program, *args, **env):
    env = environment(**env)
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(program), *args], env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program privileges")
@pytest.mark.parametrize("how", ["file capabilities", "setuid", "setgid"])
def test_a_program_with_privileges_that_its_caller_lacks_refuses_to_run(copy, tmp_path, how):
    library = tmp_path / "planted.so"
    assert run_as_nobody(copy, "--version").returncode == 0
    if how == "file capabilities":
        try:
            os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, CAP_SYS_PTRACE, 0, 0, 0))
        except OSError as e:
            pytest.skip(f"the file system has no file capabilities: {e}")
    else:
        os.chmod(copy, 0o4755 if how == "setuid" else 0o2755)
    if os.statvfs(copy).f_flag & os.ST_NOSUID:
        pytest.skip("the file system is mounted nosuid")
    for command in [["--version"], ["status"], ["doctor"], ["serve"]]:
        done = run_as_nobody(copy, *command, WHIRR_NVML_LIBRARY=str(library))
        assert done.returncode == 1 and not done.stdout, done
        assert done.stderr.startswith(f"whirr: refusing to run with privileges from {how}") and "system service" in done.stderr
    assert run_whirr("--version").returncode == 0


def test_nothing_advises_to_give_the_program_privileges():
    """In a message, a page or a recipe; only how to take them away is said. Those of the daemon come from its unit."""
    given = re.compile(r"setcap (?!-r)|chmod [^\s]*\+s")
    where = [p for folder in ("src", "docs", "packaging", "python") for p in (ROOT / folder).rglob("*") if p.is_file()] + [ROOT / "README.md"]
    assert not [str(p) for p in where if given.search(p.read_text(errors="replace"))]


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


def notifier(name, path):
    """A program that writes down how it is confined."""
    rule = f'[[alert]]\nname = "rule-{name}"\nwhen = "utilization_percent > 1"\nnotify = ["{name}"]\n'
    return rule + f'[notify.{name}]\ntype = "command"\ncommand = ["/bin/sh", "-c", "cat > /dev/null; grep -E \'Seccomp:|NoNewPrivs\' /proc/self/status > {path}.new; mv {path}.new {path}"]\n'


def written(path):
    eventually(path.exists)
    return dict(line.split() for line in path.read_text().splitlines())


def test_a_program_in_the_configuration_runs_outside_and_the_daemon_stays_confined(start, tmp_path):
    config, first, second = tmp_path / "command.toml", tmp_path / "first", tmp_path / "second"
    config.write_text(notifier("own", first))
    daemon = start("--interval", "0.2", "--config", str(config))
    own = pathlib.Path("/proc/self/status").read_text()
    free = {name: re.search(rf"^{name}\s+(\d)", own, re.M).group(1) for name in ("Seccomp:", "NoNewPrivs:")}
    assert state_of(daemon, "Seccomp") == {"2"} and state_of(daemon, "NoNewPrivs") == {"1"}
    assert written(first) == free and state_of(daemon, "Seccomp") == {"2"}
    # A reload can't make the helper know more: a program that is new is confined, and the log says so.
    config.write_text(notifier("own", first) + notifier("new", second))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_log(r"a new program is confined.*notify\.new")
    assert written(second) == {"Seccomp:": "2", "NoNewPrivs:": "1"}
    # The helper ends with the daemon.
    children = pathlib.Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
    assert len(children) == 1 and pathlib.Path(f"/proc/{children[0]}/comm").read_text() == "whirr-programs\n"
    daemon.process.kill()
    daemon.process.wait()
    eventually(lambda: not pathlib.Path(f"/proc/{children[0]}").exists())


def test_a_program_of_the_guard_leaves_the_daemon_confined(start, tmp_path):
    config = tmp_path / "guard.toml"
    config.write_text('[guard.worker.own]\nmatch = { name = "no-such-worker" }\nmethods = ["command"]\nevict_command = ["/bin/true"]\nresume_command = ["/bin/true"]\n')
    daemon = start("--source", "sim", "--config", str(config))
    assert state_of(daemon, "Seccomp") == {"2"}


def test_without_a_program_there_is_no_helper(start):
    daemon = start("--source", "sim")
    assert pathlib.Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text() == ""
