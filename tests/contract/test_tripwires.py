# SPDX-License-Identifier: Apache-2.0
"""A host full of tripwires: whirr touches nothing of its own accord that docs/SECURITY.md does not list."""
import pytest
from isolation import BUILD, run_whirr
from tripwires import PROPS, SGLANG, SLOTS, VLLM, Servers, script, worker
from waiting import eventually

COMMANDS = (["status"], ["why"], ["ps"], ["health"], ["doctor"])
ASLEEP = PROPS.replace("false", "true")
ROUTER = '{"role": "router", "max_instances": 4, "model_path": "none"}'
TRTLLM = '[{"iter": 1, "numActiveRequests": 1}]'

# What runs, and what it may be asked; everything else is a touch that harms: a port of a process group that gets bytes of another protocol, a
# model that is woken, loaded or kept from sleeping, a list that is emptied by each look.
HOST = [
    dict(name="vllm", args=("serve", "Qwen/Qwen3-8B", "--port", "PORT"), pages={"/metrics": VLLM}, wires=2, child=worker("VLLM::Worker_TP0"), may={"/metrics"}),
    dict(name="vllm", args=("serve", "m"), pages={"/metrics": VLLM}, child=worker("VLLM::EngineCore_DP0"), may=set()),  # its port is not the usual one
    dict(name="vllm", args=("serve", "m", "--headless", "--port", "PORT"), wires=2, child=worker("VLLM::Worker_TP1"), may=set()),
    dict(name="sglang", args=("serve", "--model-path", "m", "--port", "PORT"), pages={"/metrics": SGLANG}, wires=2, child=worker("sglang::scheduler_TP0"), may={"/metrics"}),
    dict(name="llama-server", args=("-m", "/m/x.gguf", "--port", "PORT"), pages={"/props": ASLEEP, "/slots": SLOTS}, may={"/props"}),
    dict(name="llama-server", args=("-m", "/m/x.gguf", "--sleep-idle-seconds", "60", "--port", "PORT"), pages={"/props": PROPS, "/slots": SLOTS}, may=set()),
    dict(name="llama-server", args=("--models-dir", "/m", "--port", "PORT"), pages={"/props": ROUTER, "/slots": SLOTS}, may={"/props"}),
    dict(name="llama-swap", args=("--listen", ":PORT"), pages={"/running": '{"running": []}', "/metrics": VLLM}, child=worker("llama-server"), may=set()),
    dict(name="trtllm-serve", args=("m", "--port", "PORT"), pages={"/metrics": TRTLLM}, may=set()),
    dict(name="torchrun", args=("--nproc-per-node=2", "train.py"), port=False, wires=2, child=worker("train.py"), may=set()),
]


@pytest.fixture
def servers(tmp_path):
    running = Servers(tmp_path)
    yield running
    running.stop()


@pytest.mark.slow
def test_no_server_or_worker_is_asked_what_could_harm_it(nvml, servers, tmp_path):
    host = [dict(one, found=servers(one["name"], *one["args"], pages=one.get("pages"), wires=one.get("wires", 0), child=one.get("child"), port=one.get("port", True)))
            for one in HOST]
    driver = script(*(one["found"][0] for one in host))
    d = nvml(driver, "--interval", "0.5")
    for command in COMMANDS:
        for where in ([], ["--direct"] if command != ["doctor"] else []):
            done = run_whirr(*command, *where, folder=tmp_path / "commands", WHIRR_SERVER_SOCKET=d.sock, WHIRR_SAMPLING_SOURCES="nvml", WHIRR_FAKE_NVML=str(tmp_path / "script"),
                             WHIRR_NVML_LIBRARY=str(BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"))
            assert done.returncode in (0, 1), done.stderr
    # Twice around: what may be asked was asked again.
    eventually(lambda: all(one["found"][1]().count(page) > 1 for one in host for page in one["may"]), explain=lambda: [one["found"][1]() for one in host])
    for one in host:
        assert set(one["found"][1]()) <= one["may"], (one["name"], one["args"], one["found"][1]())
