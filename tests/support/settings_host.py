# SPDX-License-Identifier: Apache-2.0
"""A host whose GPU has settings, on a fake driver that keeps what was set when programs end."""
import pathlib
import subprocess

from isolation import BUILD, WHIRR, environment
from waiting import ended, eventually

CONTROL = BUILD / "whirr-control"
FAKE = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
SCRIPT = "gpu NVIDIA GeForce RTX 4090\n  temperature 55\n  power 280000\n"


class SettingsHost:
    """A host with one fake GPU that keeps what was set, a journal of changed settings, and commands and helper that use both."""

    def __init__(self, folder):
        self.folder, self.leases, self.started = folder, folder / "leases", []
        self.journal = folder / "leases-settings"
        self.journal.mkdir(mode=0o755)  # the mode of earlier versions
        self.values = self.journal / ".fake"  # the helper may write below the journal
        self.script(SCRIPT)

    def script(self, text):
        (self.folder / "script.new").write_text(text)
        (self.folder / "script.new").rename(self.folder / "script")

    def env(self, **more):
        ours = {"WHIRR_NVML_LIBRARY": FAKE, "WHIRR_FAKE_NVML": self.folder / "script", "WHIRR_FAKE_NVML_SETTINGS": self.values,
                "WHIRR_LEASE_DIR": self.leases, "WHIRR_CONTROL_SOCKET": self.folder / "sock", **more}
        return environment(**{name: str(value) for name, value in ours.items()})

    def __call__(self, *args, **more):
        source = [] if "--source" in args else ["--source", "nvml"]
        return subprocess.run([WHIRR, *source, *map(str, args)], env=self.env(**more), capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)

    def start(self, *args, program=WHIRR, **more):
        self.started.append(subprocess.Popen([program, *map(str, args)], env=self.env(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True))
        return self.started[-1]

    def restore(self, **more):
        done = subprocess.run([CONTROL, "--restore"], env=self.env(**more), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    def value(self, key="power_limit", otherwise=450000):
        """The last setting that the driver got; reads again while the file is being replaced."""
        try:
            rows = [line.split() for line in self.values.read_text().splitlines()]
        except FileNotFoundError:
            return otherwise
        return next((int(value) for gpu, name, value in rows if gpu == "0" and name == key), otherwise)

    def set(self, key, value):
        (self.folder / "values.new").write_text(f"0 {key} {value}\n")
        (self.folder / "values.new").rename(self.values)

    def files(self):
        return sorted(p.name for p in self.journal.glob("*.json"))

    def helper(self):
        process = self.start("--listen", program=CONTROL)
        eventually(lambda: (self.folder / "sock").exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process

    def watchdogs(self, process):
        """The watchdog processes of this one."""
        return [int(pid) for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
            ended(process)
