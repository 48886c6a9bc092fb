# SPDX-License-Identifier: Apache-2.0
"""Libraries that users of Windows install themselves, under Wine: found beside whirr.exe and in PATH, nowhere else; without them it is said what to do.

tools/cross-deps windows openssl-dll libpq-dll makes them.
"""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from isolation import ON_WINDOWS, ROOT, WHIRR, environment

DLLS = pathlib.Path(os.environ.get("WHIRR_WINE_DLLS", ROOT / ".cache/cross/windows/bin"))
CRYPTO, SSL, PQ = "libcrypto-3-x64.dll", "libssl-3-x64.dll", "libpq.dll"
pytestmark = pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr")
needs_dlls = pytest.mark.skipif(not all((DLLS / name).exists() for name in (CRYPTO, SSL, PQ)), reason="no DLLs (tools/cross-deps windows openssl-dll libpq-dll makes them)")
NOWHERE = {"WHIRR_WINE_DLLS": ""}


@pytest.fixture
def beside(tmp_path):
    """The program in a folder of its own, with these beside it."""
    def place(*names):
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        shutil.copy(os.environ.get("WHIRR_EXE", ROOT / "build-windows/whirr.exe"), folder / "whirr.exe")
        for name in names:
            shutil.copy(DLLS / name, folder)
        return folder
    return place


def run(tmp_path, *args, cwd=None, **env):
    return subprocess.run([WHIRR, *args], env=environment(tmp_path, **{**NOWHERE, **env}), cwd=cwd, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)


def features(tmp_path, **more):
    found = json.loads(run(tmp_path, "version", "--json", **more).stdout)["features"]
    return found["tls"], found["postgresql"]


def with_tls(start, tmp_path, **env):
    """What a daemon says that is to serve by TLS."""
    (tmp_path / "cert.pem").write_text("")
    files = {name: str(tmp_path / "cert.pem") for name in ("WHIRR_SERVER_TLS_CERTIFICATE", "WHIRR_SERVER_TLS_KEY")}
    daemon = start(sampled=False, **files, **{**NOWHERE, **env})
    assert daemon.process.wait(60) == 1
    return daemon.log()


def test_without_them_it_is_said_what_to_do(start, tmp_path):
    assert features(tmp_path) == (False, False)
    assert f"TLS needs OpenSSL 3: there is no {CRYPTO}; put it beside whirr.exe, or its directory into PATH" in with_tls(start, tmp_path)
    daemon = start("--store", "postgresql://nobody@127.0.0.1:1/none", **NOWHERE)
    said = daemon.wait_log("libpq 14 or later")
    assert f"(part of PostgreSQL for Windows): there is no {PQ}; put it beside whirr.exe" in said and "Debian" not in said


def test_one_that_is_no_library_is_said(start, tmp_path, beside):
    folder = beside()
    (folder / CRYPTO).write_text("no library")
    said = with_tls(start, tmp_path, WHIRR_EXE=str(folder / "whirr.exe"))
    assert f"TLS needs OpenSSL 3: {CRYPTO}: cannot be loaded (error " in said, said


@needs_dlls
def test_beside_the_program(start, tmp_path, beside):
    folder = beside(CRYPTO, SSL, PQ)
    assert features(tmp_path, WHIRR_EXE=str(folder / "whirr.exe")) == (True, True)
    (folder / CRYPTO).unlink()
    assert features(tmp_path, WHIRR_EXE=str(folder / "whirr.exe")) == (False, True), "libssl alone is of no use"
    (folder / SSL).unlink()
    shutil.copy(DLLS / CRYPTO, folder)
    assert f"there is no {SSL}" in with_tls(start, tmp_path, WHIRR_EXE=str(folder / "whirr.exe"))


@needs_dlls
def test_in_a_folder_of_path(tmp_path, beside):
    assert features(tmp_path, WHIRR_WINE_DLLS=str(DLLS)) == (True, True)
    # One for another kind of computer, or none at all, comes first: the next one is taken.
    folder = beside()
    for name in (CRYPTO, SSL, PQ):
        (folder / name).write_text("no library")
    assert features(tmp_path, WHIRR_EXE=str(folder / "whirr.exe"), WHIRR_WINE_DLLS=str(DLLS)) == (True, True)


@needs_dlls
def test_never_from_the_folder_that_is_worked_in(tmp_path):
    for path in (None, ".", ".;", ";;bin;\\bin"):
        for cwd in (DLLS, DLLS.parent):
            assert features(tmp_path, cwd=cwd, WINEPATH=path) == (False, False), (path, cwd)
    asked = run(tmp_path, "history", "--store", "postgresql://nobody@127.0.0.1:1/none", cwd=DLLS, WINEPATH=".")
    assert asked.returncode == 1 and f"there is no {PQ}" in asked.stderr and "is it running" not in asked.stderr, asked
