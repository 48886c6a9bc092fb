# SPDX-License-Identifier: Apache-2.0
"""The driver where it lies: a library that only WSL2, NixOS or a container of the GPU operator have in its place, on a real mount
namespace with the fake NVML; and a container that a CDI specification made (NVIDIA_VISIBLE_DEVICES=void)."""
import json
import os
import shutil
import subprocess

import pytest
from isolation import BUILD

SCRIPT = "driver 580.159.04\ngpu NVIDIA GeForce RTX 4090\n  used 18000\n"
FAKE = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
WHIRR = BUILD / "whirr"


@pytest.fixture
def elsewhere(tmp_path):
    """Runs whirr where /run is another, with the fake library in a directory below it."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode or not FAKE.exists():
        pytest.skip("no namespaces for users here, or no fake NVML")

    def run(place, *args, **env):
        run_folder = tmp_path / "run"
        (run_folder / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(FAKE, run_folder / place / "libnvidia-ml.so.1")
        (tmp_path / "script").write_text(SCRIPT)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WHIRR", "NVIDIA"))}
        shell = f'mount --bind "{run_folder}" /run && exec "$@"'
        command = ["unshare", "-rm", "sh", "-c", shell, "sh", str(WHIRR), "--source", "nvml", *args, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**clean, "WHIRR_FAKE_NVML": str(tmp_path / "script"), **env})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("place", ["opengl-driver/lib", "nvidia/driver/usr/lib64"])
def test_the_library_is_found_where_the_loader_does_not_look(elsewhere, place):
    assert [gpu["name"] for gpu in elsewhere(place, "status")["gpus"]] == ["NVIDIA GeForce RTX 4090"]
    described = elsewhere(place, "doctor")["described"]
    assert any(f"library /run/{place}/libnvidia-ml.so.1" in line for line in described), described
    assert any("a place that the loader does not know" in line for line in described)


def test_a_directory_of_no_meaning_is_not_searched(elsewhere):
    body = elsewhere("some/where", "doctor")
    assert body["gpus"] == [] and "/run/opengl-driver/lib" in body["library_places"]
    assert "/usr/lib/wsl/lib" in body["library_places"] and not any("stubs" in place for place in body["library_places"])


def test_a_cdi_container_shows_what_nvml_lists(elsewhere):
    body = elsewhere("opengl-driver/lib", "doctor", NVIDIA_VISIBLE_DEVICES="void")
    assert len(body["gpus"]) == 1 and not any("VISIBLE" in finding["what"] for finding in body["findings"])
    assert elsewhere("opengl-driver/lib", "status", NVIDIA_VISIBLE_DEVICES="none")["gpus"] == []


def test_wsl_is_told_in_its_own_words(bare_machine, whirr):
    (bare_machine / "proc/sys/kernel/osrelease").write_text("6.6.87.2-microsoft-standard-WSL2\n")
    body = whirr("--sysroot", str(bare_machine), "doctor", "--json").json()
    assert body["container"]["wsl"] is True
    fixes = [f["fix"] for f in body["findings"] if "WSL2" in f["what"]]
    assert len(fixes) == 1 and "wsl --update" in fixes[0]
    assert not any("power cables" in (f["fix"] or "") for f in body["findings"]), "no advice that cannot help"
