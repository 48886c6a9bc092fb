# SPDX-License-Identifier: Apache-2.0
"""The files for containers keep their promises; `make release-check` builds and runs the image."""
import re

import pytest
from isolation import ROOT

FOLDER = ROOT / "packaging" / "container"
COMPOSE = {"nvidia": ["driver: nvidia", "utility"], "amd": ["/dev/kfd", "/dev/dri", "group_add"], "intel": ["/dev/dri", "group_add"]}


def test_the_image_runs_without_rights_and_says_whether_it_is_well():
    lines = (FOLDER / "Dockerfile").read_text().split("\nFROM ")[-1].splitlines()  # the last stage is what is shipped
    words = [line.split(" ", 1)[0] for line in lines]
    assert words.index("USER") < words.index("ENTRYPOINT") and "USER whirr" in lines and "HEALTHCHECK" in words
    shipped = "\n".join(lines)
    assert "gcc" not in shipped and "-dev" not in shipped and "--uid 10001" in shipped and "rm -rf /var/lib/apt/lists" in shipped


def test_it_is_built_with_what_the_build_needs():
    wanted = re.search(r'^build="([^"]+)"', (ROOT / "tools" / "deps").read_text(), re.M)[1].split()
    stage = (FOLDER / "Dockerfile").read_text().split("\nFROM ")[1]
    assert not [package for package in wanted if package not in stage]


@pytest.mark.parametrize("vendor", COMPOSE)
def test_each_vendor_has_a_compose_file_that_passes_its_devices_in(vendor):
    text = (FOLDER / f"compose.{vendor}.yml").read_text()
    assert all(word in text for word in [*COMPOSE[vendor], "pid: host", "read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"])
    assert "privileged" not in text.replace("no-new-privileges", "")


def test_without_a_gpu_the_doctor_says_what_to_pass_in(bare_machine, whirr):
    (bare_machine / ".dockerenv").write_text("")
    found = whirr("--sysroot", str(bare_machine), "doctor", "--json").json()["findings"]
    fixes = [f["fix"] for f in found if f["what"] == "No GPU is passed into this container."]
    assert len(fixes) == 1 and all(word in fixes[0] for word in ("--gpus all", "nvidia.com/gpu=all", "/dev/kfd", "/dev/dri"))
