# SPDX-License-Identifier: Apache-2.0
"""sampling.nvidia_api: hot spot and memory temperature where NVML has none, off unless asked for."""
import pytest
from isolation import BUILD

FAKE = BUILD / "tests" / "fakes"
CARD = """gpu NVIDIA GeForce RTX 4090
  pci 0000:01:00.0
  architecture 8
  memory_max 10501
  temperature 66
  gpu_util 98
  power 410000
  process parent compute 17000 98 40
"""


@pytest.fixture
def world(tmp_path):
    (tmp_path / "script").write_text(CARD)
    return {"WHIRR_NVML_LIBRARY": str(FAKE / "nvml" / "libnvidia-ml-fake.so"), "WHIRR_FAKE_NVML": str(tmp_path / "script"),
            "WHIRR_NVAPI_LIBRARY": str(FAKE / "nvapi" / "libnvidia-api-fake.so"), "WHIRR_FAKE_NVAPI": "1:9=109,15=104",
            "WHIRR_FAKE_NVAPI_LOG": str(tmp_path / "log")}


def test_it_is_not_even_loaded_by_default(whirr, world, tmp_path):
    gpu = whirr("--source", "nvml", "status", "--full", "--json", **world).json()["gpus"][0]
    assert gpu["temperature_hotspot_celsius"] is None and gpu["temperature_memory_celsius"] is None
    assert not (tmp_path / "log").exists()


def test_what_it_reads_is_judged_like_any_other_reading(whirr, world, tmp_path):
    world["WHIRR_SAMPLING_NVIDIA_API"] = "true"
    gpu = whirr("--source", "nvml", "status", "--full", "--json", **world).json()["gpus"][0]
    assert (gpu["temperature_hotspot_celsius"], gpu["temperature_memory_celsius"]) == (109, 104)
    found = {f["code"] for f in whirr("--source", "nvml", "why", "--json", **world).json()["findings"]}
    assert {"hotspot", "memory_hot"} <= found
    described = whirr("--source", "nvml", "doctor", **world).out
    assert "nvidia_api" in described
