# SPDX-License-Identifier: Apache-2.0
"""whirr as a service of Windows, under Wine: `whirr setup` makes it, the service manager starts and stops it, commands find it, and `--undo` takes
it away with its history kept. Wine takes one that was killed for running, and restarts none: tests/windows/test_serve.py kills the daemon instead."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import urllib.request

import pytest
from isolation import ON_WINDOWS, ROOT, run_whirr
from ports import free_port
from waiting import eventually

pytestmark = pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr")
PREFIX = pathlib.Path(os.environ.get("WHIRR_WINE_PREFIX") or f"{os.environ.get('TMPDIR', '/tmp')}/whirr-wine-{os.getuid()}")
PLACE = PREFIX / "drive_c" / "ProgramData" / "whirr"


def wine():
    return dict(os.environ, WINEPREFIX=str(PREFIX), WINEDEBUG="-all", WINEDLLOVERRIDES="mscoree,mshtml=")


@pytest.fixture(scope="module")
def wine_that_stays():
    """Wine ends its services with the last program that is none, and starts them with the next one: so one stays."""
    quiet = {"env": wine(), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # what Wine starts would keep a pipe open
    subprocess.run(["wine", "cmd", "/c", "exit"], stdin=subprocess.DEVNULL, timeout=90, check=True, **quiet)
    with subprocess.Popen(["wine", "cmd"], stdin=subprocess.PIPE, **quiet) as holder:
        yield
        holder.communicate(b"exit\r\n", timeout=90)


class Service:
    def __init__(self, folder):
        self.port = free_port()
        program = folder / "Program Files" / "whirr.exe"  # with a space in its path
        program.parent.mkdir()
        shutil.copy(os.environ.get("WHIRR_EXE", ROOT / "build-windows" / "whirr.exe"), program)
        self.env = dict(WHIRR_EXE=str(program), XDG_STATE_HOME=None, XDG_RUNTIME_DIR=None, WHIRR_SYSTEM_ROOT=None, WHIRR_SERVER_LISTEN=None)
        self.folder = folder

    def whirr(self, *args):
        return run_whirr(*args, folder=self.folder, **self.env)

    def sc(self, *args):
        return subprocess.run(["wine", "sc", *args], env=wine(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90, check=False)

    def registry(self):
        return subprocess.run(["wine", "reg", "query", "HKLM\\System\\CurrentControlSet\\Services\\whirr"], env=wine(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90, check=True).stdout

    def is_in(self, state):
        return state in self.sc("query", "whirr").stdout

    def configure(self, **more):
        PLACE.mkdir(parents=True, exist_ok=True)
        PLACE.chmod(0o755)
        (PLACE / "whirr.toml").write_text(f'[server]\nlisten = ["127.0.0.1:{self.port}"]\n[sampling]\nsources = ["sim:scenario=mixed"]\n{more.get("text", "")}')

    def setup(self, *args):
        return self.whirr("setup", "--yes", "--service", "system", *args)

    def stored(self):
        """Moments of the history, by HTTP; None: there is no answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/system/gpu-stats/history?limit=10000", timeout=20) as got:
                return {(r["gpu_index"], r["recorded_at"]) for r in json.load(got)["rows"]}
        except OSError:
            return None

    def wait_stored(self):
        return eventually(lambda: self.stored() or None, explain=self.log)

    def database_is_whole(self):
        with sqlite3.connect(PLACE / "state" / "whirr.db") as db:
            return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    def log(self):
        file = PLACE / "whirr.log"
        return file.read_text() if file.exists() else ""

    def take_away(self):
        self.sc("stop", "whirr")
        eventually(lambda: not self.is_in("RUNNING") and not self.is_in("PENDING"))
        self.sc("delete", "whirr")
        eventually(lambda: self.sc("query", "whirr").returncode != 0)  # one whose process still ends is there, and goes with it
        shutil.rmtree(PLACE, ignore_errors=True)


@pytest.fixture
def service(tmp_path, wine_that_stays):
    s = Service(tmp_path)
    s.take_away()
    yield s
    s.take_away()


def test_setup_makes_a_service_that_commands_find(service):
    service.configure()
    done = service.setup("--price", "0.30 EUR")
    assert done.returncode == 0 and "The service is running" in done.stderr, done
    assert service.is_in("RUNNING")
    service.wait_stored()
    made = service.registry()
    assert '"' + service.env["WHIRR_EXE"].replace("/", "\\") + '" serve' in made.replace("Z:", "") and "0x2" in made, made  # quoted; started with the system
    shown = service.whirr("--socket", "auto", "status")
    assert shown.returncode == 0 and "RTX" in shown.stdout, shown
    assert service.whirr("alert", "silence", "hot", "--for", "2h").returncode == 0  # an administrator may act
    assert "price_per_kwh" in (PLACE / "whirr.toml").read_text()
    assert not any(p.stat().st_mode & 0o007 for p in (PLACE / "state", PLACE / "state" / "whirr.db", PLACE / "whirr.toml", PLACE / "whirr.log", PLACE / "whirr.sock.key"))


def test_the_service_manager_stops_and_starts_it(service):
    service.configure()
    assert service.setup().returncode == 0
    seen = service.wait_stored()
    assert service.sc("stop", "whirr").returncode == 0
    eventually(lambda: service.is_in("STOPPED"), explain=service.log)
    assert "stopped" in service.log() and not (PLACE / "whirr.sock").exists() and service.database_is_whole()
    assert service.sc("start", "whirr").returncode == 0
    assert seen <= service.wait_stored()


def test_undo_takes_the_service_away_and_keeps_the_history(service):
    service.configure()
    assert service.setup().returncode == 0
    service.wait_stored()
    done = service.whirr("setup", "--undo", "--yes")
    assert done.returncode == 0 and "history" in done.stdout, done
    assert service.sc("query", "whirr").returncode != 0 and service.stored() is None
    assert service.database_is_whole() and (PLACE / "whirr.toml").exists()
    assert service.whirr("setup", "--undo", "--yes").returncode == 1


def test_a_dry_run_changes_nothing(service):
    done = service.setup("--dry-run")
    assert done.returncode == 0 and "create the service whirr" in done.stdout, done
    assert service.sc("query", "whirr").returncode != 0


def test_a_service_that_cannot_start_says_why(service):
    service.configure(text="[energy]\nprice = 0.3\n")
    done = service.setup()
    assert done.returncode == 1 and "whirr.log says why" in done.stderr, done
    assert "price" in service.log()


def test_a_folder_that_others_can_write_is_refused(service):
    service.configure()
    PLACE.chmod(0o777)
    done = service.setup()
    assert done.returncode == 1 and "others can write" in done.stderr and "remove that directory" in done.stderr, done
    assert service.sc("query", "whirr").returncode != 0


@pytest.fixture(scope="module")
def helper(tmp_path_factory):
    compiler, program = shutil.which("x86_64-w64-mingw32-gcc-posix"), tmp_path_factory.mktemp("helper") / "helper.exe"
    if not compiler:
        pytest.skip("no mingw-w64")
    subprocess.run([compiler, ROOT / "tests/windows/service_helper.c", "-o", program, "-ladvapi32"], check=True, timeout=90)
    return lambda *args: subprocess.run(["wine", program, *args], env=wine(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90, check=False)


def test_the_configuration_is_read_again_on_demand(service, helper):
    service.configure()
    assert service.setup().returncode == 0
    service.configure(text="interval_seconds = 2\n")
    assert helper("reload").returncode == 0
    eventually(lambda: "reloaded applied=1" in service.log(), explain=service.log)


def test_who_is_no_administrator_looks_and_is_told_how_to_make_a_service(service, helper):
    service.configure()
    assert service.setup().returncode == 0
    service.wait_stored()
    shown = helper("limited", f'"{service.env["WHIRR_EXE"]}" status')
    assert shown.returncode == 0 and "RTX" in shown.stdout, shown  # the service's GPUs: without it there are none
    refused = helper("limited", f'"{service.env["WHIRR_EXE"]}" setup --yes --service system')
    assert refused.returncode == 2 and "in a terminal as administrator" in refused.stderr, refused


def test_a_program_that_others_can_change_is_no_service(service):
    program = pathlib.Path(service.env["WHIRR_EXE"])
    for path, open_to_all in ((program, 0o757), (program.parent, 0o757)):
        before = path.stat().st_mode & 0o777
        path.chmod(open_to_all)
        done = service.setup()
        path.chmod(before)
        assert done.returncode == 1 and "can be changed without the rights of an administrator" in done.stderr and "%ProgramFiles%" in done.stderr, done
        assert service.sc("query", "whirr").returncode != 0
