# SPDX-License-Identifier: Apache-2.0
"""The program under test, and an environment in which it reaches only the test's own home, socket, configuration, database, ports
and GPU libraries."""
import os
import pathlib
import signal
import subprocess
import tempfile

import pytest
from waiting import patience

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHIRR = os.path.abspath(os.environ.get("WHIRR_BIN", ROOT / "build" / "whirr"))
ON_WINDOWS = pathlib.Path(WHIRR).resolve() == ROOT / "tests" / "windows" / "whirr"  # whirr.exe under Wine
BUILD = pathlib.Path(os.environ.get("WHIRR_EXE", ROOT / "build-windows" / "whirr.exe") if ON_WINDOWS else WHIRR).resolve().parent
STOP = signal.SIGINT if ON_WINDOWS else signal.SIGTERM  # Wine turns it into Ctrl+C

# Without these capabilities, root can't read files that it may not read, either.
NO_OVERRIDE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
# Root, or an ordinary user who is root in its own user namespace.
AS_ROOT = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]


def linux_only(why):
    """Marks a test of a feature that only Linux has."""
    return pytest.mark.skipif(ON_WINDOWS, reason=f"not on Windows: {why}")


_home = None  # of the running test


def enter_home():
    """Makes a home for a test. Its path is short, because that of a Unix socket has at most 107 bytes."""
    global _home
    _home = tempfile.TemporaryDirectory(prefix="whirr-test-", ignore_cleanup_errors=True)


def leave_home():
    _home.cleanup()


def environment(folder=None, **changes):
    """The whole environment of a process: a host without GPU libraries and without a daemon, whatever this host has. All paths
    are below `folder`, or below the home of the running test."""
    folder = pathlib.Path(folder or _home.name)
    env = {
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80", "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"),
        "WHIRR_SYSTEM_ROOT": str(folder / "system"), "WHIRR_SERVER_LISTEN": "127.0.0.1:0", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "WHIRR_OWN_PIDS": "1",  # the PIDs of a fake driver are ours, even in a container
        "WHIRR_NVML_LIBRARY": "libnvidia-ml-not-here.so", "WHIRR_CUDA_LIBRARY": "libcuda-not-here.so",
        "WHIRR_NVIDIA_SMI": "/nonexistent/nvidia-smi", "WHIRR_ROCM_SMI": "/nonexistent/rocm-smi",
    }
    for name in ("UBSAN_OPTIONS", "LSAN_OPTIONS", "FAULT_ACTIVE", "FAULT_MAP", "WHIRR_EXE", "WHIRR_WINE_PREFIX", "WHIRR_WINE_DLLS"):
        if name in os.environ:
            env[name] = os.environ[name]
    # The search for leaks takes seconds at the end of each process; test_leaks.py and test_soundness.py do it for all.
    env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    env.update(changes)
    return {name: value for name, value in env.items() if value is not None}


def preload(library):
    """The environment that lets an unsanitized program load a sanitized library."""
    linked = subprocess.run(["objdump", "-p", str(library)], capture_output=True, text=True).stdout
    runtimes = [subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip() for name in ("libasan.so", "libubsan.so") if "libasan" in linked]
    return {"LD_PRELOAD": " ".join(runtimes)} if runtimes else {}


def run_whirr(*args, folder=None, timeout=90, stdin=subprocess.DEVNULL, through=(), **env):
    done = subprocess.run([*through, WHIRR, *map(str, args)], env=environment(folder, **env), capture_output=True, text=True,
                          timeout=patience(timeout), stdin=stdin, errors="surrogateescape")
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    return done
